//! Operations on a single record beyond reading, inserting and removing it. Most depend on the
//! stored value, and still take one descent.

use super::{
    Table, WriteTxn,
    codec::{Codec, EncodeAs},
    key_checks::check_key,
    sealed::Sealed,
};
use crate::{
    Error, Result,
    btree::{PageSource, insert::Existing},
    page::{key::KeyOrder, value::StoredValue},
};
use std::marker::PhantomData;

/// The decision about a value that [`MultiTable::modify`](crate::MultiTable::modify) has shown.
#[derive(Debug)]
#[must_use]
pub struct Action<V> {
    verdict: Result<Verdict>,
    types: PhantomData<fn() -> V>,
}

/// The decision about the bytes of a value.
#[derive(Debug)]
pub(super) enum Verdict {
    Keep,
    Put(Vec<u8>),
    Remove,
}

impl<V: Codec> Action<V> {
    fn new(verdict: Result<Verdict>) -> Self {
        let types = PhantomData;
        Self { verdict, types }
    }

    pub(super) fn into_verdict(self) -> Result<Verdict> {
        self.verdict
    }

    /// Leaves the value unchanged, or absent.
    pub fn leave() -> Self {
        Self::new(Ok(Verdict::Keep))
    }

    /// Stores this value in place of the one that was shown, or inserts it. If the value cannot be
    /// encoded, [`MultiTable::modify`](crate::MultiTable::modify) returns the error.
    pub fn put(value: impl EncodeAs<V>) -> Self {
        let encoded = value.encode_as();
        Self::new(encoded.map(|value| Verdict::Put(value.as_ref().to_vec())))
    }

    /// Removes the value, if there is one.
    pub fn remove() -> Self {
        Self::new(Ok(Verdict::Remove))
    }
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// Replaces the value of a key if a record has this key; returns whether one does.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert(&mut txn, "teak", 1)?;
    /// assert!(counts.update(&mut txn, "teak", 2)?);
    /// assert!(!counts.update(&mut txn, "oak", 2)?);
    /// assert_eq!(counts.get(&txn, "oak")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn update(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<bool> {
        let value = value.encode_as()?;
        let mut entry = self.entry(txn, key)?;
        let is_there = entry.is_there();
        if is_there {
            entry.store(value.as_ref())?;
        }
        Ok(is_there)
    }

    /// Replaces `old` by `new` if the stored value equals `old`; values are compared as bytes.
    /// `None` stands for no record: as `old`, the record is inserted only if it is absent; as
    /// `new`, the record is removed. The inner result is the stored value, if that is another one;
    /// nothing changes then.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// assert_eq!(counts.compare_and_swap(&mut txn, "teak", None, Some(1))?, Ok(()));
    /// assert_eq!(counts.compare_and_swap(&mut txn, "teak", Some(1), Some(2))?, Ok(()));
    /// assert_eq!(counts.compare_and_swap(&mut txn, "teak", Some(1), None)?, Err(Some(2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the stored value cannot be decoded as `V`; [`Error::KeyTooLong`] or
    /// [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn compare_and_swap<X: EncodeAs<V>>(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        old: Option<X>,
        new: Option<X>,
    ) -> Result<Result<(), Option<V::Owned>>> {
        let expected = old.as_ref().map(X::encode_as).transpose()?;
        let new = new.as_ref().map(X::encode_as).transpose()?;
        let mut entry = self.entry(txn, key)?;
        let stored = entry.stored()?;
        if stored != expected.as_ref().map(AsRef::as_ref) {
            let stored = stored.map(V::decode).transpose()?;
            return Ok(Err(stored.map(V::to_owned)));
        }
        match new {
            Some(new) => entry.store(new.as_ref())?,
            None => entry.delete()?,
        }
        Ok(Ok(()))
    }

    /// Inserts a record with a value of `len` bytes, or replaces the value of the key. `fill`
    /// writes the value into a zeroed buffer, which lies in the page if the value is small enough.
    /// If `fill` panics, the transaction can only be rolled back.
    ///
    /// ```
    /// # use teak::{Database, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let blobs = txn.create_table::<&str, Bytes>("blobs")?;
    /// blobs.insert_with(&mut txn, "teak", 6, |value| value[..3].fill(7))?;
    /// assert_eq!(blobs.get(&txn, "teak")?, Some(&[7, 7, 7, 0, 0, 0][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no memory for `len` bytes; [`Error::KeyTooLong`] or
    /// [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn insert_with(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let key = key.encode_as()?;
        let key = key.as_ref();
        let page_size = txn.source().page_size();
        let format = {
            let root = self.root(txn)?;
            check_key(&root, page_size, key)?;
            root.leaf_format()
        };
        // A key that a comparison calls equal may be longer, and the stored one stays.
        let is_own_key = !matches!(format.order, KeyOrder::Custom(_));
        if is_own_key && len < page_size && format.stays_inline(page_size, key.len(), len) {
            return self.change_checked(txn, |tree| tree.insert_with(key, len, fill));
        }
        // The checksum of a large value must be known before its record is written.
        let mut value = Vec::new();
        value.try_reserve_exact(len).map_err(|_| {
            Error::InvalidArgument(format!("there is no memory for a value of {len} bytes"))
        })?;
        value.resize(len, 0);
        fill(&mut value);
        self.change_checked(txn, |tree| {
            tree.insert(key, StoredValue::inline(&value), Existing::Replace)
        })?;
        Ok(())
    }
}
