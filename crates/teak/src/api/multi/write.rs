//! Changing multi-value tables.

use super::not_packed;
use crate::{
    Error, Result,
    api::{
        MultiTable, WriteTxn,
        codec::{Codec, EncodeAs, encode_all, encode_pairs},
        key_checks::RecordCheck,
    },
    btree::multi::replace::PairReplaced,
};

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Inserts a pair. If it is present already, returns `false` and changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`] or [`Error::TableNotFound`];
    /// [`Error::InvalidArgument`] if the value does not have the size of the table's values;
    /// [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn insert(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<bool> {
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        let (key, value) = (key.as_ref(), value.as_ref());
        RecordCheck::new(self, txn)?.check(key, value)?;
        self.change_checked(txn, |tree| tree.insert_pair(key, value))
    }

    /// Inserts a pair if the key does not exist. Otherwise changes nothing and returns the first
    /// value of the key.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// assert_eq!(lines.insert_new_key(&mut txn, "teak", 5)?, None);
    /// assert_eq!(lines.insert_new_key(&mut txn, "teak", 7)?, Some(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`] or [`Error::TableNotFound`];
    /// [`Error::InvalidArgument`] if the value does not have the size of the table's values;
    /// [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn insert_new_key(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<Option<V::Owned>> {
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        let (key, value) = (key.as_ref(), value.as_ref());
        RecordCheck::new(self, txn)?.check(key, value)?;
        if let Some(first) = self.values_of(txn, key)?.next().transpose()? {
            return Ok(Some(first));
        }
        self.change_checked(txn, |tree| tree.insert_pair(key, value))?;
        Ok(None)
    }

    /// Adds values to a key, in any order; returns how many of them are new.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`] or [`Error::TableNotFound`];
    /// [`Error::InvalidArgument`] if the value does not have the size of the table's values;
    /// [`Error::Io`] or [`Error::Full`] if there is no space. A value that the table cannot hold is
    /// found before anything changes.
    pub fn insert_values(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        values: &[impl EncodeAs<V>],
    ) -> Result<u64> {
        let values = encode_all(values)?;
        let values = values.iter().map(AsRef::as_ref).collect();
        self.add_values(txn, key.encode_as()?.as_ref(), values)
    }

    /// Like [`MultiTable::insert_values`], for concatenated values, in a table whose values have a
    /// fixed size.
    ///
    /// ```
    /// # use teak::{Database, MultiTableDef, TableOptions, ValueSize};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().value_size(ValueSize::Bytes(4));
    /// let lines = MultiTableDef::<&str, u32>::new("lines").options(options).create(&mut txn)?;
    /// assert_eq!(lines.insert_packed(&mut txn, "teak", &[0, 0, 0, 7, 0, 0, 0, 3])?, 2);
    /// assert_eq!(lines.first_value(&txn, "teak")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the values have no fixed size, if the size is not known yet,
    /// or if the bytes are not a whole number of values; [`Error::KeyTooLong`],
    /// [`Error::ValueTooLong`] or [`Error::TableNotFound`]; [`Error::InvalidArgument`] if the value
    /// does not have the size of the table's values; [`Error::Io`] or [`Error::Full`] if there is
    /// no space.
    pub fn insert_packed(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        values: &[u8],
    ) -> Result<u64> {
        let size = usize::from(self.root(txn)?.kind.value_size);
        if size == 0 {
            return Err(not_packed());
        }
        if !values.len().is_multiple_of(size) {
            let len = values.len();
            let text = format!("{len} bytes are not a multiple of the value size of {size} bytes");
            return Err(Error::InvalidArgument(text));
        }
        self.add_values(
            txn,
            key.encode_as()?.as_ref(),
            values.chunks_exact(size).collect(),
        )
    }

    fn add_values(&self, txn: &mut WriteTxn, key: &[u8], values: Vec<&[u8]>) -> Result<u64> {
        let values = self.sorted(txn, key, values)?;
        self.change_checked(txn, |tree| tree.insert_values(key, &values))
    }

    /// Sorts values in the order of the table, without duplicates; refuses values that the table
    /// cannot hold.
    fn sorted<'v>(
        &self,
        txn: &WriteTxn,
        key: &[u8],
        mut values: Vec<&'v [u8]>,
    ) -> Result<Vec<&'v [u8]>> {
        let mut check = RecordCheck::new(self, txn)?;
        for value in &values {
            check.check(key, value)?;
        }
        let order = check.root.value_order();
        if !values.is_sorted_by(|a, b| order.compare(a, b).is_lt()) {
            order.sort(&mut values, |a, b| order.compare(a, b));
            values.dedup_by(|later, earlier| order.compare(earlier, later).is_eq());
        }
        Ok(values)
    }

    /// Removes many pairs; returns how many of them were present.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// assert_eq!(lines.insert_many(&mut txn, &[("teak", 1), ("oak", 2), ("teak", 3)])?, 3);
    /// assert_eq!(lines.remove_many(&mut txn, &[("teak", 3), ("teak", 4)])?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove_many(
        &self,
        txn: &mut WriteTxn,
        pairs: &[(impl EncodeAs<K>, impl EncodeAs<V>)],
    ) -> Result<u64> {
        let encoded = encode_pairs(pairs)?;
        self.change(txn, |tree| tree.remove_pairs(&encoded))
    }

    /// Replaces a value of a key by another one. If the key does not have the old one, returns
    /// `false` and changes nothing.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_values(&mut txn, "teak", &[1, 2])?;
    /// assert!(lines.replace(&mut txn, "teak", 1, 5)?);
    /// assert!(!lines.replace(&mut txn, "teak", 1, 7)?);
    /// assert!(lines.replace(&mut txn, "teak", 2, 5).is_err(), "5 is there already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the key has the new value already; nothing has changed then.
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`] or [`Error::TableNotFound`];
    /// [`Error::InvalidArgument`] if the value does not have the size of the table's values;
    /// [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn replace(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        old: impl EncodeAs<V>,
        new: impl EncodeAs<V>,
    ) -> Result<bool> {
        let (key, old, new) = (key.encode_as()?, old.encode_as()?, new.encode_as()?);
        let (key, old, new) = (key.as_ref(), old.as_ref(), new.as_ref());
        RecordCheck::new(self, txn)?.check(key, new)?;
        match self.change_checked(txn, |tree| tree.replace_pair(key, old, new))? {
            PairReplaced::Done => Ok(true),
            PairReplaced::NoOld => Ok(false),
            PairReplaced::NewThere => {
                let text = "the key already has the new value; remove the old one instead";
                Err(Error::InvalidArgument(text.into()))
            }
        }
    }

    /// Replaces all values of a key by these, in any order; an empty slice removes the key. Returns
    /// how many values it had.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_values(&mut txn, "teak", &[1, 2])?;
    /// assert_eq!(lines.set_values(&mut txn, "teak", &[9, 8, 7])?, 2);
    /// assert_eq!(lines.set_values(&mut txn, "teak", &[5])?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`] or [`Error::TableNotFound`];
    /// [`Error::InvalidArgument`] if the value does not have the size of the table's values;
    /// [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn set_values(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        values: &[impl EncodeAs<V>],
    ) -> Result<u64> {
        let (key, values) = (key.encode_as()?, encode_all(values)?);
        let values = values.iter().map(AsRef::as_ref).collect();
        let values = self.sorted(txn, key.as_ref(), values)?;
        self.change_checked(txn, |tree| tree.set_values(key.as_ref(), &values))
    }

    /// Removes a pair; returns whether it was present.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<bool> {
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        self.change(txn, |tree| tree.remove_pair(key.as_ref(), value.as_ref()))
    }

    /// Removes a key with all its values; returns how many there were.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove_key(&self, txn: &mut WriteTxn, key: impl EncodeAs<K>) -> Result<u64> {
        let key = key.encode_as()?;
        self.change(txn, |tree| tree.remove_key(key.as_ref()))
    }
}
