//! Tables: typed handles to trees.

use super::{
    Cursor, OwnedCursor, OwnedRange, Range, ReadTxn, Transaction, WriteTxn,
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
        position::Position,
        reading::{reading, reading_twice},
    },
    page::{key::KeyOrder, value::StoredValue},
    read::located::located,
};
use std::{
    ops::{Bound, RangeBounds},
    sync::Arc,
};

impl<K: Codec, V: Codec> Table<K, V> {
    /// The value of a key, borrowed from the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`], [`Error::Decode`].
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

    /// Says of damage which keys of the table it concerns.
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

    /// The bytes of the value of a key, with a hold on the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`].
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

    /// The values of many keys, in the order of the keys. All of them go down the tree together,
    /// so that the waits for memory overlap: several times as fast as one after the other.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`], [`Error::Decode`].
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

    /// Whether there is such a key.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`].
    pub fn contains<T: Transaction>(&self, txn: &T, key: K::Item<'_>) -> Result<bool> {
        let root = self.root(txn)?;
        let source = txn.source();
        let value = reading_twice(source, || {
            lookup::get(source, &root, K::encode(&key).as_ref())
        });
        let value = value.map_err(|error| self.located(error, txn, &root, None))?;
        Ok(value.is_some())
    }

    /// The number of records.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn len<T: Transaction>(&self, txn: &T) -> Result<u64> {
        Ok(self.root(txn)?.records)
    }

    /// Whether there are no records.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn is_empty<T: Transaction>(&self, txn: &T) -> Result<bool> {
        Ok(self.len(txn)? == 0)
    }

    /// Counts of records and pages.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn stat<T: Transaction>(&self, txn: &T) -> Result<TableStat> {
        Ok(TableStat::new(&*self.root(txn)?))
    }

    /// What the table was created with.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn options<T: Transaction>(&self, txn: &T) -> Result<TableOptions> {
        Ok(TableOptions::of_root(&*self.root(txn)?))
    }

    /// The first record.
    ///
    /// # Errors
    ///
    /// Those of [`Table::range`].
    pub fn first<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        self.iter(txn)?.next().transpose()
    }

    /// The last record.
    ///
    /// # Errors
    ///
    /// Those of [`Table::range`].
    pub fn last<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        self.iter(txn)?.next_back().transpose()
    }

    /// Inserts a record, or replaces the value of the key. Writing the value that is there already
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::TableNotFound`]; [`Error::Io`] and [`Error::Full`] when
    /// there is no space.
    pub fn insert(&self, txn: &mut WriteTxn, key: K::Item<'_>, value: V::Item<'_>) -> Result<()> {
        self.put(txn, &key, &value, Existing::Replace).map(drop)
    }

    /// Inserts a record if there is none with this key; says whether it did.
    ///
    /// # Errors
    ///
    /// Those of [`Table::insert`].
    pub fn insert_new(
        &self,
        txn: &mut WriteTxn,
        key: K::Item<'_>,
        value: V::Item<'_>,
    ) -> Result<bool> {
        Ok(self.put(txn, &key, &value, Existing::Keep)? == Inserted::New)
    }

    /// Inserts many records, or replaces their values: in the order of keys, whatever order they come
    /// in, which is faster than one after the other. Of records with equal keys the last one counts.
    /// Returns how many keys were not there before.
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
    /// Those of [`Table::insert`]. A key that the table cannot hold is found before anything changes.
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
        let handle = self.handle(txn);
        txn.inner
            .change(handle, &self.name, |tree| tree.insert_many(&encoded))
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

    /// Removes a record; says whether there was one.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`]; [`Error::Io`] and [`Error::Full`] when there
    /// is no space for the pages that change.
    pub fn remove(&self, txn: &mut WriteTxn, key: K::Item<'_>) -> Result<bool> {
        let key = K::encode(&key);
        self.root(txn)?;
        let handle = self.handle(txn);
        txn.inner.remove(handle, &self.name, key.as_ref())
    }

    /// Removes many records, in the order of keys; returns how many there were. A key that comes
    /// twice counts once.
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
    /// Those of [`Table::remove`].
    pub fn remove_many(&self, txn: &mut WriteTxn, keys: &[K::Item<'_>]) -> Result<u64> {
        let encoded: Vec<_> = keys.iter().map(K::encode).collect();
        self.root(txn)?;
        let handle = self.handle(txn);
        txn.inner
            .change(handle, &self.name, |tree| tree.remove_many(&encoded))
    }

    /// Removes all records in a range, whole subtrees at once; returns how many there were.
    ///
    /// # Errors
    ///
    /// Those of [`Table::remove`].
    pub fn remove_range<'k>(
        &self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<u64>
    where
        K::Item<'k>: 'k,
    {
        let (low, high) = encoded_bounds::<K>(&*self.root(txn)?, &range)?;
        let handle = self.handle(txn);
        txn.inner.change(handle, &self.name, |tree| {
            tree.remove_range(as_slices(&low), as_slices(&high))
        })
    }

    /// Removes all records. The pages of a huge table are released a part at a time, as those of one that is
    /// [dropped](WriteTxn::drop_table).
    ///
    /// # Errors
    ///
    /// Those of [`Table::remove`].
    pub fn clear(&self, txn: &mut WriteTxn) -> Result<()> {
        self.root(txn)?;
        let handle = self.handle(txn);
        txn.inner
            .change(handle, &self.name, |tree| tree.clear())
            .map(drop)
    }

    /// The records of a range of keys, from both ends. A range that ends before it begins is empty.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`]; [`Error::InvalidArgument`] for bounds that are
    /// integers of another length than the keys.
    pub fn range<'t, 'k, T: Transaction>(
        &self,
        txn: &'t T,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<Range<'t, K, V>>
    where
        K::Item<'k>: 'k,
    {
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

    /// All records, from both ends.
    ///
    /// # Errors
    ///
    /// Those of [`Table::range`].
    pub fn iter<'t, T: Transaction>(&self, txn: &'t T) -> Result<Range<'t, K, V>> {
        Range::new(
            txn.source(),
            *self.root(txn)?,
            Arc::clone(&self.name),
            Bound::Unbounded,
            Bound::Unbounded,
        )
    }

    /// All records whose keys, as bytes, begin with `prefix`. Only for tables in byte order.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a table in another order; those of [`Table::range`].
    pub fn prefix<'t, T: Transaction>(&self, txn: &'t T, prefix: &[u8]) -> Result<Range<'t, K, V>> {
        let root = self.root(txn)?;
        if root.order != KeyOrder::Bytes {
            let text = "keys with a prefix lie together only in a table in byte order";
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

    /// The records of a range, with a hold on the transaction.
    ///
    /// # Errors
    ///
    /// Those of [`Table::range`].
    pub fn range_owned<'k>(
        &self,
        txn: &ReadTxn,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<OwnedRange<K, V>>
    where
        K::Item<'k>: 'k,
    {
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

    /// A cursor over the raw bytes of the table.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn cursor<'t, T: Transaction>(&self, txn: &'t T) -> Result<Cursor<'t>> {
        let root = *self.root(txn)?;
        Ok(Cursor::new(txn.source(), root, Arc::clone(&self.name)))
    }

    /// A cursor over the raw bytes of the table, with a hold on the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn cursor_owned(&self, txn: &ReadTxn) -> Result<OwnedCursor> {
        let root = *self.root(txn)?;
        let name = Arc::clone(&self.name);
        Ok(OwnedCursor::new(txn.clone(), root, name))
    }
}
