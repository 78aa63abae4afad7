//! Ranges of a table.

use super::{
    Estimate, Iter, Keys, OwnedIter, ReadTxn, Table, Transaction, WriteTxn,
    bounds::{Bounds, RangeOrigin, bytes_of, encode_bound, prefix_end},
    codec::{Codec, EncodeAs},
    iter::Ignored,
    key_checks::check_probes,
    kind::{Kind, Multi, Single},
    sealed::Sealed,
};
use crate::{
    Error, Result,
    btree::{
        RootRef, TreeRoot,
        multi::{
            count::{count_pairs, estimate_pairs, split},
            range_parts::{OwnedPairBound, as_slices, to_owned},
        },
    },
    page::key::KeyOrder,
};
use std::{
    fmt,
    iter::{self, Rev},
    ops::Bound,
    sync::Arc,
};

/// A range of a table: see [`Table::range`], [`Table::prefix`] and [`MultiTable::range_pairs`].
/// Each of its methods takes a transaction, and can be called again with another one. A range that
/// ends before it begins is empty.
///
/// ```
/// # use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let counts = txn.create_table::<&str, u32>("counts")?;
/// counts.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3), ("teak", 4)])?;
/// let middle = counts.range("b".."p");
/// assert_eq!(middle.count(&txn)?, 2);
/// let names: Vec<_> = middle.keys(&txn)?.collect::<teak::Result<_>>()?;
/// assert_eq!(names, ["elm", "oak"]);
/// assert_eq!(middle.remove(&mut txn)?, 2);
/// assert_eq!(middle.iter(&txn)?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`MultiTable::range_pairs`]: crate::MultiTable::range_pairs
pub struct Range<'r, K, V, M = Single> {
    pub(super) table: &'r Table<K, V, M>,
    low: OwnedPairBound,
    high: OwnedPairBound,
    origin: RangeOrigin,
}

impl<K: Codec, V: Codec, M: Kind> Table<K, V, M> {
    /// Returns a range of keys: any range of the standard library, or a tuple of two [`Bound`]s;
    /// [`Bounds`] has examples. If the codec cannot encode a bound, the methods of the range return
    /// [`Error::Encode`].
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 1), ("teak", 5), ("ash", 7), ("teak", 2)])?;
    /// let pairs: Vec<_> = lines.range("b"..).iter(&txn)?.collect::<teak::Result<_>>()?;
    /// let expected = [("oak", 1), ("teak", 2), ("teak", 5)];
    /// assert_eq!(pairs, expected.map(|(key, value)| (key.into(), value)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<B: Bounds>(&self, bounds: B) -> Range<'_, K, V, M>
    where
        B::Of: EncodeAs<K>,
    {
        let key = |key: &B::Of| Ok((bytes_of(key)?, None));
        let (low, high) = (bounds.low(), bounds.high());
        self.range_or_error(encode_bound(low, key), encode_bound(high, key))
    }

    /// Returns the range of all keys that, as bytes, begin with `prefix`. Only for tables in byte
    /// order; in others the methods of the range return [`Error::InvalidArgument`].
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert_many(&mut txn, &[("elder", 1), ("elm", 2), ("oak", 3)])?;
    /// assert_eq!(counts.prefix(b"el").count(&txn)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, prefix: &[u8]) -> Range<'_, K, V, M> {
        let end = prefix_end(prefix).map(|end| (end, None));
        Range {
            origin: RangeOrigin::Prefix,
            ..self.range_of(
                Bound::Included((prefix.to_vec(), None)),
                end.map_or(Bound::Unbounded, Bound::Excluded),
            )
        }
    }

    /// Returns the range between two encoded bounds, of the types that [`Range::low`] and
    /// [`Range::high`] return: for generic code, and to continue in another process with a part of
    /// a range. A bound may have a value only in a multi-value table; in others the methods of the
    /// range return [`Error::TableMismatch`].
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 1), ("oak", 4), ("teak", 2)])?;
    /// let range = lines.range_pairs(("oak", 2)..);
    /// assert_eq!(lines.range_encoded(range.low(), range.high()).count(&txn)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range_encoded(
        &self,
        low: Bound<(&[u8], Option<&[u8]>)>,
        high: Bound<(&[u8], Option<&[u8]>)>,
    ) -> Range<'_, K, V, M> {
        self.range_of(to_owned(low), to_owned(high))
    }

    /// Returns the range between two encoded bounds.
    pub(super) fn range_of(&self, low: OwnedPairBound, high: OwnedPairBound) -> Range<'_, K, V, M> {
        Range {
            table: self,
            low,
            high,
            origin: RangeOrigin::Bounds,
        }
    }

    /// Returns the range between two encoded bounds. If one could not be encoded, the methods of
    /// the range return the error.
    fn range_or_error(
        &self,
        low: Result<OwnedPairBound>,
        high: Result<OwnedPairBound>,
    ) -> Range<'_, K, V, M> {
        match low.and_then(|low| Ok((low, high?))) {
            Ok((low, high)) => self.range_of(low, high),
            Err(error) => Range {
                origin: RangeOrigin::Failed(Arc::new(error)),
                ..self.range_of(Bound::Unbounded, Bound::Unbounded)
            },
        }
    }
}

