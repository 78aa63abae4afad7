//! Bulk loading.

use super::{
    Table, WriteTxn,
    codec::{Codec, EncodeAs},
    key_checks::RecordCheck,
    kind::Kind,
    sealed::Sealed,
};
use crate::{
    Error, Result,
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
use std::{marker::PhantomData, path::PathBuf};

/// How [`Table::bulk_load_unsorted`] sorts.
///
/// ```
/// let options = teak::BulkOptions::new().memory_bytes(64 << 20).directory("/var/tmp");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct BulkOptions {
    memory_bytes: usize,
    directory: Option<PathBuf>,
}

impl Default for BulkOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl BulkOptions {
    /// Defaults: 256 MiB of memory, and the directory of the database.
    pub fn new() -> Self {
        Self {
            memory_bytes: 256 << 20,
            directory: None,
        }
    }

    /// Sets how many bytes of memory are used for sorting. Records that do not fit go to temporary
    /// files.
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Sets the directory for temporary files.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
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

/// A record that is loaded into a table with keys `K` and values `V`: a pair, or the result of a
/// source that may fail, with its own type of error.
pub trait BulkRecord<K, V> {
    /// The error of the load.
    type Error: From<Error>;

    /// Encodes the record and passes it to `take`.
    ///
    /// # Errors
    ///
    /// The error of the source, or [`Error::Encode`].
    fn encode_record<R>(self, take: impl FnOnce(&[u8], &[u8]) -> R) -> Result<R, Self::Error>;
}

impl<K, V, X: EncodeAs<K>, Y: EncodeAs<V>> BulkRecord<K, V> for (X, Y) {
    type Error = Error;

    #[inline]
    fn encode_record<R>(self, take: impl FnOnce(&[u8], &[u8]) -> R) -> Result<R> {
        let (key, value) = (self.0.encode_as()?, self.1.encode_as()?);
        Ok(take(key.as_ref(), value.as_ref()))
    }
}

impl<K, V, X: EncodeAs<K>, Y: EncodeAs<V>, E: From<Error>> BulkRecord<K, V> for Result<(X, Y), E> {
    type Error = E;

    #[inline]
    fn encode_record<R>(self, take: impl FnOnce(&[u8], &[u8]) -> R) -> Result<R, E> {
        Ok(self?.encode_record(take)?)
    }
}

impl<K: Codec, V: Codec, M: Kind> Table<K, V, M> {
    /// Loads records that are sorted by key, and in a multi-value table also by value. Pages are
    /// built from the leaves up, those of keys with many values too; each is written once and full.
    /// If the table already has records, only records after its last one are accepted. Returns the
    /// number of records.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u32, u64>("squares")?;
    /// let records = (0..100_000).map(|n| (n, u64::from(n).pow(2)));
    /// assert_eq!(squares.bulk_load(&mut txn, records)?, 100_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The source may fail, with any error that a Teak error can become:
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let squares = txn.create_table::<u32, u64>("squares")?;
    /// let lines = "1 1\n2 4\n3 nine".lines();
    /// let records = lines.map(|line| -> Result<_, Box<dyn std::error::Error>> {
    ///     let (number, square) = line.split_once(' ').ok_or("no space")?;
    ///     Ok((number.parse::<u32>()?, square.parse::<u64>()?))
    /// });
    /// let error = squares.bulk_load(&mut txn, records).unwrap_err();
    /// assert!(error.is::<std::num::ParseIntError>());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error of the source; [`Error::NotSorted`](crate::Error::NotSorted) with the index of the
    /// record that is not after the one before it. The transaction can then only be rolled back.
    /// [`Error::Encode`](crate::Error::Encode),
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong) or
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if a key or value does not have
    /// the size of the table's; [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space.
    pub fn bulk_load<R: BulkRecord<K, V>>(
        &self,
        txn: &mut WriteTxn,
        records: impl IntoIterator<Item = R>,
    ) -> Result<u64, R::Error> {
        let check = RecordCheck::new(self, txn)?;
        let mut failure = None;
        let records = IteratorRecords {
            records: records.into_iter(),
            failure: &mut failure,
            types: PhantomData,
        };
        let loaded = self.change_checked(txn, |tree| load::<M, _>(tree, check, records));
        match failure {
            Some(error) => Err(error),
            None => Ok(loaded?),
        }
    }

    /// Loads records in any order. They are sorted in memory and in temporary files, and then built
    /// into pages as by [`Table::bulk_load`]. If a key occurs several times, its last record
    /// counts; in a multi-value table a pair that occurs several times is loaded once. If the table
    /// already has records, the new ones are inserted in order, and replace those with the same key
    /// in a table with one value per key. Returns the number of distinct records.
    ///
    /// ```
    /// # use teak::{BulkOptions, Database};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// let pairs = [("teak", 5), ("oak", 7), ("teak", 3), ("oak", 7)];
    /// let count = lines.bulk_load_unsorted(&mut txn, pairs, BulkOptions::default(), &mut |_| ())?;
    /// assert_eq!(count, 3);
    /// assert_eq!(lines.first_value(&txn, "teak")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error of the source; [`Error::Io`](crate::Error::Io) if a temporary file cannot be
    /// written or read, or if there is no space; [`Error::Encode`](crate::Error::Encode), [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong),
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Full`](crate::Error::Full); [`Error::InvalidArgument`](crate::Error::InvalidArgument)
    /// if a key or value does not have the size of the table's. A record that the table cannot hold
    /// is found before anything changes.
    pub fn bulk_load_unsorted<R: BulkRecord<K, V>>(
        &self,
        txn: &mut WriteTxn,
        records: impl IntoIterator<Item = R>,
        options: BulkOptions,
        progress: &mut dyn FnMut(BulkProgress),
    ) -> Result<u64, R::Error> {
        let mut check = RecordCheck::new(self, txn)?;
        let mut sorter = sorter(txn, &check.root, options);
        for record in records {
            record.encode_record(|key, value| -> Result<()> {
                check.check(key, value)?;
                push(&mut sorter, key, value, progress)
            })??;
        }
        let sorted = sorted(sorter, progress)?;
        let check = RecordCheck::new(self, txn)?;
        Ok(
            self.change_checked(txn, |tree| match tree.root().is_empty() {
                true => load::<M, _>(tree, check, sorted),
                false => insert_all::<M, _>(tree, sorted),
            })?,
        )
    }
}

/// Creates the sorter for a table.
fn sorter(txn: &WriteTxn, root: &TreeRoot, options: BulkOptions) -> Sorter {
    let directory = match options.directory {
        Some(directory) => directory,
        None => txn.engine().directory(),
    };
    let codec = txn.engine().mapping().codec();
    Sorter::new(root, options.memory_bytes, &directory, codec)
}

/// Adds one record to the sorter, and reports progress.
#[inline]
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
struct IteratorRecords<'f, K, V, R: BulkRecord<K, V>, I> {
    records: I,
    /// The error that ended the iteration.
    failure: &'f mut Option<R::Error>,
    types: PhantomData<(K, V)>,
}

impl<K, V, R, I> RecordSource for IteratorRecords<'_, K, V, R, I>
where
    R: BulkRecord<K, V>,
    I: Iterator<Item = R>,
{
    #[inline]
    fn each(mut self, mut take: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        self.records.try_for_each(|record| {
            let taken = record.encode_record(|key, value| take(key, value));
            taken.unwrap_or_else(|error| {
                *self.failure = Some(error);
                Err(Error::TransactionBroken)
            })
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
