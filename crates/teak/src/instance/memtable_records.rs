//! The changed records of the commits in the memtable.

use crate::{
    TransactionId,
    instance::{
        small_changes::{Older, RecordChange, RecordKey, SmallChanges, VersionId, sort_changes},
        wal::Change,
    },
    planted::planted,
};
use hashbrown::HashTable;
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

/// After so many changes of one commit lookups of others go on.
const INDEXED_AT_ONCE: usize = 64;

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

impl RecordIndex {
    /// Notes the change `id` of a record, which follows `older`.
    fn put(
        &mut self,
        commit: TransactionId,
        record: RecordKey<'_>,
        older: Option<Older>,
        id: VersionId,
    ) {
        self.first.entry(record.handle).or_insert(commit);
        let hash_of = |(hash, _): &(u64, VersionId)| *hash;
        let Some(older) = older else {
            self.newest
                .insert_unique(record.hash, (record.hash, id), hash_of);
            return;
        };
        let is_same = |(_, newest): &(u64, VersionId)| *newest == older.last;
        let newest = self.newest.find_mut(record.hash, is_same);
        let (_, newest) = newest.expect("the change before was the last one");
        *newest = id;
    }
}

impl MemtableRecords {
    /// Adds a commit. The caller has locked the memtable, or is the only owner.
    pub(super) fn put(&self, commit: TransactionId, mut changes: SmallChanges) {
        changes.finish();
        let index = self.index();
        for change in 0..changes.len() {
            let newest = self.newest(&index, changes.record(change));
            changes.set_older(change, newest.map(|newest| self.older_from(newest)));
        }
        drop(index);
        let added = self.commits.push(AddedCommit { commit, changes });
        // Readers of earlier commits that find it go on to the older ones.
        let changes = &self.commits[added].changes;
        for first in (0..changes.len()).step_by(INDEXED_AT_ONCE) {
            let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
            for change in first..changes.len().min(first + INDEXED_AT_ONCE) {
                let id = VersionId {
                    commit: added as u32,
                    change: change as u32,
                };
                index.put(commit, changes.record(change), changes.older(change), id);
            }
        }
    }

    fn index(&self) -> RwLockReadGuard<'_, RecordIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last change of a record.
    fn newest(&self, index: &RecordIndex, record: RecordKey<'_>) -> Option<VersionId> {
        let is_same = |(hash, newest): &(u64, VersionId)| {
            *hash == record.hash && self.version(*newest).is_of(record)
        };
        let (_, newest) = index.newest.find(record.hash, is_same)?;
        Some(*newest)
    }

    /// The changes before one that follows `last`.
    ///
    /// The jumps are those of a skew-binary random-access list (Myers, 1983).
    fn older_from(&self, last: VersionId) -> Older {
        let older = |id: VersionId| self.version(id).older();
        let count = |id: VersionId| older(id).map_or(0, |older| older.count);
        let jump_of = |id: VersionId| older(id).map(|older| older.jump);
        let equal = jump_of(last).and_then(|first| Some((first, jump_of(first)?)));
        let equal = equal.filter(|(first, second)| {
            count(last) - count(*first) == count(*first) - count(*second)
        });
        Older {
            last,
            jump: equal.map_or(last, |(_, second)| second),
            count: count(last) + 1,
        }
    }

    /// Adds later commits.
    pub(super) fn append(&self, later: &Self) {
        for (_, added) in &later.commits {
            self.put(added.commit, added.changes.clone());
        }
    }

    /// The last change of a record in the commits up to `last`.
    fn find(&self, record: RecordKey<'_>, last: TransactionId) -> Option<Change<'_>> {
        let newest = self.newest(&self.index(), record)?;
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
        let mut version = self.version(newest);
        while version.added.commit > last && !planted!(SeeLater) {
            let older = version.older()?;
            let jump = self.version(older.jump);
            version = match jump.added.commit > last {
                true => jump,
                false => self.version(older.last),
            };
        }
        Some(version)
    }

    /// Whether commits up to `last` change records of the table.
    fn changes(&self, handle: usize, last: TransactionId) -> bool {
        let index = self.index();
        index.first.get(&handle).is_some_and(|first| *first <= last)
    }

    /// The changes of the commits after `after`, up to `last`: the last one of each record, by
    /// table and key.
    pub(crate) fn changes_between(
        &self,
        after: TransactionId,
        last: TransactionId,
    ) -> Vec<RecordChange<'_>> {
        let index = self.index();
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
    fn older(self) -> Option<Older> {
        self.added.changes.older(self.index)
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn put(records: &MemtableRecords, commit: u64, changed: &[(RecordKey<'_>, u64)]) {
        let mut changes = SmallChanges::default();
        for (record, value) in changed {
            changes.put(*record, b"words", Some(&value.to_le_bytes()));
        }
        records.put(TransactionId(commit), changes);
    }

    fn found(records: &MemtableRecords, record: RecordKey<'_>, last: u64) -> Option<u64> {
        let change = records.find(record, TransactionId(last))?;
        Some(u64::from_le_bytes(change.value?.try_into().unwrap()))
    }

    /// Records of two tables, also in one commit.
    #[test]
    fn records_with_equal_hashes_stay_apart() {
        let [first, second, third] = [(1, "ash"), (2, "ash"), (1, "elm")].map(|(handle, key)| {
            let key = key.as_bytes();
            RecordKey {
                hash: 7,
                handle,
                key,
            }
        });
        let records = MemtableRecords::default();
        put(&records, 1, &[(first, 11), (second, 12)]);
        put(&records, 2, &[(third, 23), (second, 22), (first, 21)]);
        put(&records, 3, &[(first, 31)]);
        let all = |last| [first, second, third].map(|record| found(&records, record, last));
        assert_eq!(all(1), [Some(11), Some(12), None]);
        assert_eq!(all(2), [Some(21), Some(22), Some(23)]);
        assert_eq!(all(3), [Some(31), Some(22), Some(23)]);
        let changes = records.changes_between(TransactionId(1), TransactionId(3));
        let keys = changes
            .iter()
            .map(|change| (change.handle, change.change.key));
        assert_eq!(
            keys.collect::<Vec<_>>(),
            [(1, &b"ash"[..]), (1, b"elm"), (2, b"ash")]
        );
    }

    #[test]
    fn each_commit_of_a_record_is_found_in_few_steps() {
        let records = MemtableRecords::default();
        let record = RecordKey::new(1, b"counter");
        // Every third commit changes another record.
        let other = RecordKey::new(1, b"other");
        for commit in 1..=1000 {
            put(
                &records,
                commit,
                &[([record, record, other][commit as usize % 3], commit)],
            );
        }
        for last in 0..=1000 {
            let expected = (1..=last).rev().find(|commit| commit % 3 != 2);
            assert_eq!(found(&records, record, last), expected, "up to {last}");
        }
        let mut id = records.newest(&records.index(), record).unwrap();
        let mut jumps = 0;
        while let Some(older) = records.version(id).older() {
            (id, jumps) = (older.jump, jumps + 1);
        }
        assert!(
            jumps <= 2 * 10,
            "{jumps} jumps lead to the first of 667 changes"
        );
    }
}
