//! Tables: typed handles to trees.

use super::{
    Cursor, OwnedRange, Range, ReadTxn, Transaction, WriteTxn,
    codec::Codec,
    key_checks::{as_slices, check_key, encoded_bounds},
    range::prefix_end,
    sealed::Sealed,
    table_handle::Table,
    table_info::TableStat,
    table_options::TableOptions,
    value_guard::ValueGuard,
};
use crate::{
    Error, Result,
    btree::{
        PageSource, TreeRoot,
        insert::{Existing, Inserted},
        lookup,
        mutable_tree::Tree,
        position::Position,
        reading::{reading, reading_twice},
    },
    page::{key::KeyOrder, value::StoredValue},
    read::located::located,
    write::pages::WritePages,
};
use std::{
    ops::{Bound, RangeBounds},
    sync::Arc,
};

impl<K, V> Table<K, V> {
    /// Changes the tree of the table.
    pub(super) fn change<R>(
        &self,
        txn: &mut WriteTxn,
        change: impl FnOnce(&mut Tree<'_, WritePages>) -> Result<R>,
    ) -> Result<R> {
        let handle = self.handle(txn);
        txn.inner.change(handle, &self.name, change)
    }
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// Returns the value of a key, borrowed from the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    #[inline]
    pub fn get<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: K::Item<'_>,
    ) -> Result<Option<V::Item<'t>>> {
        let root = self.root(txn)?;
        let key = K::encode(&key);
        let source = txn.source();
        let value = reading_twice(source, || match lookup::get(source, &root, key.as_ref())? {
            Some(value) => V::decode(lookup::load(source, root.page, value)?).map(Some),
            None => Ok(None),
        });
        value.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }

    /// Adds to a damage error which keys of the table are affected.
    #[cold]
    pub(super) fn located<T: Transaction>(
        &self,
        error: Error,
        txn: &T,
        root: &TreeRoot,
        key: Option<&[u8]>,
    ) -> Error {
        located(error, txn.source(), root, &self.name, key)
    }

    /// Returns the bytes of the value of a key; the result holds the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn get_owned(&self, txn: &ReadTxn, key: K::Item<'_>) -> Result<Option<ValueGuard>> {
        let root = self.root(txn)?;
        let key = K::encode(&key);
        let mut position = Position::default();
        let source = txn.source();
        let value = reading(source, || {
            match position.seek(source, &root, key.as_ref())? {
                Some(true) => ValueGuard::at(txn, position),
                _ => Ok(None),
            }
        });
        value.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }

    /// Returns the values of many keys, in the order of the given keys. All lookups descend the
    /// tree together, so that their memory latencies overlap. This is several times as fast as one
    /// lookup after the other.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn get_many<'t, T: Transaction>(
        &self,
        txn: &'t T,
        keys: &[K::Item<'_>],
    ) -> Result<Vec<Option<V::Item<'t>>>> {
        let root = self.root(txn)?;
        let source = txn.source();
        let mut values = Vec::with_capacity(keys.len());
        let found = reading_twice(source, || {
            values.clear();
            let mut add = |value: Option<StoredValue<'t>>| {
                values.push(match value {
                    Some(value) => Some(V::decode(lookup::load(source, root.page, value)?)?),
                    None => None,
                });
                Ok(())
            };
            lookup::get_many(source, &root, keys.iter().map(K::encode), &mut add)
        });
        match found {
            Ok(()) => Ok(values),
            Err(error) => {
                let key = keys.get(values.len()).map(K::encode);
                let key = key.as_ref().map(AsRef::as_ref);
                Err(self.located(error, txn, &root, key))
            }
        }
    }

    /// Returns whether a record has this key.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn contains<T: Transaction>(&self, txn: &T, key: K::Item<'_>) -> Result<bool> {
        let root = self.root(txn)?;
        let source = txn.source();
        let value = reading_twice(source, || {
            lookup::get(source, &root, K::encode(&key).as_ref())
        });
        let value = value.map_err(|error| self.located(error, txn, &root, None))?;
        Ok(value.is_some())
    }

    /// Returns the number of records.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn len<T: Transaction>(&self, txn: &T) -> Result<u64> {
        Ok(self.root(txn)?.records)
    }

    /// Returns whether the table has no records.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn is_empty<T: Transaction>(&self, txn: &T) -> Result<bool> {
        Ok(self.len(txn)? == 0)
    }

    /// Returns counts of records and pages.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn stat<T: Transaction>(&self, txn: &T) -> Result<TableStat> {
        Ok(TableStat::new(&*self.root(txn)?))
    }

    /// Returns the options the table was created with.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn options<T: Transaction>(&self, txn: &T) -> Result<TableOptions> {
        Ok(TableOptions::of_root(&*self.root(txn)?))
    }

    /// Returns the first record.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn first<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        self.iter(txn)?.next().transpose()
    }

    /// Returns the last record.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn last<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        self.iter(txn)?.next_back().transpose()
    }

    /// Inserts a record, or replaces the value of the key. Writing a value that is stored already
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn insert(&self, txn: &mut WriteTxn, key: K::Item<'_>, value: V::Item<'_>) -> Result<()> {
        self.put(txn, &key, &value, Existing::Replace).map(drop)
    }

    /// Inserts a record if no record has this key; returns whether it did.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn insert_new(
        &self,
        txn: &mut WriteTxn,
        key: K::Item<'_>,
        value: V::Item<'_>,
    ) -> Result<bool> {
        Ok(self.put(txn, &key, &value, Existing::Keep)? == Inserted::New)
    }

    /// Inserts many records, or replaces their values. They are applied in key order, whatever
    /// their order in the argument, which is faster than one insert after the other. If a key
    /// occurs several times, its last record counts. Returns how many keys are new.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<Str, U32>("counts")?;
    /// assert_eq!(counts.insert_many(&mut txn, &[("teak", 1), ("oak", 2), ("teak", 3)])?, 2);
    /// assert_eq!(counts.get(&txn, "teak")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space. A key that the table cannot hold is found before anything changes.
    pub fn insert_many(
        &self,
        txn: &mut WriteTxn,
        records: &[(K::Item<'_>, V::Item<'_>)],
    ) -> Result<u64> {
        let encoded: Vec<_> = records
            .iter()
            .map(|(key, value)| (K::encode(key), V::encode(value)))
            .collect();
        let mut root = *self.root(txn)?;
        let page_size = txn.source().page_size();
        for (key, _) in &encoded {
            check_key(&root, page_size, key.as_ref())?;
            if root.order == KeyOrder::Integer {
                root.key_len = key.as_ref().len() as u16;
            }
        }
        self.change(txn, |tree| tree.insert_many(&encoded))
    }

    fn put(
        &self,
        txn: &mut WriteTxn,
        key: &K::Item<'_>,
        value: &V::Item<'_>,
        existing: Existing,
    ) -> Result<Inserted> {
        let (key, value) = (K::encode(key), V::encode(value));
        let (key, value) = (key.as_ref(), StoredValue::inline(value.as_ref()));
        check_key(&*self.root(txn)?, txn.source().page_size(), key)?;
        let handle = self.handle(txn);
        txn.inner.insert(handle, &self.name, key, value, existing)
    }

    /// Removes a record; returns whether there was one.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove(&self, txn: &mut WriteTxn, key: K::Item<'_>) -> Result<bool> {
        let key = K::encode(&key);
        self.root(txn)?;
        let handle = self.handle(txn);
        txn.inner.remove(handle, &self.name, key.as_ref())
    }

    /// Removes many records, in key order; returns how many there were. A key that occurs twice
    /// counts once.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<Str, U32>("counts")?;
    /// counts.insert_many(&mut txn, &[("teak", 1), ("oak", 2), ("ash", 3)])?;
    /// assert_eq!(counts.remove_many(&mut txn, &["teak", "elm", "ash"])?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove_many(&self, txn: &mut WriteTxn, keys: &[K::Item<'_>]) -> Result<u64> {
        let encoded: Vec<_> = keys.iter().map(K::encode).collect();
        self.root(txn)?;
        self.change(txn, |tree| tree.remove_many(&encoded))
    }

    /// Removes all records in a range, whole subtrees at a time; returns how many there were.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove_range<'k>(
        &self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<u64> {
        let (low, high) = encoded_bounds::<K>(&*self.root(txn)?, &range)?;
        self.change(txn, |tree| {
            tree.remove_range(as_slices(&low), as_slices(&high))
        })
    }

    /// Removes all records. The pages of a huge table are released in parts, like those of a
    /// [dropped](WriteTxn::drop_table) one.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn clear(&self, txn: &mut WriteTxn) -> Result<()> {
        self.root(txn)?;
        self.change(txn, |tree| tree.clear()).map(drop)
    }

    /// Returns an iterator over the records of a range of keys, from both ends. A range that ends
    /// before it begins is empty.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys.
    pub fn range<'t, 'k, T: Transaction>(
        &self,
        txn: &'t T,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<Range<'t, K, V>> {
        let root = self.root(txn)?;
        let (low, high) = encoded_bounds::<K>(&root, &range)?;
        Range::new(
            txn.source(),
            *root,
            Arc::clone(&self.name),
            as_slices(&low),
            as_slices(&high),
        )
    }

    /// Returns an iterator over all records, from both ends.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn iter<'t, T: Transaction>(&self, txn: &'t T) -> Result<Range<'t, K, V>> {
        Range::new(
            txn.source(),
            *self.root(txn)?,
            Arc::clone(&self.name),
            Bound::Unbounded,
            Bound::Unbounded,
        )
    }

    /// Returns an iterator over all records whose keys, as bytes, begin with `prefix`. Only for
    /// tables in byte order.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a table in another order; [`Error::TableNotFound`] or
    /// [`Error::Corrupted`].
    pub fn prefix<'t, T: Transaction>(&self, txn: &'t T, prefix: &[u8]) -> Result<Range<'t, K, V>> {
        let root = self.root(txn)?;
        if root.order != KeyOrder::Bytes {
            let text = "keys with a common prefix are adjacent only in tables in byte order";
            return Err(Error::InvalidArgument(text.into()));
        }
        let end = prefix_end(prefix);
        let high = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        Range::new(
            txn.source(),
            *root,
            Arc::clone(&self.name),
            Bound::Included(prefix),
            high,
        )
    }

    /// Like [`Table::range`], but the iterator holds the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys.
    pub fn range_owned<'k>(
        &self,
        txn: &ReadTxn,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<OwnedRange<K, V>> {
        let root = self.root(txn)?;
        let (low, high) = encoded_bounds::<K>(&root, &range)?;
        OwnedRange::new(
            txn.clone(),
            *root,
            Arc::clone(&self.name),
            as_slices(&low),
            as_slices(&high),
        )
    }

    /// Returns a cursor over the raw bytes of the table.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn cursor<'t, T: Transaction>(&self, txn: &'t T) -> Result<Cursor<'t>> {
        let root = *self.root(txn)?;
        Ok(Cursor::new(txn.source(), root, Arc::clone(&self.name)))
    }
}
