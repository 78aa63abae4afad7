//! The changed records of the commits in the memtable.

use crate::instance::wal::Change;
use std::{collections::BTreeMap, sync::Arc};

/// A change of a small transaction.
#[derive(Clone, Debug)]
pub(crate) struct SmallChange {
    pub(crate) handle: usize,
    pub(crate) table: Arc<[u8]>,
    pub(crate) key: Box<[u8]>,
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

/// The changed records of some commits.
#[derive(Clone, Default, Debug)]
pub(crate) struct MemtableRecords {
    tables: BTreeMap<usize, TableRecords>,
    pub(crate) commit_count: u64,
    pub(super) change_count: usize,
}

/// The changed records of a table.
#[derive(Clone, Debug)]
struct TableRecords {
    name: Arc<[u8]>,
    /// `None` for removed ones.
    records: BTreeMap<Box<[u8]>, Option<Box<[u8]>>>,
}

/// The content of the memtable at some time.
#[derive(Debug)]
pub(crate) struct MemtableView {
    pub(super) newer: Arc<MemtableRecords>,
    pub(super) merging: Option<Arc<MemtableRecords>>,
}

impl MemtableRecords {
    /// All changes, by table and key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[u8], &[u8], Option<&[u8]>)> {
        self.tables.iter().flat_map(|(handle, table)| {
            (table.records.iter())
                .map(|(key, value)| (*handle, &*table.name, &**key, value.as_deref()))
        })
    }

    fn get(&self, handle: usize, key: &[u8]) -> Option<Option<&[u8]>> {
        let found = self.tables.get(&handle)?.records.get(key)?;
        Some(found.as_deref())
    }

    /// Adds a change.
    pub(super) fn put(&mut self, change: SmallChange) {
        let table = self.tables.entry(change.handle);
        let table = table.or_insert_with(|| TableRecords {
            name: change.table,
            records: BTreeMap::new(),
        });
        table.records.insert(change.key, change.value);
        self.change_count += 1;
    }

    /// Adds later commits.
    pub(super) fn append(&mut self, later: &Self) {
        for (handle, table) in &later.tables {
            for (key, value) in &table.records {
                self.put(SmallChange {
                    handle: *handle,
                    table: Arc::clone(&table.name),
                    key: key.clone(),
                    value: value.clone(),
                });
            }
        }
        self.commit_count += later.commit_count;
    }
}

impl MemtableView {
    /// The change of a record: its new value, or a removal.
    pub(crate) fn get(&self, handle: usize, key: &[u8]) -> Option<Option<&[u8]>> {
        let older = || self.merging.as_ref()?.get(handle, key);
        self.newer.get(handle, key).or_else(older)
    }

    /// Whether records of the table are changed.
    pub(crate) fn changes(&self, handle: usize) -> bool {
        let mut all = self.merging.iter().chain([&self.newer]);
        all.any(|records| records.tables.contains_key(&handle))
    }
}
