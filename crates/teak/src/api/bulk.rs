//! Bulk loading.

use super::{Table, WriteTxn, codec::Codec, key_checks::RecordCheck, kind::Kind, sealed::Sealed};
use crate::{
    Result,
    btree::{
        PageSink, TreeRoot,
        bulk::{RecordLoader, TreeAppender, TreeBuilder},
        insert::Existing,
        multi::{batch::PairAppender, bulk::PairBuilder},
        mutable_tree::Tree,
        sort::{SortedMerge, Sorter},
    },
    page::value::StoredValue,
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

impl<K: Codec, V: Codec, M: Kind> Table<K, V, M> {
    /// Loads records that are sorted by key, and in a multi-value table also by value. Pages are
    /// built from the leaves up, those of keys with many values too; each is written once and full.
    /// If the table already has records, only records after its last one are accepted. Returns the
    /// number of records.
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
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong) or
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if a key or value does not have
    /// the size of the table's; [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space.
    pub fn bulk_load<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        records: impl IntoIterator<Item = (Key, Value)>,
    ) -> Result<u64> {
        self.load_sorted(txn, records.into_iter().map(Ok))
    }

    pub(super) fn load_sorted<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        records: impl Iterator<Item = Result<(Key, Value)>>,
    ) -> Result<u64> {
        let check = RecordCheck::new(self, txn)?;
        self.change_checked(txn, |tree| {
            load::<M, _>(tree, check, IteratorRecords(records))
        })
    }

    /// Loads records in any order. They are sorted in memory and in temporary files, and then built
    /// into pages as by [`Table::bulk_load`]. If a key occurs several times, its last record
    /// counts; in a multi-value table a pair that occurs several times is loaded once. If the table
    /// already has records, the new ones are inserted in order, and replace those with the same key
    /// in a table with one value per key. Returns the number of distinct records.
    ///
    /// ```
    /// # use teak::{BulkOptions, Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// let pairs = [("teak", 5u32), ("oak", 7), ("teak", 3), ("oak", 7)];
    /// let pairs = pairs.map(|(key, value)| (key, value.to_be_bytes()));
    /// let count = lines.bulk_load_unsorted(&mut txn, pairs, BulkOptions::default(), &mut |_| ())?;
    /// assert_eq!(count, 3);
    /// assert_eq!(lines.first_value(&txn, "teak")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if a temporary file cannot be written or read, or if there
    /// is no space; [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong),
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Full`](crate::Error::Full); [`Error::InvalidArgument`](crate::Error::InvalidArgument)
    /// if a key or value does not have the size of the table's. A record that the table cannot hold
    /// is found before anything changes.
    pub fn bulk_load_unsorted<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        records: impl IntoIterator<Item = (Key, Value)>,
        options: BulkOptions,
        progress: &mut dyn FnMut(BulkProgress),
    ) -> Result<u64> {
        let mut check = RecordCheck::new(self, txn)?;
        let mut sorter = sorter(txn, &check.root, options);
        for (key, value) in records {
            check.check(key.as_ref(), value.as_ref())?;
            push(&mut sorter, key.as_ref(), value.as_ref(), progress)?;
        }
        let sorted = sorted(sorter, progress)?;
        let check = RecordCheck::new(self, txn)?;
        self.change_checked(txn, |tree| match tree.root().is_empty() {
            true => load::<M, _>(tree, check, sorted),
            false => insert_all::<M, _>(tree, sorted),
        })
    }
}

/// Creates the sorter for a table.
fn sorter(txn: &WriteTxn, root: &TreeRoot, options: BulkOptions) -> Sorter {
    let directory = match options.directory {
        Some(directory) => directory,
        None => txn.engine().directory(),
    };
    Sorter::new(root, options.memory_bytes, &directory)
}

/// Adds one record to the sorter, and reports progress.
fn push(
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
fn sorted(sorter: Sorter, progress: &mut dyn FnMut(BulkProgress)) -> Result<SortedRecords<'_>> {
    Ok(SortedRecords {
        total: sorter.records(),
        merge: sorter.finish()?,
        progress,
    })
}

/// A source of sorted records.
trait RecordSource {
    /// Passes each record to `take`.
    fn each(self, take: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()>;
}

/// Records of an iterator.
struct IteratorRecords<I>(I);

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
struct SortedRecords<'p> {
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

/// Builds an empty tree, or adds records after the last one.
fn load<M: Kind, S: PageSink>(
    tree: &mut Tree<'_, S>,
    check: RecordCheck,
    records: impl RecordSource,
) -> Result<u64> {
    match (M::IS_MULTI, tree.root().is_empty()) {
        (false, true) => load_into(TreeBuilder::new(tree), check, records),
        (false, false) => load_into(TreeAppender::new(tree)?, check, records),
        (true, true) => load_into(PairBuilder::new(tree), check, records),
        (true, false) => load_into(PairAppender::new(tree)?, check, records),
    }
}

fn load_into(
    mut loader: impl RecordLoader,
    mut check: RecordCheck,
    records: impl RecordSource,
) -> Result<u64> {
    records.each(|key, value| {
        check.check(key, value)?;
        loader.push(key, value)
    })?;
    loader.finish()
}

fn insert_all<M: Kind, S: PageSink>(
    tree: &mut Tree<'_, S>,
    records: impl RecordSource,
) -> Result<u64> {
    let (mut count, mut hint) = (0, Vec::new());
    records.each(|key, value| {
        if M::IS_MULTI {
            tree.insert_pair(key, value)?;
        } else {
            let value = StoredValue::inline(value);
            tree.insert_with_hint(&mut hint, key, value, Existing::Replace)?;
        }
        count += 1;
        Ok(())
    })?;
    Ok(count)
}
