//! The changed records of the commits in the memtable.

use crate::{TransactionId, instance::wal::Change, planted::planted};
use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    sync::{Arc, PoisonError, RwLock},
};

/// A change of a small transaction.
#[derive(Clone, Debug)]
pub(crate) struct SmallChange {
    pub(crate) handle: usize,
    pub(crate) table: Arc<[u8]>,
    pub(crate) key: Arc<[u8]>,
    /// `None` removes the record.
    pub(crate) value: Option<Box<[u8]>>,
}

impl SmallChange {
    pub(crate) fn as_logged(&self) -> Change<'_> {
        Change {
            table: &self.table,
            key: &self.key,
            value: self.value.as_deref(),
        }
    }
}

/// The changed records of some commits. Changes are only added, so that readers find those of their
/// state, and borrow their values, while others commit.
#[derive(Default, Debug)]
pub(crate) struct MemtableRecords {
    versions: boxcar::Vec<RecordVersion>,
    /// By the handles of tables.
    index: RwLock<BTreeMap<usize, TableIndex>>,
}

/// A change, and the commit that made it.
#[derive(Debug)]
struct RecordVersion {
    commit: TransactionId,
    change: SmallChange,
    /// The change of the same record before this one.
    older: Option<usize>,
}

#[derive(Debug)]
struct TableIndex {
    /// The first commit that changed the table.
    first: TransactionId,
    /// The last change of each record.
    newest: HashMap<Arc<[u8]>, usize>,
}

impl MemtableRecords {
    /// Adds a change. The caller has locked the memtable, or is the only owner.
    pub(super) fn put(&self, commit: TransactionId, change: SmallChange) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let table = index.entry(change.handle).or_insert_with(|| TableIndex {
            first: commit,
            newest: HashMap::new(),
        });
        let newest = table.newest.entry(Arc::clone(&change.key));
        let add = |older| {
            self.versions.push(RecordVersion {
                commit,
                change,
                older,
            })
        };
        match newest {
            Entry::Vacant(newest) => {
                newest.insert(add(None));
            }
            Entry::Occupied(mut newest) => {
                let older = *newest.get();
                let added = newest.get_mut();
                *added = add(Some(older));
                assert!(older < *added, "changes are added in order");
            }
        }
    }

    /// Adds later commits.
    pub(super) fn append(&self, later: &Self) {
        for (_, version) in &later.versions {
            self.put(version.commit, version.change.clone());
        }
    }

    /// The last change of a record in the commits up to `last`.
    fn find(&self, handle: usize, key: &[u8], last: TransactionId) -> Option<&SmallChange> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let newest = *index.get(&handle)?.newest.get(key)?;
        drop(index);
        let version = self.version_at(newest, last)?;
        Some(&version.change)
    }

    /// The newest one of these versions of a record that is not after `last`.
    fn version_at(&self, newest: usize, last: TransactionId) -> Option<&RecordVersion> {
        let mut next = Some(newest);
        while let Some(version) = self.versions.get(next?) {
            if version.commit <= last || planted!(SeeLater) {
                return Some(version);
            }
            next = version.older;
        }
        None
    }

    /// Whether commits up to `last` change records of the table.
    fn changes(&self, handle: usize, last: TransactionId) -> bool {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.get(&handle).is_some_and(|table| table.first <= last)
    }

    /// The changes of the commits after `after`, up to `last`: the last one of each record, by
    /// table and key.
    pub(crate) fn changes_between(
        &self,
        after: TransactionId,
        last: TransactionId,
    ) -> Vec<&SmallChange> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let mut changes = Vec::new();
        for table in index.values() {
            let start = changes.len();
            let versions = table.newest.values();
            let versions = versions.filter_map(|newest| self.version_at(*newest, last));
            let versions = versions.filter(|version| version.commit > after);
            changes.extend(versions.map(|version| (prefix(&version.change.key), &version.change)));
            changes[start..]
                .sort_unstable_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.key.cmp(&y.key)));
        }
        changes.into_iter().map(|(_, change)| change).collect()
    }
}

/// The first bytes of a key, in its order.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = key.len().min(first.len());
    first[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(first)
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

    pub(super) fn add(&mut self, commit: TransactionId, changes: Vec<SmallChange>) {
        self.commit_count += 1;
        self.change_count += changes.len();
        for change in changes {
            self.records.put(commit, change);
        }
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
    pub(crate) fn get(&self, handle: usize, key: &[u8]) -> Option<Option<&[u8]>> {
        let older = || self.merging.as_ref()?.find(handle, key, self.last);
        let found = self.newer.find(handle, key, self.last).or_else(older);
        found.map(|change| change.value.as_deref())
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
