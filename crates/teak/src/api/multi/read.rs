//! Reading multi-value tables.

use super::{
    handle::MultiTable,
    pair_check::not_packed,
    range::{Keys, Pairs, Values},
};
use crate::{
    Result,
    api::{
        Cursor, Transaction,
        codec::Codec,
        key_checks::{as_slices, check_probe, check_value_probe, encoded_bounds},
        table_info::TableStat,
        table_options::TableOptions,
    },
    btree::{
        TreeRoot,
        multi::{self, cursor::PairCursor, lookup},
        position::Direction,
        reading::{reading, reading_twice},
    },
};
use std::ops::{Bound, ControlFlow, RangeBounds};

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Returns the first value of a key.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn first_value<T: Transaction>(
        &self,
        txn: &T,
        key: K::Item<'_>,
    ) -> Result<Option<V::Owned>> {
        self.values(txn, key)?.next().transpose()
    }

    /// Returns the last value of a key.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert_values(&mut txn, "teak", &[9, 1, 5])?;
    /// assert_eq!(lines.first_value(&txn, "teak")?, Some(1));
    /// assert_eq!(lines.last_value(&txn, "teak")?, Some(9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn last_value<T: Transaction>(
        &self,
        txn: &T,
        key: K::Item<'_>,
    ) -> Result<Option<V::Owned>> {
        self.values(txn, key)?.next_back().transpose()
    }

    /// Returns an iterator over the values of a key, from both ends. Their number is known without
    /// reading them.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert_values(&mut txn, "teak", &[9, 1, 5])?;
    /// let values = lines.values(&txn, "teak")?;
    /// assert_eq!(values.len(), 3);
    /// assert_eq!(values.rev().collect::<teak::Result<Vec<_>>>()?, [9, 5, 1]);
    /// assert_eq!(lines.values(&txn, "oak")?.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn values<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: K::Item<'_>,
    ) -> Result<Values<'t, V>> {
        let root = *self.root(txn)?;
        let key = K::encode(&key);
        check_probe(&root, key.as_ref())?;
        let values = Values::new(txn.source(), root, self.table.shared_name(), key.as_ref());
        values.map_err(|error| self.located(error, txn, &root, key.as_ref()))
    }

    /// Returns how many values a key has, without reading them.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn count<T: Transaction>(&self, txn: &T, key: K::Item<'_>) -> Result<u64> {
        let root = self.root(txn)?;
        let (source, key) = (txn.source(), K::encode(&key));
        check_probe(&root, key.as_ref())?;
        let found = reading_twice(source, || {
            let values = lookup::find(source, &root, key.as_ref())?;
            Ok(values.map_or(0, |values| values.count()))
        });
        found.map_err(|error| self.located(error, txn, &root, key.as_ref()))
    }

    /// Returns whether a key has this value.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert(&mut txn, "teak", 9)?;
    /// assert!(lines.contains(&txn, "teak", 9)?);
    /// assert!(!lines.contains(&txn, "teak", 8)?);
    /// assert!(lines.contains_key(&txn, "teak")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values.
    pub fn contains<T: Transaction>(
        &self,
        txn: &T,
        key: K::Item<'_>,
        value: V::Item<'_>,
    ) -> Result<bool> {
        let root = self.root(txn)?;
        let (source, key, value) = (txn.source(), K::encode(&key), V::encode(&value));
        check_probe(&root, key.as_ref())?;
        check_value_probe(&root, value.as_ref())?;
        let found = reading_twice(source, || {
            lookup::contains(source, &root, key.as_ref(), value.as_ref())
        });
        found.map_err(|error| self.located(error, txn, &root, key.as_ref()))
    }

    /// Returns whether the key exists.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn contains_key<T: Transaction>(&self, txn: &T, key: K::Item<'_>) -> Result<bool> {
        Ok(self.count(txn, key)? > 0)
    }

    /// Returns the number of pairs of key and value.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist.
    pub fn len<T: Transaction>(&self, txn: &T) -> Result<u64> {
        Ok(self.root(txn)?.records)
    }

    /// Returns whether there is no pair.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist.
    pub fn is_empty<T: Transaction>(&self, txn: &T) -> Result<bool> {
        Ok(self.len(txn)? == 0)
    }

    /// Returns counts of pairs and pages.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist.
    pub fn stat<T: Transaction>(&self, txn: &T) -> Result<TableStat> {
        Ok(TableStat::new(&*self.root(txn)?))
    }

    /// Returns the options the table was created with.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist.
    pub fn options<T: Transaction>(&self, txn: &T) -> Result<TableOptions> {
        Ok(TableOptions::of_root(&*self.root(txn)?))
    }

    /// Returns an iterator over all pairs, from both ends.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn iter<'t, T: Transaction>(&self, txn: &'t T) -> Result<Pairs<'t, K, V>> {
        self.pairs(txn, Bound::Unbounded, Bound::Unbounded)
    }

    /// Returns an iterator over the pairs of a range of keys, from both ends, ordered by key and
    /// then by value.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 1), ("teak", 5), ("ash", 7), ("teak", 2)])?;
    /// let pairs: Vec<_> = lines.range(&txn, "b"..)?.collect::<teak::Result<_>>()?;
    /// let expected = [("oak", 1), ("teak", 2), ("teak", 5)];
    /// assert_eq!(pairs, expected.map(|(key, value)| (key.to_owned(), value)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn range<'t, 'k, T: Transaction>(
        &self,
        txn: &'t T,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<Pairs<'t, K, V>> {
        let root = self.root(txn)?;
        let (low, high) = encoded_bounds::<K>(&root, &range)?;
        let of_key = |key| (key, None);
        self.pairs(
            txn,
            as_slices(&low).map(of_key),
            as_slices(&high).map(of_key),
        )
    }

    /// Returns an iterator over the pairs between two pairs, from both ends.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # use std::ops::Bound::{Excluded, Included};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 1), ("oak", 4), ("teak", 2), ("teak", 5)])?;
    /// let pairs = lines.range_pairs(&txn, (Included(("oak", 2)), Excluded(("teak", 5))))?;
    /// let pairs: Vec<_> = pairs.collect::<teak::Result<_>>()?;
    /// assert_eq!(pairs, [("oak".to_owned(), 4), ("teak".to_owned(), 2)]);
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
    pub fn range_pairs<'t, T: Transaction>(
        &self,
        txn: &'t T,
        range: (
            Bound<(K::Item<'_>, V::Item<'_>)>,
            Bound<(K::Item<'_>, V::Item<'_>)>,
        ),
    ) -> Result<Pairs<'t, K, V>> {
        let root = self.root(txn)?;
        let (low, high) = (
            encoded_pair::<K, V>(&root, &range.0)?,
            encoded_pair::<K, V>(&root, &range.1)?,
        );
        self.pairs(txn, pair_bound(&low), pair_bound(&high))
    }

    fn pairs<'t, T: Transaction>(
        &self,
        txn: &'t T,
        low: multi::cursor::PairBound<'_>,
        high: multi::cursor::PairBound<'_>,
    ) -> Result<Pairs<'t, K, V>> {
        let root = *self.root(txn)?;
        Pairs::new(txn.source(), root, self.table.shared_name(), low, high)
    }

    /// Returns an iterator over all keys, each with the number of its values.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 1), ("teak", 5), ("teak", 2)])?;
    /// let keys: Vec<_> = lines.keys(&txn)?.collect::<teak::Result<_>>()?;
    /// assert_eq!(keys, [("oak".to_owned(), 1), ("teak".to_owned(), 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn keys<'t, T: Transaction>(&self, txn: &'t T) -> Result<Keys<'t, K>> {
        let root = *self.root(txn)?;
        Ok(Keys::new(txn.source(), root, self.table.shared_name()))
    }

    /// Passes the values of a key to `take` in their form in the file: concatenated, a page at a
    /// time, until `take` breaks. For tables whose values have a fixed size.
    ///
    /// ```
    /// # use teak::{Database, TableOptions, ValueSize, codec::{Str, U32}};
    /// # use std::ops::ControlFlow;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().value_size(ValueSize::Bytes(4));
    /// let lines = txn.create_multi_table_with::<Str, U32>("lines", options)?;
    /// lines.insert_values(&mut txn, "teak", &(0..10_000).collect::<Vec<_>>())?;
    /// let mut sum = 0;
    /// lines.for_each_packed(&txn, "teak", |values| {
    ///     let (values, _) = values.as_chunks();
    ///     sum += values.iter().map(|value| u64::from(u32::from_be_bytes(*value))).sum::<u64>();
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(sum, 49_995_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys. [`Error::InvalidArgument`](crate::Error::InvalidArgument) also
    /// if the values have no fixed size.
    pub fn for_each_packed<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: K::Item<'_>,
        mut take: impl FnMut(&'t [u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let root = *self.root(txn)?;
        if root.kind.value_size == 0 && !root.kind.first_decides {
            return Err(not_packed());
        }
        let (source, key) = (txn.source(), K::encode(&key));
        check_probe(&root, key.as_ref())?;
        let mut cursor = PairCursor::new(source, root);
        let read = reading(source, || {
            if cursor.seek_key(key.as_ref())? != Some(true) {
                return Ok(());
            }
            while let Some(values) = cursor.packed(Direction::Forward)? {
                if take(values).is_break() {
                    break;
                }
                cursor.skip_packed(Some(values), Direction::Forward)?;
                if !cursor.next_value()? {
                    break;
                }
            }
            Ok(())
        });
        read.map_err(|error| self.located(error, txn, &root, key.as_ref()))
    }

    /// Returns a cursor over the raw bytes of the table.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist.
    pub fn cursor<'t, T: Transaction>(&self, txn: &'t T) -> Result<Cursor<'t>> {
        let root = *self.root(txn)?;
        let name = self.table.shared_name();
        Ok(Cursor::new(txn.source(), root, name))
    }

    /// Adds to a damage error which keys of the table are affected.
    #[cold]
    pub(super) fn located<T: Transaction>(
        &self,
        error: crate::Error,
        txn: &T,
        root: &TreeRoot,
        key: &[u8],
    ) -> crate::Error {
        self.table.located(error, txn, root, Some(key))
    }
}

type OwnedPairBound = Bound<(Vec<u8>, Vec<u8>)>;

/// A bound as bytes.
pub(super) fn encoded_pair<K: Codec, V: Codec>(
    root: &TreeRoot,
    bound: &Bound<(K::Item<'_>, V::Item<'_>)>,
) -> Result<OwnedPairBound> {
    let bytes = |key: &K::Item<'_>, value: &V::Item<'_>| {
        (
            K::encode(key).as_ref().to_vec(),
            V::encode(value).as_ref().to_vec(),
        )
    };
    let bound = bound.as_ref().map(|(key, value)| bytes(key, value));
    if let Bound::Included((key, value)) | Bound::Excluded((key, value)) = &bound {
        check_probe(root, key)?;
        check_value_probe(root, value)?;
    }
    Ok(bound)
}

pub(super) fn pair_bound(bound: &OwnedPairBound) -> multi::cursor::PairBound<'_> {
    bound
        .as_ref()
        .map(|(key, value)| (key.as_slice(), Some(value.as_slice())))
}
