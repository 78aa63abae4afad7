//! The changed records of the commits in the memtable.

use crate::{
    TransactionId,
    instance::{
        small_changes::{RecordChange, RecordKey, SmallChanges, VersionId, sort_changes},
        wal::Change,
    },
    planted::planted,
};
use hashbrown::{HashTable, hash_table::Entry};
use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, PoisonError, RwLock},
};

/// The changed records of some commits. Changes are only added, so that readers find those of their
/// state, and borrow their values, while others commit.
#[derive(Default, Debug)]
pub(crate) struct MemtableRecords {
    commits: boxcar::Vec<AddedCommit>,
    index: RwLock<RecordIndex>,
}

#[derive(Debug)]
struct AddedCommit {
    commit: TransactionId,
    changes: SmallChanges,
}

#[derive(Default, Debug)]
struct RecordIndex {
    /// The hash of each record, and its last change.
    newest: HashTable<(u64, VersionId)>,
    /// The first commit that changed each table, by its handle.
    first: BTreeMap<usize, TransactionId>,
}

impl MemtableRecords {
    /// Adds a commit. The caller has locked the memtable, or is the only owner.
    pub(super) fn put(&self, commit: TransactionId, mut changes: SmallChanges) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let RecordIndex { newest, first } = &mut *index;
        let commit_index = self.commits.count();
        for change_index in 0..changes.len() {
            let id = VersionId {
                commit: commit_index as u32,
                change: change_index as u32,
            };
            let record = changes.record(change_index);
            first.entry(record.handle).or_insert(commit);
            let is_same = |(hash, newest): &(u64, VersionId)| {
                *hash == record.hash && self.version(*newest).is_of(record)
            };
            let before = match newest.entry(record.hash, is_same, |(hash, _)| *hash) {
                Entry::Vacant(vacant) => {
                    vacant.insert((record.hash, id));
                    continue;
                }
                Entry::Occupied(mut occupied) => mem::replace(&mut occupied.get_mut().1, id),
            };
            assert!(before.commit < id.commit, "a commit changes a record once");
            changes.set_older(change_index, before);
        }
        let added = self.commits.push(AddedCommit { commit, changes });
        assert_eq!(added, commit_index, "one thread adds commits at a time");
    }

    /// Adds later commits.
    pub(super) fn append(&self, later: &Self) {
        for (_, added) in &later.commits {
            self.put(added.commit, added.changes.clone());
        }
    }

    /// The last change of a record in the commits up to `last`.
    fn find(&self, record: RecordKey<'_>, last: TransactionId) -> Option<Change<'_>> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(hash, newest): &(u64, VersionId)| {
            *hash == record.hash && self.version(*newest).is_of(record)
        };
        let (_, newest) = *index.newest.find(record.hash, is_same)?;
        drop(index);
        Some(self.version_at(newest, last)?.change())
    }

    fn version(&self, id: VersionId) -> RecordVersion<'_> {
        RecordVersion {
            added: &self.commits[id.commit as usize],
            index: id.change as usize,
        }
    }

    /// The newest one of these versions of a record that is not after `last`.
    fn version_at(&self, newest: VersionId, last: TransactionId) -> Option<RecordVersion<'_>> {
        let mut next = Some(newest);
        loop {
            let version = self.version(next?);
            if version.added.commit <= last || planted!(SeeLater) {
                return Some(version);
            }
            next = version.added.changes.older(version.index);
        }
    }

    /// Whether commits up to `last` change records of the table.
    fn changes(&self, handle: usize, last: TransactionId) -> bool {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.first.get(&handle).is_some_and(|first| *first <= last)
    }

    /// The changes of the commits after `after`, up to `last`: the last one of each record, by
    /// table and key.
    pub(crate) fn changes_between(
        &self,
        after: TransactionId,
        last: TransactionId,
    ) -> Vec<RecordChange<'_>> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let newest = index.newest.iter().map(|(_, newest)| *newest);
        let versions = newest.filter_map(|newest| self.version_at(newest, last));
        let versions = versions.filter(|version| version.added.commit > after);
        let changes = versions.map(|version| version.added.changes.get(version.index));
        sort_changes(changes.collect())
    }
}

/// A change of a record in the memtable.
#[derive(Clone, Copy)]
struct RecordVersion<'m> {
    added: &'m AddedCommit,
    index: usize,
}

impl<'m> RecordVersion<'m> {
    fn change(self) -> Change<'m> {
        self.added.changes.get(self.index).change
    }

    fn is_of(self, record: RecordKey<'_>) -> bool {
        let RecordChange { handle, change } = self.added.changes.get(self.index);
        handle == record.handle && change.key == record.key
    }
}

/// Successive commits in the memtable.
#[derive(Default, Debug)]
pub(super) struct CommitBatch {
    pub(super) records: Arc<MemtableRecords>,
    pub(super) commit_count: u64,
    /// Earlier commits in the records, which are in the trees by now.
    pub(super) merged_count: u64,
    pub(super) change_count: usize,
}

impl CommitBatch {
    pub(super) fn is_empty(&self) -> bool {
        self.commit_count == 0
    }

    pub(super) fn add(&mut self, commit: TransactionId, changes: SmallChanges) {
        self.commit_count += 1;
        self.change_count += changes.len();
        self.records.put(commit, changes);
    }
}

/// The commits in the memtable up to one of them.
#[derive(Debug)]
pub(crate) struct MemtableView {
    pub(super) newer: Arc<MemtableRecords>,
    pub(super) merging: Option<Arc<MemtableRecords>>,
    pub(super) last: TransactionId,
}

impl MemtableView {
    /// The change of a record: its new value, or a removal.
    pub(crate) fn get(&self, record: RecordKey<'_>) -> Option<Option<&[u8]>> {
        let older = || self.merging.as_ref()?.find(record, self.last);
        let found = self.newer.find(record, self.last).or_else(older);
        found.map(|change| change.value)
    }

    /// Whether records of the table are changed.
    pub(crate) fn changes(&self, handle: usize) -> bool {
        let mut all = self.merging.iter().chain([&self.newer]);
        all.any(|records| records.changes(handle, self.last))
    }

    /// The last of its commits.
    pub(crate) fn last(&self) -> TransactionId {
        self.last
    }
}
