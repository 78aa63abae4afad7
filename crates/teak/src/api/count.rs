//! Counting records, and splitting ranges.

use super::{
    OwnedRange, Range, ReadTxn, Table, Transaction,
    codec::Codec,
    key_checks::{OwnedBounds, as_slices, check_probe, encoded_bounds},
    range::Source,
};
use crate::{
    Error, Result,
    btree::{TreeRoot, count, cursor, estimate, key_ranges, lookup, reading::reading_twice},
    read::{catalog, located::located},
};
use std::ops::{Bound, RangeBounds};

/// The estimated number of records in a range; see [`Table::estimate_range`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Estimate {
    /// The estimate.
    pub records: u64,
    /// Lower bound, whatever the unread pages hold.
    pub at_least: u64,
    /// Upper bound, whatever the unread pages hold.
    pub at_most: u64,
    /// The standard deviation of the estimate, derived from how much the pages that were read
    /// differ. 0 if the estimate is exact.
    pub deviation: u64,
}

impl Estimate {
    /// Whether [`Estimate::records`] is exact.
    ///
    /// ```
    /// # use teak::{Database, codec::U64};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<U64, U64>("squares")?;
    /// squares.insert_many(&mut txn, &[(1, 1), (2, 4), (3, 9)])?;
    /// assert!(squares.estimate_range(&txn, 2..)?.is_exact());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.at_least == self.at_most
    }
}

impl From<estimate::RecordEstimate> for Estimate {
    fn from(about: estimate::RecordEstimate) -> Self {
        Self {
            records: about.records,
            at_least: about.at_least,
            at_most: about.at_most,
            deviation: about.deviation,
        }
    }
}

/// Refuses a table that is not counted, where the answer would take a walk through all records
/// before a position.
pub(super) fn check_counted(root: &TreeRoot, name: &[u8]) -> Result<()> {
    if root.counted {
        return Ok(());
    }
    let name = catalog::printable(name);
    Err(Error::InvalidArgument(format!(
        "table {name:?} does not count its records; create it with TableOptions::counted, or use Table::count_range, which reads all leaves of the range, or Table::estimate_range"
    )))
}

