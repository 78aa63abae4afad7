//! Reading and changing tables in which a key has one value.

use super::{
    ReadTxn, Table, Transaction, WriteTxn,
    codec::{Codec, EncodeAs, encode_all},
    count::check_counted,
    key_checks::{check_key, check_probe},
    sealed::Sealed,
    value_guard::ValueGuard,
};
#[cfg(doc)]
use crate::Error;
use crate::{
    Result,
    btree::{
        PageSource, RootRef, TreeRoot, count,
        insert::{Existing, Inserted},
        lookup,
        position::Position,
        reading::{reading, reading_twice},
    },
    page::value::StoredValue,
};

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
        key: impl EncodeAs<K>,
    ) -> Result<Option<V::Item<'t>>> {
        let key = key.encode_as()?;
        if txn.is_buffered() {
            return self.get_buffered(txn, key.as_ref());
        }
        let root = self.of_this_kind(txn.root_in_trees(self.handle(txn), self.name())?)?;
        self.get_in_tree(txn, (txn.source_of_trees(), &root), key.as_ref())
    }

    #[cold]
    fn get_buffered<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: &[u8],
    ) -> Result<Option<V::Item<'t>>> {
        if let Some(found) = txn.get_buffered(self.handle(txn), self.name(), key)? {
            return found.map(V::decode).transpose();
        }
        let root = self.root(txn)?;
        self.get_in_tree(txn, (txn.source(), &root), key)
    }

    #[inline(always)]
    fn get_in_tree<'t, T: Transaction>(
        &self,
        txn: &'t T,
        (source, root): (&'t impl PageSource, &TreeRoot),
        key: &[u8],
    ) -> Result<Option<V::Item<'t>>> {
        let value = reading_twice(source, || match lookup::get(source, root, key)? {
            Some(value) => V::decode(lookup::load(source, root.page, value)?).map(Some),
            None => Ok(None),
        });
        value.map_err(|error| self.located(error, txn, root, Some(key)))
    }

    /// Like [`Table::get`], for keys that are looked up in their order, or mostly: if the last two
    /// such lookups of the transaction ended in the same leaf, this one looks there first, which
    /// saves most descents from the root. In any order it returns what [`Table::get`] returns.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u32, u64>("squares")?;
    /// squares.bulk_load(&mut txn, (0..1000).map(|n| (n, u64::from(n).pow(2))))?;
    /// txn.commit()?;
    /// let txn = database.begin_read()?;
    /// for n in 0..1000 {
    ///     assert_eq!(squares.get_in_order(&txn, n)?, Some(u64::from(n).pow(2)));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    #[inline]
    pub fn get_in_order<'t>(
        &self,
        txn: &'t ReadTxn,
        key: impl EncodeAs<K>,
    ) -> Result<Option<V::Item<'t>>> {
        let key = key.encode_as()?;
        if txn.is_buffered() {
            return self.get_buffered(txn, key.as_ref());
        }
        let (root, handle) = (self.root(txn)?, self.handle(txn));
        let source = txn.source();
        let mut hint = txn.lookup_hint.of(handle);
        let found = reading_twice(source, || {
            // The second attempt does not rely on the first.
            let (value, end) = lookup::get_with_hint(source, &root, hint.take(), key.as_ref())?;
            let value = match value {
                Some(value) => Some(V::decode(lookup::load(source, root.page, value)?)?),
                None => None,
            };
            Ok((value, end))
        });
        match found {
            Ok((value, end)) => {
                end.into_iter()
                    .for_each(|end| txn.lookup_hint.note(handle, end));
                Ok(value)
            }
            Err(error) => Err(self.located(error, txn, &root, Some(key.as_ref()))),
        }
    }

    /// Returns the bytes of the value of a key; the result holds the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn get_owned(&self, txn: &ReadTxn, key: impl EncodeAs<K>) -> Result<Option<ValueGuard>> {
        let root = self.root(txn)?;
        let key = key.encode_as()?;
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
        keys: &[impl EncodeAs<K>],
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
            let keys = keys.iter().map(EncodeAs::encode_as);
            lookup::get_many(source, &root, keys, &mut add)
        });
        match found {
            Ok(()) => Ok(values),
            Err(error) => {
                let key = keys.get(values.len()).map(EncodeAs::encode_as);
                let key = key.transpose()?;
                let key = key.as_ref().map(AsRef::as_ref);
                Err(self.located(error, txn, &root, key))
            }
        }
    }

    /// Returns how many records have smaller keys. For a key that is present this is its zero-based
    /// index. Only for counted tables ([`TableOptions::counted`](crate::TableOptions::counted));
    /// takes one descent.
    ///
    /// ```
    /// # use teak::{Database, TableDef, TableOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().counted(true);
    /// let words = TableDef::<&str, u32>::new("words").options(options).create(&mut txn)?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3), ("teak", 4)])?;
    /// assert_eq!(words.rank(&txn, "oak")?, 2);
    /// assert_eq!(words.rank(&txn, "pine")?, 3);
    /// assert_eq!(words.nth(&txn, 2)?, Some(("oak".into(), 3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the table is not counted, or if the key is an integer of
    /// another length than the keys; [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn rank<T: Transaction>(&self, txn: &T, key: impl EncodeAs<K>) -> Result<u64> {
        let key = key.encode_as()?;
        let key = key.as_ref();
        self.reading(txn, |source, root| {
            check_counted(root, self.name())?;
            check_probe(root, key)?;
            count::rank(source, root, key)
        })
    }

    /// Inserts a record, or replaces the value of the key. Writing a value that is stored already
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn insert(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<()> {
        self.put(txn, key, value, Existing::Replace).map(drop)
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
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<bool> {
        Ok(self.put(txn, key, value, Existing::Keep)? == Inserted::New)
    }

    fn put(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
        existing: Existing,
    ) -> Result<Inserted> {
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        let (key, value) = (key.as_ref(), value.as_ref());
        let (handle, page_size) = (self.handle(txn), txn.source().page_size());
        if let Some(small) = txn.small_mut() {
            let root = small.root_of(handle, self.name())?;
            check_key(&*self.of_this_kind(root)?, page_size, key)?;
            let table = (handle, self.name());
            if let Some(inserted) = small.insert(table, key, value, existing)? {
                return Ok(inserted);
            }
        }
        let record = (key, StoredValue::inline(value));
        let check = |root: Option<&TreeRoot>| self.check_key(root, page_size, key);
        (txn.whole_mut()?).insert((handle, self.name()), check, record, existing)
    }

    /// Removes a record; returns whether there was one.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove(&self, txn: &mut WriteTxn, key: impl EncodeAs<K>) -> Result<bool> {
        let key = key.encode_as()?;
        let handle = self.handle(txn);
        if let Some(small) = txn.small_mut() {
            self.of_this_kind(small.root_of(handle, self.name())?)?;
            let table = (handle, self.name());
            if let Some(is_there) = small.remove(table, key.as_ref())? {
                return Ok(is_there);
            }
        }
        let check = |root: Option<&TreeRoot>| self.of_this_kind(root.map(RootRef::Kept)).map(drop);
        (txn.whole_mut()?).remove((handle, self.name()), check, key.as_ref())
    }

    /// Removes many records, in key order; returns how many there were. A key that occurs twice
    /// counts once.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert_many(&mut txn, &[("teak", 1), ("oak", 2), ("ash", 3)])?;
    /// assert_eq!(counts.remove_many(&mut txn, &["teak", "elm", "ash"])?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove_many(&self, txn: &mut WriteTxn, keys: &[impl EncodeAs<K>]) -> Result<u64> {
        let encoded = encode_all(keys)?;
        let (removed, keys) = match self.remove_small(txn, &encoded)? {
            Some((removed, [])) => return Ok(removed),
            part => part.unwrap_or((0, &encoded)),
        };
        Ok(removed + self.change(txn, |tree| tree.remove_many(keys))?)
    }
}