impl<K: Codec, V: Codec> Table<K, V, Multi> {
    /// Returns a range of pairs, whose bounds are tuples of key and value. All pairs are
    /// `range(..)`; generic code may need [`Table::range_encoded`].
    ///
    /// ```
    /// # use teak::Database;
    /// # use std::ops::Bound::{Excluded, Unbounded};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 1), ("oak", 4), ("teak", 2), ("teak", 5)])?;
    /// let range = lines.range_pairs(("oak", 2)..("teak", 5));
    /// let pairs: Vec<_> = range.iter(&txn)?.collect::<teak::Result<_>>()?;
    /// assert_eq!(pairs, [("oak".into(), 4), ("teak".into(), 2)]);
    /// assert_eq!(lines.range_pairs((Excluded(("oak", 4)), Unbounded)).count(&txn)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range_pairs<X, Y>(&self, bounds: impl Bounds<Of = (X, Y)>) -> Range<'_, K, V, Multi>
    where
        X: EncodeAs<K>,
        Y: EncodeAs<V>,
    {
        let pair = |(key, value): &(X, Y)| Ok((bytes_of(key)?, Some(bytes_of(value)?)));
        let (low, high) = (bounds.low(), bounds.high());
        self.range_or_error(encode_bound(low, pair), encode_bound(high, pair))
    }
}

impl<'r, K, V, M> Range<'r, K, V, M> {
    /// The lower bound as bytes: a key and, if the bound is among the values of the key, a value.
    ///
    /// ```
    /// # use teak::Database;
    /// # use std::ops::Bound;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u64, u64>("squares")?;
    /// let range = squares.range(5..);
    /// assert_eq!(range.low(), Bound::Included((&5u64.to_be_bytes()[..], None)));
    /// assert_eq!(range.high(), Bound::Unbounded);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn low(&self) -> Bound<(&[u8], Option<&[u8]>)> {
        as_slices(&self.low)
    }

    /// The upper bound as bytes: a key and, if the bound is among the values of the key, a value.
    #[must_use]
    pub fn high(&self) -> Bound<(&[u8], Option<&[u8]>)> {
        as_slices(&self.high)
    }
}

impl<'r, K: Codec, V: Codec, M: Kind> Range<'r, K, V, M> {
    /// Refuses bounds that the table cannot have.
    pub(super) fn check(&self, root: &TreeRoot) -> Result<()> {
        match &self.origin {
            RangeOrigin::Prefix if root.order != KeyOrder::Bytes => {
                let text = "keys with a common prefix are adjacent only in tables in byte order";
                return Err(Error::InvalidArgument(text.into()));
            }
            RangeOrigin::Failed(error) => return Err(error.of_encoding()),
            RangeOrigin::Bounds | RangeOrigin::Prefix => {}
        }
        for bound in [&self.low, &self.high] {
            if let Bound::Included((key, value)) | Bound::Excluded((key, value)) = bound {
                check_probes(root, self.table.name(), (key, value.as_deref()))?;
            }
        }
        Ok(())
    }