pub(super) fn refuse_no_parts(parts: usize) -> Result<()> {
    if parts == 0 {
        let text = "a range cannot be split into 0 parts; ask for at least one";
        return Err(Error::InvalidArgument(text.into()));
    }
    Ok(())
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// Returns how many records have smaller keys. For a key that is present this is its zero-based
    /// index. Only for counted tables ([`TableOptions::counted`](crate::TableOptions::counted));
    /// takes one descent.
    ///
    /// ```
    /// # use teak::{Database, TableOptions, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table_with::<Str, U32>("words", TableOptions::new().counted(true))?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3), ("teak", 4)])?;
    /// assert_eq!(words.rank(&txn, "oak")?, 2);
    /// assert_eq!(words.rank(&txn, "pine")?, 3);
    /// assert_eq!(words.nth(&txn, 2)?, Some(("oak".to_owned(), 3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the table is not counted, or if the key is an integer of
    /// another length than the keys; [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn rank<T: Transaction>(&self, txn: &T, key: K::Item<'_>) -> Result<u64> {
        let key = K::encode(&key);
        let key = key.as_ref();
        self.counting(txn, |source, root| {
            check_counted(root, self.name())?;
            check_probe(root, key)?;
            count::rank(source, root, key)
        })
    }

    /// Returns record `number` in key order, counted from 0; `None` if there are not that many.
    /// Only for counted tables; takes one descent. [`Table::rank`] has an example.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the table is not counted; [`Error::TableNotFound`],
    /// [`Error::Corrupted`] or [`Error::Decode`].
    pub fn nth<'t, T: Transaction>(
        &self,
        txn: &'t T,
        number: u64,
    ) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        self.counting(txn, |source, root| {
            check_counted(root, self.name())?;
            let Some((position, _)) = count::nth(source, root, number)? else {
                return Ok(None);
            };
            let mut key = Vec::new();
            let Some((leaf, value)) = cursor::record_at(source, &position, &mut key)? else {
                return Ok(None);
            };
            let value = V::decode(lookup::load(source, leaf, value)?)?;
            Ok(Some((K::to_owned(K::decode(&key)?), value)))
        })
    }

    /// Returns the number of records in a range. A counted table takes two descents. In other
    /// tables all leaves of the range are read, but no values; prefer [`Table::estimate_range`] for
    /// large ranges.
    ///
    /// ```
    /// # use teak::{Database, codec::U64};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<U64, U64>("squares")?;
    /// squares.insert_many(&mut txn, &[(1, 1), (2, 4), (3, 9), (7, 49)])?;
    /// assert_eq!(squares.count_range(&txn, 2..7)?, 2);
    /// assert_eq!(squares.count_range(&txn, 2..=7)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys.
    pub fn count_range<'k, T: Transaction>(
        &self,
        txn: &T,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<u64> {
        self.counting(txn, |source, root| {
            let (low, high) = encoded_bounds::<K>(root, &range)?;
            count::count(source, root, as_slices(&low), as_slices(&high))
        })
    }

    /// Estimates the number of records in a range, with a lower and an upper bound. Besides the
    /// paths to both ends, at most 64 pages of each level of the tree are read, whatever the range.
    /// The result is exact in counted tables, for ranges of few leaves, and for the whole table.
    ///
    /// ```
    /// # use teak::{Database, codec::{U64, Bytes}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let blocks = txn.create_table::<U64, Bytes>("blocks")?;
    /// for number in 0..20_000 {
    ///     blocks.insert(&mut txn, number, &[0; 40])?;
    /// }
    /// let about = blocks.estimate_range(&txn, 1000..)?;
    /// assert!(about.at_least <= 19_000 && 19_000 <= about.at_most);
    /// assert!(about.records.abs_diff(19_000) < 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys.
    pub fn estimate_range<'k, T: Transaction>(
        &self,
        txn: &T,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<Estimate> {
        let about = self.counting(txn, |source, root| {
            let (low, high) = encoded_bounds::<K>(root, &range)?;
            estimate::estimate(source, root, as_slices(&low), as_slices(&high))
        });
        about.map(Estimate::from)
    }

    /// Splits a range into `parts` parts with about as many records each, to be read by several
    /// threads in parallel. There are never more parts than records, and at most 65,536. The parts
    /// differ by one record at most if the table is counted or the range has few leaves.
    ///
    /// ```
    /// # use teak::{Database, codec::U64};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<U64, U64>("squares")?;
    /// for number in 0..1000 {
    ///     squares.insert(&mut txn, number, number * number)?;
    /// }
    /// let parts = squares.split(&txn, .., 4)?;
    /// let sum: u64 = std::thread::scope(|scope| {
    ///     let sum_of = |part: teak::Range<_, U64>| part.map(|record| record.unwrap().1).sum::<u64>();
    ///     let threads = parts.into_iter().map(|part| scope.spawn(move || sum_of(part)));
    ///     let threads: Vec<_> = threads.collect();
    ///     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    /// });
    /// assert_eq!(sum, 332_833_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for 0 parts, or if a bound is an integer of another length than
    /// the keys; [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn split<'t, 'k, T: Transaction>(
        &self,
        txn: &'t T,
        range: impl RangeBounds<K::Item<'k>>,
        parts: usize,
    ) -> Result<Vec<Range<'t, K, V>>> {
        let (bounds, keys) = self.cut(txn, &range, parts)?;
        let (source, root) = (txn.source(), self.root(txn)?);
        let part = |(low, high)| Range::new(source, *root, self.shared_name(), low, high);
        parts_of(&bounds, &keys).map(part).collect()
    }

    /// Like [`Table::split`], but the parts hold the transaction, for threads that outlive the
    /// borrow.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for 0 parts, or if a bound is an integer of another length than
    /// the keys; [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn split_owned<'k>(
        &self,
        txn: &ReadTxn,
        range: impl RangeBounds<K::Item<'k>>,
        parts: usize,
    ) -> Result<Vec<OwnedRange<K, V>>> {
        let (bounds, keys) = self.cut(txn, &range, parts)?;
        let root = self.root(txn)?;
        let part = |(low, high)| OwnedRange::new(txn.clone(), *root, self.shared_name(), low, high);
        parts_of(&bounds, &keys).map(part).collect()
    }

    /// Returns the first key of each part of [`Table::split`] except the first part. Use it for
    /// work that is not a scan or that is done by other processes.
    ///
    /// ```
    /// # use teak::{Database, TableOptions, codec::U64};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<U64, U64>("squares")?;
    /// for number in 0..1000 {
    ///     squares.insert(&mut txn, number, number * number)?;
    /// }
    /// assert_eq!(squares.split_keys(&txn, ..100, 4)?, [25, 50, 75]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for 0 parts, or if a bound is an integer of another length than
    /// the keys; [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn split_keys<'k, T: Transaction>(
        &self,
        txn: &T,
        range: impl RangeBounds<K::Item<'k>>,
        parts: usize,
    ) -> Result<Vec<K::Owned>> {
        let (_, keys) = self.cut(txn, &range, parts)?;
        let decoded = keys.iter().map(|key| Ok(K::to_owned(K::decode(key)?)));
        decoded.collect()
    }

    /// The bounds of a range, and the keys at which it is split.
    fn cut<'k, T: Transaction>(
        &self,
        txn: &T,
        range: &impl RangeBounds<K::Item<'k>>,
        parts: usize,
    ) -> Result<(OwnedBounds, Vec<Vec<u8>>)> {
        refuse_no_parts(parts)?;
        self.counting(txn, |source, root| {
            let bounds = encoded_bounds::<K>(root, range)?;
            let (low, high) = (as_slices(&bounds.0), as_slices(&bounds.1));
            let keys = key_ranges::split(source, root, low, high, parts)?;
            Ok((bounds, keys))
        })
    }

    /// Reads the table's tree; on damage the error names the affected keys of the table.
    fn counting<'t, T: Transaction, R>(
        &self,
        txn: &'t T,
        read: impl Fn(Source<'t>, &TreeRoot) -> Result<R>,
    ) -> Result<R> {
        let root = self.root(txn)?;
        let source = txn.source();
        let result = reading_twice(source, || read(source, &root));
        result.map_err(|error| located(error, source, &root, self.name(), None))
    }
}

type SliceBounds<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

/// Returns the bounds of each part of a range that is split at these keys.
fn parts_of<'b>(
    bounds: &'b OwnedBounds,
    keys: &'b [Vec<u8>],
) -> impl Iterator<Item = SliceBounds<'b>> {
    let starts = keys.iter().map(|key| Bound::Included(&key[..]));
    let ends = keys.iter().map(|key| Bound::Excluded(&key[..]));
    let starts = std::iter::once(as_slices(&bounds.0)).chain(starts);
    starts.zip(ends.chain([as_slices(&bounds.1)]))
}
