//! Counting pairs, and splitting ranges.

use super::{
    handle::MultiTable,
    range::Pairs,
    read::{encoded_pair, pair_bound},
};
use crate::{
    Result,
    api::{
        Estimate, Transaction,
        codec::Codec,
        count::{check_counted, refuse_no_parts},
        key_checks::{as_slices, check_probe, check_value_probe, encoded_bounds},
        range::Source,
    },
    btree::{TreeRoot, estimate, multi::count, reading::reading_twice},
};
use std::{
    iter,
    ops::{Bound, RangeBounds},
};

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Returns how many pairs are before this one, by key and then by value. For a pair that is
    /// present this is its zero-based index. Only for counted tables
    /// ([`TableOptions::counted`](crate::TableOptions::counted)); takes one descent, and another
    /// among the values of the key.
    ///
    /// ```
    /// # use teak::{Database, TableOptions, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().counted(true);
    /// let lines = txn.create_multi_table_with::<Str, U32>("lines", options)?;
    /// lines.insert_many(&mut txn, &[("ash", 7), ("oak", 1), ("oak", 4), ("teak", 2)])?;
    /// assert_eq!(lines.rank(&txn, "oak", 4)?, 2);
    /// assert_eq!(lines.nth(&txn, 2)?, Some(("oak".to_owned(), 4)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the table is not counted, or if
    /// an argument is an integer of another length than the keys or the values;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn rank<T: Transaction>(
        &self,
        txn: &T,
        key: K::Item<'_>,
        value: V::Item<'_>,
    ) -> Result<u64> {
        let (key, value) = (K::encode(&key), V::encode(&value));
        let pair = (key.as_ref(), Some(value.as_ref()));
        self.counting(txn, |source, root| {
            check_counted(root, self.name())?;
            check_probe(root, key.as_ref())?;
            check_value_probe(root, value.as_ref())?;
            count::count_pairs(source, root, Bound::Unbounded, Bound::Excluded(pair))
        })
    }

    /// Returns pair `number` by key and then by value, counted from 0; `None` if there are not that
    /// many. Only for counted tables; takes one descent, and another among the values of the key.
    /// [`MultiTable::rank`] has an example.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the table is not counted;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound),
    /// [`Error::Corrupted`](crate::Error::Corrupted) or [`Error::Decode`](crate::Error::Decode).
    pub fn nth<T: Transaction>(
        &self,
        txn: &T,
        number: u64,
    ) -> Result<Option<(K::Owned, V::Owned)>> {
        self.counting(txn, |source, root| {
            check_counted(root, self.name())?;
            let pair = count::nth_pair(source, root, number)?;
            pair.map(|pair| decoded::<K, V>(&pair)).transpose()
        })
    }

    /// Returns the number of pairs in a range of keys. A counted table takes two descents. In other
    /// tables all leaves of the range are read, except those of keys with many values; prefer
    /// [`MultiTable::estimate_range`] for large ranges.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert_many(&mut txn, &[("ash", 7), ("oak", 1), ("oak", 4), ("teak", 2)])?;
    /// assert_eq!(lines.count_range(&txn, "b"..)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn count_range<'k, T: Transaction>(
        &self,
        txn: &T,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<u64> {
        self.counting(txn, |source, root| {
            let (low, high) = encoded_bounds::<K>(root, &range)?;
            let (low, high) = (as_slices(&low), as_slices(&high));
            let of_key = |key| (key, None);
            count::count_pairs(source, root, low.map(of_key), high.map(of_key))
        })
    }

    /// Returns the number of pairs between two pairs. It costs as much as
    /// [`MultiTable::count_range`], plus the same among the values of the two keys.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # use std::ops::Bound::{Excluded, Unbounded};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert_many(&mut txn, &[("ash", 7), ("oak", 1), ("oak", 4), ("teak", 2)])?;
    /// assert_eq!(lines.count_range_pairs(&txn, (Excluded(("oak", 1)), Unbounded))?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values.
    #[allow(clippy::type_complexity)]
    pub fn count_range_pairs<T: Transaction>(
        &self,
        txn: &T,
        range: (
            Bound<(K::Item<'_>, V::Item<'_>)>,
            Bound<(K::Item<'_>, V::Item<'_>)>,
        ),
    ) -> Result<u64> {
        self.counting(txn, |source, root| {
            let low = encoded_pair::<K, V>(root, &range.0)?;
            let high = encoded_pair::<K, V>(root, &range.1)?;
            count::count_pairs(source, root, pair_bound(&low), pair_bound(&high))
        })
    }

    /// Estimates the number of pairs in a range of keys, with a lower and an upper bound, like
    /// [`Table::estimate_range`](crate::Table::estimate_range).
    ///
    /// ```
    /// # use teak::{Database, codec::{U64, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<U64, U32>("lines")?;
    /// for number in 0..20_000 {
    ///     lines.insert_values(&mut txn, number, &[1, 2, 3])?;
    /// }
    /// let about = lines.estimate_range(&txn, 1000..)?;
    /// assert!(about.at_least <= 57_000 && 57_000 <= about.at_most);
    /// assert!(about.records.abs_diff(57_000) < 3000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
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

    /// Estimates the number of pairs between two pairs, with a lower and an upper bound. Few pages
    /// are read even if a key has millions of values.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # use std::ops::Bound::{Included, Unbounded};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert_values(&mut txn, "oak", &(0..100_000).collect::<Vec<_>>())?;
    /// let about = lines.estimate_range_pairs(&txn, (Included(("oak", 25_000)), Unbounded))?;
    /// assert!(about.at_least <= 75_000 && 75_000 <= about.at_most);
    /// assert!(about.records.abs_diff(75_000) < 4000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values.
    #[allow(clippy::type_complexity)]
    pub fn estimate_range_pairs<T: Transaction>(
        &self,
        txn: &T,
        range: (
            Bound<(K::Item<'_>, V::Item<'_>)>,
            Bound<(K::Item<'_>, V::Item<'_>)>,
        ),
    ) -> Result<Estimate> {
        self.counting(txn, |source, root| {
            let low = encoded_pair::<K, V>(root, &range.0)?;
            let high = encoded_pair::<K, V>(root, &range.1)?;
            count::estimate_pairs(source, root, pair_bound(&low), pair_bound(&high))
                .map(Estimate::from)
        })
    }

    /// Splits the pairs of a range of keys into `parts` parts with about as many pairs each, to be
    /// read by several threads in parallel. There are never more parts than pairs, and at most
    /// 65,536. A part may begin and end among the values of a key. In a counted table the parts
    /// differ by one pair at most.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert_values(&mut txn, "oak", &(0..1000).collect::<Vec<_>>())?;
    /// let parts = lines.split(&txn, .., 4)?;
    /// let lens: Vec<_> = parts.into_iter().map(|part| part.count()).collect();
    /// assert_eq!(lens.len(), 4);
    /// assert_eq!(lens.iter().sum::<usize>(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for 0 parts, or if a bound is an
    /// integer of another length than the keys;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn split<'t, 'k, T: Transaction>(
        &self,
        txn: &'t T,
        range: impl RangeBounds<K::Item<'k>>,
        parts: usize,
    ) -> Result<Vec<Pairs<'t, K, V>>> {
        let pairs = self.cut(txn, &range, parts)?;
        let root = *self.root(txn)?;
        let (low, high) = encoded_bounds::<K>(&root, &range)?;
        let of_key = |key| (key, None);
        let starts = pairs
            .iter()
            .map(|pair| Bound::Included((&pair.0[..], Some(&pair.1[..]))));
        let ends = pairs
            .iter()
            .map(|pair| Bound::Excluded((&pair.0[..], Some(&pair.1[..]))));
        let starts = iter::once(as_slices(&low).map(of_key)).chain(starts);
        let ends = ends.chain([as_slices(&high).map(of_key)]);
        let part =
            |(low, high)| Pairs::new(txn.source(), root, self.table.shared_name(), low, high);
        starts.zip(ends).map(part).collect()
    }

    /// Returns the first pair of each part of [`MultiTable::split`] except the first part. Use it
    /// for work that is not a scan or that is done by other processes.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for 0 parts, or if a bound is an
    /// integer of another length than the keys;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound),
    /// [`Error::Corrupted`](crate::Error::Corrupted) or [`Error::Decode`](crate::Error::Decode).
    pub fn split_pairs<'k, T: Transaction>(
        &self,
        txn: &T,
        range: impl RangeBounds<K::Item<'k>>,
        parts: usize,
    ) -> Result<Vec<(K::Owned, V::Owned)>> {
        let pairs = self.cut(txn, &range, parts)?;
        pairs.iter().map(decoded::<K, V>).collect()
    }

    fn cut<'k, T: Transaction>(
        &self,
        txn: &T,
        range: &impl RangeBounds<K::Item<'k>>,
        parts: usize,
    ) -> Result<Vec<count::OwnedPair>> {
        refuse_no_parts(parts)?;
        self.counting(txn, |source, root| {
            let (low, high) = encoded_bounds::<K>(root, range)?;
            count::split_pairs(source, root, as_slices(&low), as_slices(&high), parts)
        })
    }

    /// Reads the table's tree; on damage the error names the affected keys of the table.
    fn counting<'t, T: Transaction, R>(
        &self,
        txn: &'t T,
        read: impl Fn(Source<'t>, &TreeRoot) -> Result<R>,
    ) -> Result<R> {
        let (source, root) = (txn.source(), self.root(txn)?);
        let result = reading_twice(source, || read(source, &root));
        result.map_err(|error| self.table.located(error, txn, &root, None))
    }
}

fn decoded<K: Codec, V: Codec>((key, value): &count::OwnedPair) -> Result<(K::Owned, V::Owned)> {
    Ok((K::to_owned(K::decode(key)?), V::to_owned(V::decode(value)?)))
}