    /// Returns the root of the table, if the table can have such bounds.
    fn root<'t, T: Sealed>(&self, txn: &'t T) -> Result<RootRef<'t>> {
        let root = self.table.root(txn)?;
        self.check(&root).map(|()| root)
    }

    /// Returns an iterator over the records, from both ends: in key order, and the values of a key
    /// in their order.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values.
    pub fn iter<'t, T: Transaction>(&self, txn: &'t T) -> Result<Iter<'t, K, V, M>> {
        let state = self.table.tree_of(txn)?;
        self.check(&state.1)?;
        Iter::new(state, self.table.shared_name(), self.low(), self.high())
    }

    /// Returns an iterator over the records from the last one to the first one.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u64, u64>("squares")?;
    /// squares.insert_many(&mut txn, &[(1, 1), (2, 4), (3, 9)])?;
    /// let last = squares.range(..3).rev(&txn)?.next().transpose()?;
    /// assert_eq!(last, Some((2, 4)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values.
    pub fn rev<'t, T: Transaction>(&self, txn: &'t T) -> Result<Rev<Iter<'t, K, V, M>>> {
        self.iter(txn).map(Iterator::rev)
    }

    /// Returns an iterator over the keys, from both ends. In a multi-value table each key comes
    /// once, with the number of all its values; a bound that is a pair counts as its key, included.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 1), ("teak", 5), ("teak", 2)])?;
    /// let keys: Vec<_> = lines.range(..).keys(&txn)?.collect::<teak::Result<_>>()?;
    /// assert_eq!(keys, [("oak".into(), 1), ("teak".into(), 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values.
    pub fn keys<'t, T: Transaction>(&self, txn: &'t T) -> Result<Keys<'t, K, M>> {
        let state = self.table.tree_of(txn)?;
        self.check(&state.1)?;
        Keys::new(state, self.table.shared_name(), self.low(), self.high())
    }

    /// Returns an iterator over the values, from both ends, in the order of [`Range::iter`].
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u64, u64>("squares")?;
    /// squares.insert_many(&mut txn, &[(1, 1), (2, 4), (3, 9)])?;
    /// assert_eq!(squares.range(2..).values(&txn)?.sum::<teak::Result<u64>>()?, 13);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values.
    pub fn values<'t, T: Transaction>(
        &self,
        txn: &'t T,
    ) -> Result<impl DoubleEndedIterator<Item = Result<M::Value<'t, V>>> + use<'t, K, V, M, T>>
    {
        let state = self.table.tree_of(txn)?;
        self.check(&state.1)?;
        let (name, low, high) = (self.table.shared_name(), self.low(), self.high());
        Ok(Iter::<Ignored, V, M>::new(state, name, low, high)?
            .map(|record| record.map(|((), value)| value)))
    }

    /// Returns an iterator over the records that holds the transaction, for other threads.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values.
    pub fn owned(&self, txn: &ReadTxn) -> Result<OwnedIter<K, V, M>> {
        let (root, name) = (*self.root(txn)?, self.table.shared_name());
        OwnedIter::new(txn.clone(), root, name, self.low(), self.high())
    }

    /// Returns the number of records; in a multi-value table, of pairs. A counted table takes two
    /// descents, and as many among the values of a bound that is a pair. In other tables all leaves
    /// of the range are read, but no values, and no leaves of keys with many values; prefer
    /// [`Range::estimate`] for large ranges.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u64, u64>("squares")?;
    /// squares.insert_many(&mut txn, &[(1, 1), (2, 4), (3, 9), (7, 49)])?;
    /// assert_eq!(squares.range(2..7).count(&txn)?, 2);
    /// assert_eq!(squares.range(2..=7).count(&txn)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values.
    pub fn count<T: Transaction>(&self, txn: &T) -> Result<u64> {
        self.table.reading(txn, |source, root| {
            self.check(root)?;
            count_pairs(source, root, self.low(), self.high())
        })
    }

    /// Estimates the number of records, or of pairs in a multi-value table, with a lower and an
    /// upper bound. Besides the paths to both ends, at most 64 pages of each level of the tree are
    /// read, whatever the range. The result is exact in counted tables, for ranges of few leaves,
    /// and for the whole table.
    ///
    /// ```
    /// # use teak::{Database, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let blocks = txn.create_table::<u64, Bytes>("blocks")?;
    /// for number in 0..20_000 {
    ///     blocks.insert(&mut txn, number, &[0; 40])?;
    /// }
    /// let about = blocks.range(1000..).estimate(&txn)?;
    /// assert!(about.at_least <= 19_000 && 19_000 <= about.at_most);
    /// assert!(about.records.abs_diff(19_000) < 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values.
    pub fn estimate<T: Transaction>(&self, txn: &T) -> Result<Estimate> {
        self.table.reading(txn, |source, root| {
            self.check(root)?;
            estimate_pairs(source, root, self.low(), self.high()).map(Estimate::from)
        })
    }

    /// Splits the range into `parts` parts with about as many records each, to be read by several
    /// threads in parallel. There are never more parts than records, and at most 65,536. The parts
    /// differ by one record at most if the table is counted, or if keys have one value and the
    /// range has few leaves. In a multi-value table a part may begin and end among the values of a
    /// key; [`Range::keys`] of each of these parts returns that key. If the bounds are pairs and
    /// the table is not counted, there may be fewer parts, and those at the ends may be smaller.
    ///
    /// The parts are ranges of the same table. [`Range::low`] of all parts but the first is where
    /// one begins, for other processes, which continue with [`Table::range_encoded`].
    ///
    /// ```
    /// # use teak::Database;
    /// # use std::ops::Bound;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u64, u64>("squares")?;
    /// for number in 0..1000 {
    ///     squares.insert(&mut txn, number, number * number)?;
    /// }
    /// let parts = squares.range(..).split(&txn, 4)?;
    /// let sum: u64 = std::thread::scope(|scope| {
    ///     let threads: Vec<_> = parts
    ///         .iter()
    ///         .map(|part| scope.spawn(|| part.values(&txn)?.sum::<teak::Result<u64>>()))
    ///         .collect();
    ///     threads.into_iter().map(|thread| thread.join().unwrap()).sum::<teak::Result<u64>>()
    /// })?;
    /// assert_eq!(sum, 332_833_500);
    /// assert_eq!(parts[1].low(), Bound::Included((&250u64.to_be_bytes()[..], None)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for 0 parts, or if a bound is an integer of another length than
    /// the keys or the values; [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn split<T: Transaction>(&self, txn: &T, parts: usize) -> Result<Vec<Self>> {
        if parts == 0 {
            let text = "a range cannot be split into 0 parts; ask for at least one";
            return Err(Error::InvalidArgument(text.into()));
        }
        let starts = self.table.reading(txn, |source, root| {
            self.check(root)?;
            split(source, root, self.low(), self.high(), parts)
        })?;
        let ends = starts.iter().cloned().map(Bound::Excluded);
        let ends = ends.chain([self.high.clone()]).collect::<Vec<_>>();
        let starts = starts.into_iter().map(Bound::Included);
        let starts = iter::once(self.low.clone()).chain(starts);
        let part = |(low, high)| Self {
            low,
            high,
            ..self.clone()
        };
        Ok(starts.zip(ends).map(part).collect())
    }

    /// Removes all records of the range, whole subtrees at a time; returns how many there were.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 1), ("oak", 4), ("teak", 2)])?;
    /// assert_eq!(lines.range_pairs(("oak", 2)..).remove(&mut txn)?, 2);
    /// assert_eq!(lines.len(&txn)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values; [`Error::Io`] or [`Error::Full`]
    /// if there is no space for the changed pages.
    pub fn remove(&self, txn: &mut WriteTxn) -> Result<u64> {
        self.root(txn)?;
        (self.table).change_checked(txn, |tree| tree.remove_pairs_in(self.low(), self.high()))
    }
}

impl<K, V, M> Clone for Range<'_, K, V, M> {
    fn clone(&self) -> Self {
        Self {
            table: self.table,
            low: self.low.clone(),
            high: self.high.clone(),
            origin: self.origin.clone(),
        }
    }
}

impl<K, V, M> fmt::Debug for Range<'_, K, V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range")
            .field("low", &self.low)
            .field("high", &self.high)
            .finish_non_exhaustive()
    }
}
