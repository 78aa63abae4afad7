//! The changes of a small transaction.

use crate::instance::wal::{Change, OperationOffset, Operations};
use hashbrown::HashTable;
use std::{collections::hash_map::RandomState, hash::BuildHasher, sync::LazyLock};
use twox_hash::XxHash3_64;

/// With more changes they are found by hash.
const UNINDEXED_MAX: usize = 8;

/// Hashes differ between processes.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

/// A record, with its hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordKey<'k> {
    pub(crate) hash: u64,
    pub(crate) handle: usize,
    pub(crate) key: &'k [u8],
}

impl<'k> RecordKey<'k> {
    pub(crate) fn new(handle: usize, key: &'k [u8]) -> Self {
        // Not by the seed: with related ones the hashes of short keys are related too.
        let of_table = (handle as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = XxHash3_64::oneshot_with_seed(*SEED, key) ^ of_table.rotate_left(32);
        Self { hash, handle, key }
    }
}

/// A change of a record, and the handle of its table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordChange<'c> {
    pub(crate) handle: usize,
    pub(crate) change: Change<'c>,
}

/// The changes of a small transaction, the last one of each record. They are encoded as in the log,
/// where changes of a record before its last one are too.
#[derive(Clone, Default, Debug)]
pub(crate) struct SmallChanges {
    operations: Operations,
    changes: Vec<LocatedChange>,
    /// By record, with more than [`UNINDEXED_MAX`] changes.
    index: HashTable<u32>,
    /// Whether a record was changed after one that follows it, in the order of tables and keys.
    is_unordered: bool,
    /// A bit for each changed table, which others may share.
    tables: u64,
}

/// A change, and where it is encoded.
#[derive(Clone, Copy, Debug)]
struct LocatedChange {
    hash: u64,
    handle: usize,
    offset: OperationOffset,
    older: Option<Older>,
}

/// A change of a record in the memtable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VersionId {
    /// The index of its commit, and its own index there.
    pub(super) commit: u32,
    pub(super) change: u32,
}

/// Changes of the same record in earlier commits of the memtable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Older {
    /// The one before.
    pub(super) last: VersionId,
    /// One further back, so that any one is found in a logarithmic number of steps.
    pub(super) jump: VersionId,
    /// How many there are.
    pub(super) count: u32,
}

