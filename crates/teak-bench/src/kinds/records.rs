//! Records in the order of their keys, for tables in which keys have one value.

use crate::data::{DataSet, Fingerprint, Key, Record};

/// Sorted keys.
pub(super) struct SortedKeys {
    pub(super) keys: Vec<Key>,
}

impl SortedKeys {
    /// This many keys.
    pub(super) fn new(count: u64) -> Self {
        let mut keys = DataSet::new(count as usize).keys;
        keys.sort_unstable();
        Self { keys }
    }

    /// The record of each key.
    pub(super) fn records(&self) -> impl Iterator<Item = Record> {
        self.keys.iter().map(|key| Record::new(*key, 0))
    }

    /// Bytes of all keys and values.
    pub(super) fn bytes(&self) -> u64 {
        (self.keys.len() * crate::data::RECORD_LEN) as u64
    }

    /// The fingerprint of all records.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.records())
    }
}
