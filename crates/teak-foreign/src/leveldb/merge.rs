//! Merging of sorted runs: the newest entry of each key counts.

use super::{
    entry::{LevelDbEntry, compare},
    named_file::ReadBytes,
};
use crate::{Result, bytes::PageSlice};
use std::{
    cmp::Ordering,
    collections::{BinaryHeap, binary_heap::PeekMut},
};

/// Entries in their order: by key, the newest of a key first.
pub(super) trait EntrySource {
    /// The current entry.
    fn entry(&self) -> &LevelDbEntry;

    /// Moves to the next entry. `false` at the end, after which there is no current entry.
    fn advance(&mut self) -> Result<bool>;
}

/// The records of a directory, in the order of their keys.
pub struct LevelDbRecords<'d> {
    runs: BinaryHeap<HeapEntries<'d>>,
    /// The last key that was decided.
    key: Option<Vec<u8>>,
    read_bytes: ReadBytes,
    torn_bytes: u64,
}

impl<'d> LevelDbRecords<'d> {
    pub(super) fn new(
        runs: Vec<Box<dyn EntrySource + 'd>>,
        read_bytes: ReadBytes,
        torn_bytes: u64,
    ) -> Self {
        Self {
            runs: runs.into_iter().map(HeapEntries).collect(),
            key: None,
            read_bytes,
            torn_bytes,
        }
    }

    /// The next key and its value. `None` at the end.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedFile`](crate::Error::DamagedFile), [`Error::File`](crate::Error::File),
    /// [`Error::Unsupported`](crate::Error::Unsupported). Nothing can be read after an error.
    pub fn next_record(&mut self) -> Result<Option<(Vec<u8>, PageSlice)>> {
        while let Some(mut first) = self.runs.peek_mut() {
            let entry = first.0.entry();
            let mut record = None;
            if self.key.as_ref() != Some(&entry.key) {
                let key = self.key.get_or_insert_default();
                key.clone_from(&entry.key);
                if entry.version.has_value() {
                    record = Some((key.clone(), entry.value.clone()));
                }
            }
            if !first.0.advance()? {
                PeekMut::pop(first);
            }
            if record.is_some() {
                return Ok(record);
            }
        }
        Ok(None)
    }

    /// The number of bytes of the directory's files that were read so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.get()
    }

    /// The number of bytes at the ends of logs that are not a complete record: a write that the
    /// system or the program did not finish when it stopped. They are left out, as LevelDB does.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }
}

impl std::fmt::Debug for LevelDbRecords<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LevelDbRecords")
            .field("runs", &self.runs.len())
            .field("read_bytes", &self.read_bytes)
            .finish_non_exhaustive()
    }
}

/// A source in a heap whose greatest element has the least entry.
pub(super) struct HeapEntries<'d>(pub(super) Box<dyn EntrySource + 'd>);

impl Ord for HeapEntries<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (left, right) = (self.0.entry(), other.0.entry());
        compare((&right.key, right.version), (&left.key, left.version))
    }
}

impl PartialOrd for HeapEntries<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for HeapEntries<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for HeapEntries<'_> {}
