//! Entries: a key of a table, found once, to be read and changed.

use super::{
    Table, WriteTxn,
    codec::{Codec, EncodeAs},
    key_checks::check_key,
    sealed::Sealed,
};
use crate::{
    Error, Result,
    btree::{PageSource, modify::FoundKey, reading::reading_twice},
};
use std::fmt;

/// The place of a key in a table: its record, or the lack of one. [`Table::entry`] searches for the
/// key, and the methods read and change its record without another search.
///
/// ```
/// # use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let counts = txn.create_table::<&str, u32>("counts")?;
/// for word in ["teak", "oak", "teak"] {
///     counts.entry(&mut txn, word)?.and_modify(|count| count + 1)?.or_insert(1)?;
/// }
/// assert_eq!(counts.get(&txn, "teak")?, Some(2));
///
/// // Counts down, and removes what has come to nothing.
/// let entry = counts.entry(&mut txn, "oak")?;
/// match entry.get()? {
///     Some(count) if count > 1 => entry.insert(count - 1)?,
///     _ => entry.remove()?,
/// };
/// assert!(!counts.contains_key(&txn, "oak")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Entry<'e, K, V> {
    table: &'e Table<K, V>,
    txn: &'e mut WriteTxn,
    key: Vec<u8>,
    found: FoundKey,
}

impl<K, V> fmt::Debug for Entry<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("table", self.table)
            .field("is_there", &self.found.is_there())
            .finish_non_exhaustive()
    }
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// Finds the place of a key, to read and change its record.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::TableNotFound`] or [`Error::Corrupted`];
    /// [`Error::InvalidArgument`] if the key is an integer of another length than the table's.
    pub fn entry<'e>(
        &'e self,
        txn: &'e mut WriteTxn,
        key: impl EncodeAs<K>,
    ) -> Result<Entry<'e, K, V>> {
        let key = key.encode_as()?.as_ref().to_vec();
        let (source, root) = (txn.source(), self.root(txn)?);
        check_key(&root, source.page_size(), &key)?;
        let found = reading_twice(source, || FoundKey::search(source, &root, &key));
        let found = found.map_err(|error| self.located(error, txn, &root, Some(&key)))?;
        drop(root);
        Ok(Entry {
            table: self,
            txn,
            key,
            found,
        })
    }
}

impl<'e, K: Codec, V: Codec> Entry<'e, K, V> {
    /// The stored bytes of the value.
    pub(super) fn stored(&self) -> Result<Option<&[u8]>> {
        let source = self.txn.source();
        let value = reading_twice(source, || self.found.value(source));
        value.map_err(|error| self.located(error))
    }

    pub(super) fn is_there(&self) -> bool {
        self.found.is_there()
    }

    /// Stores the bytes of a value.
    pub(super) fn store(&mut self, value: &[u8]) -> Result<()> {
        let (table, key, found) = (self.table, &self.key, &mut self.found);
        table.change_checked(self.txn, |tree| tree.put_found(found, key, value))
    }

    pub(super) fn delete(self) -> Result<()> {
        let (table, found) = (self.table, self.found);
        table.change_checked(self.txn, |tree| tree.remove_found(found))
    }

    #[cold]
    fn located(&self, error: Error) -> Error {
        match self.table.root(self.txn) {
            Ok(root) => (self.table).located(error, self.txn, &root, Some(&self.key)),
            Err(other) => other,
        }
    }

    /// Returns the value; `None` if the table does not have the key.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the stored value cannot be decoded as `V`; [`Error::Corrupted`].
    pub fn get(&self) -> Result<Option<V::Item<'_>>> {
        self.stored()?.map(V::decode).transpose()
    }

    /// Inserts the record, or replaces its value; returns the old value.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// assert_eq!(counts.entry(&mut txn, "teak")?.insert(1)?, None);
    /// assert_eq!(counts.entry(&mut txn, "teak")?.insert(2)?, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the stored value cannot be decoded as `V`; nothing changes then.
    /// [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn insert(mut self, value: impl EncodeAs<V>) -> Result<Option<V::Owned>> {
        let old = self.get()?.map(V::to_owned);
        self.store(value.encode_as()?.as_ref())?;
        Ok(old)
    }

    /// Removes the record; returns its value.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert(&mut txn, "teak", 1)?;
    /// assert_eq!(counts.entry(&mut txn, "teak")?.remove()?, Some(1));
    /// assert_eq!(counts.entry(&mut txn, "teak")?.remove()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the stored value cannot be decoded as `V`; nothing changes then.
    /// [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn remove(self) -> Result<Option<V::Owned>> {
        let old = self.get()?.map(V::to_owned);
        self.delete()?;
        Ok(old)
    }

    /// Returns the value of the record, which is inserted with this value if there is none.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// assert_eq!(counts.entry(&mut txn, "teak")?.or_insert(1)?, 1);
    /// assert_eq!(counts.entry(&mut txn, "teak")?.or_insert(2)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the stored value cannot be decoded as `V`; [`Error::Io`] or
    /// [`Error::Full`] if there is no space.
    pub fn or_insert(self, value: impl EncodeAs<V>) -> Result<V::Item<'e>> {
        self.or_insert_with(|| value)
    }

    /// Returns the value of the record, which is inserted with the value that `make` returns if
    /// there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the stored value cannot be decoded as `V`; [`Error::Io`] or
    /// [`Error::Full`] if there is no space.
    pub fn or_insert_with<T: EncodeAs<V>>(
        mut self,
        make: impl FnOnce() -> T,
    ) -> Result<V::Item<'e>> {
        if !self.found.is_there() {
            self.store(make().encode_as()?.as_ref())?;
        }
        let (source, root) = (self.txn.source(), self.table.root(self.txn)?);
        let read = reading_twice(source, || self.found.value(source));
        match read {
            Ok(Some(value)) => V::decode(value),
            Ok(None) => Err(Error::corrupted(root.page, "lookup", "a record is missing")),
            Err(error) => Err(self.table.located(error, self.txn, &root, Some(&self.key))),
        }
    }

    /// Replaces the value by the one that `change` makes of it, if the table has the key.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let names = txn.create_table::<u32, &str>("names")?;
    /// names.insert(&mut txn, 1, "Ada")?;
    /// let entry = names.entry(&mut txn, 1)?.and_modify(|name| format!("{name} Lovelace"))?;
    /// assert_eq!(entry.get()?, Some("Ada Lovelace"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the stored value cannot be decoded as `V`; [`Error::Io`] or
    /// [`Error::Full`] if there is no space.
    pub fn and_modify<T: EncodeAs<V>>(
        mut self,
        change: impl FnOnce(V::Item<'_>) -> T,
    ) -> Result<Self> {
        let new = self.get()?.map(change);
        if let Some(new) = new {
            self.store(new.encode_as()?.as_ref())?;
        }
        Ok(self)
    }
}
