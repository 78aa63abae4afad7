//! Bulk loading.

use super::{Table, WriteTxn, codec::Codec, key_checks::check_key, sealed::Sealed};
use crate::{
    Result,
    btree::{
        PageSink, PageSource, TreeRoot,
        bulk::{TreeAppender, TreeBuilder},
        insert::Existing,
        mutable_tree::Tree,
        sort::{SortedMerge, Sorter},
    },
    page::{key::KeyOrder, value::StoredValue},
};
use std::path::PathBuf;

/// How unsorted records are loaded.
#[derive(Clone, Debug)]
pub struct BulkOptions {
    /// Bytes of memory for sorting. Records that do not fit go to temporary files.
    pub memory_bytes: usize,
    /// Directory for temporary files; `None` is the directory of the database.
    pub directory: Option<PathBuf>,
}

impl Default for BulkOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            directory: None,
        }
    }
}

/// Progress of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BulkProgress {
    /// Records are read and sorted.
    Sorting {
        /// Records so far.
        records: u64,
    },
    /// Sorted records are built into pages.
    Building {
        /// Records so far.
        records: u64,
        /// Records read in total, duplicates of a key included.
        total: u64,
    },
}

/// Progress is reported after this many records, and at the beginning and end of building.
const PROGRESS_STEP: u64 = 1024;

impl<K: Codec, V: Codec> Table<K, V> {
    /// Loads records that are sorted by key. Pages are built from the leaves up; each is written
    /// once and full. If the table already has records, only keys after its last one are accepted.
    /// Returns the number of records.
    ///
    /// ```
    /// # use teak::{Database, codec::{U32, Unit}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let numbers = txn.create_table::<U32, Unit>("numbers")?;
    /// let records = (0..100_000u32).map(|n| (n.to_be_bytes(), []));
    /// assert_eq!(numbers.bulk_load(&mut txn, records)?, 100_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`](crate::Error::NotSorted) with the index of the record that is not after
    /// the one before it; the transaction can then only be rolled back.
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong) or
    /// [`Error::TableNotFound`](crate::Error::TableNotFound); [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space.
    pub fn bulk_load<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        records: impl IntoIterator<Item = (Key, Value)>,
    ) -> Result<u64> {
        let records = records.into_iter().map(Ok);
        self.load_sorted(txn, records)
    }

    pub(super) fn load_sorted<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        records: impl Iterator<Item = Result<(Key, Value)>>,
    ) -> Result<u64> {
        let page_size = txn.source().page_size();
        self.root(txn)?;
        let records = IteratorRecords(records);
        self.change(txn, |tree| {
            if tree.root().is_empty() {
                build(tree, page_size, records)
            } else {
                append(tree, page_size, records)
            }
        })
    }

    /// Loads records in any order. They are sorted in memory and in temporary files, and then built
    /// into pages as by [`Table::bulk_load`]. If a key occurs several times, its last record
    /// counts. If the table already has records, the new ones are inserted in order and replace
    /// those with the same key. Returns the number of distinct keys.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if a temporary file cannot be written or read, or if there
    /// is no space; [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Full`](crate::Error::Full).
    pub fn bulk_load_unsorted<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        records: impl IntoIterator<Item = (Key, Value)>,
        options: BulkOptions,
        progress: &mut dyn FnMut(BulkProgress),
    ) -> Result<u64> {
        let mut root = *self.root(txn)?;
        let page_size = txn.source().page_size();
        let mut sorter = sorter(txn, &root, options);
        for (key, value) in records {
            check_key(&root, page_size, key.as_ref())?;
            root.key_len = root.key_len.max(if root.order == KeyOrder::Integer {
                key.as_ref().len() as u16
            } else {
                0
            });
            push(&mut sorter, key.as_ref(), value.as_ref(), progress)?;
        }
        let sorted = sorted(sorter, progress)?;
        self.change(txn, |tree| {
            if tree.root().is_empty() {
                build(tree, page_size, sorted)
            } else {
                insert_all(tree, sorted)
            }
        })
    }
}