impl SmallChanges {
    pub(crate) fn len(&self) -> usize {
        self.changes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether the records were changed in the order of their tables and keys.
    pub(crate) fn is_in_order(&self) -> bool {
        !self.is_unordered
    }

    /// Bytes of all changes in the log.
    pub(crate) fn bytes(&self) -> usize {
        self.operations.len()
    }

    pub(crate) fn operations(&self) -> &Operations {
        &self.operations
    }

    /// The change with this index.
    pub(crate) fn get(&self, index: usize) -> RecordChange<'_> {
        let located = self.changes[index];
        RecordChange {
            handle: located.handle,
            change: self.operations.at(located.offset),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = RecordChange<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The record of the change with this index.
    pub(super) fn record(&self, index: usize) -> RecordKey<'_> {
        let located = self.changes[index];
        RecordKey {
            hash: located.hash,
            handle: located.handle,
            key: self.operations.at(located.offset).key,
        }
    }

    pub(super) fn older(&self, index: usize) -> Option<Older> {
        self.changes[index].older
    }

    pub(super) fn set_older(&mut self, index: usize, older: Option<Older>) {
        self.changes[index].older = older;
    }

    /// Gives the memory up that only [`Self::find`] and [`Self::put`] need.
    pub(super) fn finish(&mut self) {
        self.index = HashTable::new();
    }

    /// Whether records of the table are changed.
    pub(crate) fn changes_table(&self, handle: usize) -> bool {
        self.tables & table_bit(handle) != 0
            && self.changes.iter().any(|change| change.handle == handle)
    }

    /// The change of a record.
    pub(crate) fn find(&self, record: RecordKey<'_>) -> Option<Change<'_>> {
        let index = self.index_of(record)?;
        Some(self.operations.at(self.changes[index].offset))
    }

    fn index_of(&self, record: RecordKey<'_>) -> Option<usize> {
        let is_of = |change: &LocatedChange| {
            change.hash == record.hash
                && change.handle == record.handle
                && self.operations.at(change.offset).key == record.key
        };
        if self.len() <= UNINDEXED_MAX {
            return self.changes.iter().position(is_of);
        }
        let is_at = |index: &u32| is_of(&self.changes[*index as usize]);
        self.index
            .find(record.hash, is_at)
            .map(|index| *index as usize)
    }

    /// Changes a record of a table.
    pub(crate) fn put(&mut self, record: RecordKey<'_>, table: &[u8], value: Option<&[u8]>) {
        let known = self.index_of(record);
        let offset = self.operations.push(Change {
            table,
            key: record.key,
            value,
        });
        if let Some(index) = known {
            self.changes[index].offset = offset;
            return;
        }
        if let Some(before) = self.changes.last() {
            let key = self.operations.at(before.offset).key;
            self.is_unordered |= (before.handle, key) > (record.handle, record.key);
        }
        self.tables |= table_bit(record.handle);
        self.changes.push(LocatedChange {
            hash: record.hash,
            handle: record.handle,
            offset,
            older: None,
        });
        let hash_of = |index: &u32| self.changes[*index as usize].hash;
        let first = match self.changes.len() {
            ..=UNINDEXED_MAX => return,
            len if self.index.is_empty() => 0..len,
            len => len - 1..len,
        };
        for index in first {
            let index = index as u32;
            self.index.insert_unique(hash_of(&index), index, hash_of);
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether the bytes are a part of a change.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        let mut chunks = self.operations.chunks();
        chunks.any(|chunk| chunk.as_ptr_range().contains(&bytes.as_ptr()))
    }
}

fn table_bit(handle: usize) -> u64 {
    1 << (handle % 64)
}

/// Sorts changes by table and key. There is one of each record.
pub(crate) fn sort_changes(changes: Vec<RecordChange<'_>>) -> Vec<RecordChange<'_>> {
    let head = |change: RecordChange<'_>| (change.handle, prefix(change.change.key));
    let mut changes: Vec<_> = changes
        .into_iter()
        .map(|change| (head(change), change))
        .collect();
    changes
        .sort_unstable_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.change.key.cmp(y.change.key)));
    changes.into_iter().map(|(_, change)| change).collect()
}

/// The first bytes of a key, in its order.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = key.len().min(first.len());
    first[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(changes: &mut SmallChanges, handle: usize, key: &str, value: Option<&str>) {
        let record = RecordKey::new(handle, key.as_bytes());
        changes.put(record, b"words", value.map(str::as_bytes));
    }

    fn value(changes: &SmallChanges, handle: usize, key: &str) -> Option<Option<String>> {
        let change = changes.find(RecordKey::new(handle, key.as_bytes()))?;
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        Some(change.value.map(text))
    }

    /// With few changes and with an index, in two tables, and replaced on both sides of the limit.
    #[test]
    fn the_last_change_of_each_record_is_found() {
        let mut changes = SmallChanges::default();
        for round in ["first", "second"] {
            for number in 0..5 * UNINDEXED_MAX {
                for handle in [3, 4] {
                    let text = format!("{round} {handle}");
                    put(&mut changes, handle, &number.to_string(), Some(&text));
                    assert_eq!(
                        value(&changes, handle, &number.to_string()),
                        Some(Some(text))
                    );
                }
            }
        }
        put(&mut changes, 3, "7", None);
        assert_eq!(changes.len(), 10 * UNINDEXED_MAX);
        assert_eq!(value(&changes, 3, "7"), Some(None));
        assert_eq!(value(&changes, 4, "7"), Some(Some("second 4".to_owned())));
        assert_eq!(value(&changes, 3, "none"), None);
        let sorted = sort_changes(changes.iter().collect());
        let records = sorted
            .iter()
            .map(|change| (change.handle, change.change.key));
        assert!(records.is_sorted());
        assert_eq!(sorted.len(), changes.len());
    }

    #[test]
    fn changes_in_the_order_of_tables_and_keys_are_noticed() {
        let mut changes = SmallChanges::default();
        for (handle, key) in [(3, "ash"), (3, "elm"), (3, "ash"), (4, "ash")] {
            put(&mut changes, handle, key, None);
            assert!(changes.is_in_order());
        }
        put(&mut changes, 3, "fir", None);
        assert!(!changes.is_in_order());
        changes.clear();
        assert!(changes.is_in_order() && changes.is_empty());
    }

    #[test]
    fn long_keys_are_sorted_after_their_beginnings() {
        let mut changes = SmallChanges::default();
        for key in ["birches", "birch", "birch tree", "birchen oak", ""] {
            put(&mut changes, 1, key, Some(key));
        }
        let sorted = sort_changes(changes.iter().collect());
        let keys: Vec<_> = sorted.iter().map(|change| change.change.key).collect();
        assert_eq!(
            keys,
            [
                &b""[..],
                b"birch",
                b"birch tree",
                b"birchen oak",
                b"birches"
            ]
        );
    }
}
