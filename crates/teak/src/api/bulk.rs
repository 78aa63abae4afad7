//! Loading many records at once.

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
    /// Bytes of memory for sorting. What does not fit goes to temporary files.
    pub memory_bytes: usize,
    /// Where temporary files are made; `None` is beside the database.
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

/// How far a load is.
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
        /// Records that were read, among them those whose key came again.
        total: u64,
    },
}

/// Progress is told after this many records, and at the begin and the end of building.
const PROGRESS_STEP: u64 = 1024;

impl<K: Codec, V: Codec> Table<K, V> {
    /// Loads records that are sorted by key: pages are built from the leaves up, each written once
    /// and full. A table that has records takes only keys behind its last one. Returns the number of
    /// records.
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
    /// [`Error::NotSorted`](crate::Error::NotSorted) with the record that is not behind the one before it: the transaction
    /// can only be rolled back then. Those of [`Table::insert`].
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
        let handle = self.handle(txn);
        let records = IteratorRecords(records);
        txn.inner.change(handle, self.raw_name(), |tree| {
            if tree.root().is_empty() {
                build(tree, page_size, records)
            } else {
                append(tree, page_size, records)
            }
        })
    }

    /// Loads records in any order: they are sorted first, in memory and in temporary files, and
    /// then built into pages as by [`Table::bulk_load`]. Of records with equal keys the last one
    /// counts. A table that has records gets them inserted in order, which replaces those with the
    /// same key. Returns the number of distinct keys.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if a temporary file cannot be written or read; those of [`Table::insert`].
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
        let handle = self.handle(txn);
        txn.inner.change(handle, self.raw_name(), |tree| {
            if tree.root().is_empty() {
                build(tree, page_size, sorted)
            } else {
                insert_all(tree, sorted)
            }
        })
    }
}

/// What sorts records for a table.
pub(super) fn sorter(txn: &WriteTxn, root: &TreeRoot, options: BulkOptions) -> Sorter {
    let directory = match options.directory {
        Some(directory) => directory,
        None => txn.engine().directory(),
    };
    Sorter::new(root, options.memory_bytes, &directory)
}

/// Has one more record sorted, and tells how many there are.
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

/// Has all records sorted.
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

/// Sorted records.
pub(super) trait RecordSource {
    /// Gives each to a function.
    fn each(self, take: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()>;
}

/// Those of an iterator.
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

/// Those of which so many were pushed in any order. It is told how many were taken.
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

/// Adds records behind the last one.
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