/// Creates the sorter for a table.
pub(super) fn sorter(txn: &WriteTxn, root: &TreeRoot, options: BulkOptions) -> Sorter {
    let directory = match options.directory {
        Some(directory) => directory,
        None => txn.engine().directory(),
    };
    Sorter::new(root, options.memory_bytes, &directory)
}

/// Adds one record to the sorter, and reports progress.
pub(super) fn push(
    sorter: &mut Sorter,
    key: &[u8],
    value: &[u8],
    progress: &mut dyn FnMut(BulkProgress),
) -> Result<()> {
    sorter.push(key, value)?;
    if sorter.records().is_multiple_of(PROGRESS_STEP) {
        let records = sorter.records();
        progress(BulkProgress::Sorting { records });
    }
    Ok(())
}

/// Sorts all records.
pub(super) fn sorted(
    sorter: Sorter,
    progress: &mut dyn FnMut(BulkProgress),
) -> Result<SortedRecords<'_>> {
    Ok(SortedRecords {
        total: sorter.records(),
        merge: sorter.finish()?,
        progress,
    })
}

/// A source of sorted records.
pub(super) trait RecordSource {
    /// Passes each record to `take`.
    fn each(self, take: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()>;
}

/// Records of an iterator.
pub(super) struct IteratorRecords<I>(pub(super) I);

impl<Key, Value, I> RecordSource for IteratorRecords<I>
where
    Key: AsRef<[u8]>,
    Value: AsRef<[u8]>,
    I: Iterator<Item = Result<(Key, Value)>>,
{
    #[inline]
    fn each(mut self, mut take: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        self.0.try_for_each(|record| {
            let (key, value) = record?;
            take(key.as_ref(), value.as_ref())
        })
    }
}

/// Records that were pushed in any order and have been sorted; reports how many were taken.
pub(super) struct SortedRecords<'p> {
    merge: SortedMerge,
    total: u64,
    progress: &'p mut dyn FnMut(BulkProgress),
}

impl RecordSource for SortedRecords<'_> {
    fn each(self, mut take: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let (total, progress) = (self.total, self.progress);
        let mut records = 0u64;
        progress(BulkProgress::Building { records, total });
        self.merge.for_each(|key, value| {
            take(key, value)?;
            records += 1;
            if records.is_multiple_of(PROGRESS_STEP) {
                progress(BulkProgress::Building { records, total });
            }
            Ok(())
        })?;
        progress(BulkProgress::Building { records, total });
        Ok(())
    }
}

/// Builds an empty tree.
fn build<S: PageSink>(
    tree: &mut Tree<'_, S>,
    page_size: usize,
    records: impl RecordSource,
) -> Result<u64> {
    let mut builder = TreeBuilder::new(tree);
    records.each(|key, value| {
        check_key(builder.root(), page_size, key)?;
        builder.push(key, StoredValue::inline(value))
    })?;
    builder.finish()
}

/// Adds records after the last one.
fn append<S: PageSink>(
    tree: &mut Tree<'_, S>,
    page_size: usize,
    records: impl RecordSource,
) -> Result<u64> {
    let mut appender = TreeAppender::new(tree)?;
    records.each(|key, value| {
        check_key(appender.root(), page_size, key)?;
        appender.push(key, StoredValue::inline(value))
    })?;
    appender.finish()
}

fn insert_all<S: PageSink>(tree: &mut Tree<'_, S>, records: impl RecordSource) -> Result<u64> {
    let (mut count, mut hint) = (0, Vec::new());
    records.each(|key, value| {
        let value = StoredValue::inline(value);
        tree.insert_with_hint(&mut hint, key, value, Existing::Replace)?;
        count += 1;
        Ok(())
    })?;
    Ok(count)
}
