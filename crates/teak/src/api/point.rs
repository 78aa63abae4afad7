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
    btree::{PageSource, insert::Existing, modify::ModifyAction},
    page::{key::KeyOrder, value::StoredValue},
};
use std::marker::PhantomData;

/// The outcome of [`Table::compare_and_swap`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Swap<T> {
    /// The stored value was the expected one. The new value is stored now, or no record if `new`
    /// was `None`.
    Done,
    /// The stored value was another one, or there was no record. Nothing changed.
    Other(Option<T>),
}

/// The decision about a record that [`Table::modify`] has shown.
#[derive(Debug)]
#[must_use]
pub struct Action<V> {
    verdict: Result<ModifyAction<'static>>,
    types: PhantomData<fn() -> V>,
}

impl<V: Codec> Action<V> {
    fn new(verdict: Result<ModifyAction<'static>>) -> Self {
        let types = PhantomData;
        Self { verdict, types }
    }

    pub(super) fn into_verdict(self) -> Result<ModifyAction<'static>> {
        self.verdict
    }

    /// Leaves the record unchanged, or absent.
    pub fn keep() -> Self {
        Self::new(Ok(ModifyAction::Leave))
    }

    /// Stores this value, and inserts the record if no record has its key. If the value cannot be
    /// encoded, [`Table::modify`] returns the error.
    pub fn put(value: impl EncodeAs<V>) -> Self {
        let encoded = value.encode_as();
        Self::new(encoded.map(|value| ModifyAction::Put(value.as_ref().to_vec().into())))
    }

    /// Removes the record, if there is one.
    pub fn remove() -> Self {
        Self::new(Ok(ModifyAction::Remove))
    }
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// Passes the value of a key to `decide` and executes its decision. If `decide` fails, nothing
    /// changes.
    fn decide<'v, R>(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        decide: impl FnOnce(Option<&[u8]>) -> Result<(ModifyAction<'v>, R)>,
    ) -> Result<R> {
        let key = key.encode_as()?;
        let key = key.as_ref();
        check_key(&*self.root(txn)?, txn.source().page_size(), key)?;
        // An error of `change` itself would break the transaction; an error of `decide` does not.
        self.change_checked(txn, |tree| {
            tree.modify(key, |old| match decide(old) {
                Ok((verdict, decided)) => (verdict, Ok(decided)),
                Err(error) => (ModifyAction::Leave, Err(error)),
            })
        })?
    }

    /// Inserts a record if no record has this key; otherwise returns the stored value.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// assert_eq!(counts.get_or_insert(&mut txn, "teak", 1)?, None);
    /// assert_eq!(counts.get_or_insert(&mut txn, "teak", 2)?, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the stored value cannot be decoded as `V`; [`Error::KeyTooLong`] or
    /// [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn get_or_insert(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<Option<V::Owned>> {
        let value = value.encode_as()?;
        self.decide(txn, key, |old| {
            let verdict = match old {
                Some(_) => ModifyAction::Leave,
                None => ModifyAction::Put(value.as_ref().into()),
            };
            Ok((verdict, owned::<V>(old)?))
        })
    }

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
        self.decide(txn, key, |old| {
            Ok(match old {
                Some(_) => (ModifyAction::Put(value.as_ref().into()), true),
                None => (ModifyAction::Leave, false),
            })
        })
    }

    /// Inserts a record, or replaces the value of the key; returns the old value.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// assert_eq!(counts.replace(&mut txn, "teak", 1)?, None);
    /// assert_eq!(counts.replace(&mut txn, "teak", 2)?, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The old value is decoded before anything changes. [`Error::Decode`] if the stored value
    /// cannot be decoded as `V`; [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`]
    /// or [`Error::Full`] if there is no space.
    pub fn replace(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<Option<V::Owned>> {
        let value = value.encode_as()?;
        self.decide(txn, key, |old| {
            Ok((ModifyAction::Put(value.as_ref().into()), owned::<V>(old)?))
        })
    }

    /// Removes a record; returns its value.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert(&mut txn, "teak", 1)?;
    /// assert_eq!(counts.take(&mut txn, "teak")?, Some(1));
    /// assert_eq!(counts.take(&mut txn, "teak")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The old value is decoded before anything changes. [`Error::Decode`] if the stored value
    /// cannot be decoded as `V`; [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`]
    /// or [`Error::Full`] if there is no space.
    pub fn take(&self, txn: &mut WriteTxn, key: impl EncodeAs<K>) -> Result<Option<V::Owned>> {
        self.decide(txn, key, |old| Ok((ModifyAction::Remove, owned::<V>(old)?)))
    }

    /// Removes a record if it has this value; returns whether it did.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert(&mut txn, "teak", 1)?;
    /// assert!(!counts.remove_if(&mut txn, "teak", 2)?);
    /// assert!(counts.remove_if(&mut txn, "teak", 1)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn remove_if(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<bool> {
        let value = value.encode_as()?;
        self.decide(txn, key, |old| {
            Ok(match old == Some(value.as_ref()) {
                true => (ModifyAction::Remove, true),
                false => (ModifyAction::Leave, false),
            })
        })
    }

    /// Replaces `old` by `new` if the stored value equals `old`; values are compared as bytes.
    /// `None` stands for no record: as `old`, the record is inserted only if it is absent; as
    /// `new`, the record is removed.
    ///
    /// ```
    /// # use teak::{Database, Swap};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// assert_eq!(counts.compare_and_swap(&mut txn, "teak", None, Some(1))?, Swap::Done);
    /// assert_eq!(counts.compare_and_swap(&mut txn, "teak", Some(1), Some(2))?, Swap::Done);
    /// assert_eq!(counts.compare_and_swap(&mut txn, "teak", Some(1), None)?, Swap::Other(Some(2)));
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
    ) -> Result<Swap<V::Owned>> {
        let expected = old.as_ref().map(X::encode_as).transpose()?;
        let new = new.as_ref().map(X::encode_as).transpose()?;
        self.decide(txn, key, |old| {
            if old != expected.as_ref().map(AsRef::as_ref) {
                return Ok((ModifyAction::Leave, Swap::Other(owned::<V>(old)?)));
            }
            let verdict = match &new {
                Some(new) => ModifyAction::Put(new.as_ref().into()),
                None => ModifyAction::Remove,
            };
            Ok((verdict, Swap::Done))
        })
    }

    /// Passes the value of a key, if there is one, to `change` and executes its decision. Returns
    /// the result that `change` returns with it. If `change` fails, nothing changes, and the
    /// transaction can continue. If it panics, the transaction can only be rolled back.
    ///
    /// ```
    /// # use teak::{Action, Database};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// for word in ["teak", "oak", "teak"] {
    ///     counts.modify(&mut txn, word, |count| Ok((Action::put(count.unwrap_or(0) + 1), ())))?;
    /// }
    /// assert_eq!(counts.get(&txn, "teak")?, Some(2));
    /// // Counts down, and removes what has come to nothing.
    /// let left = counts.modify(&mut txn, "oak", |count| {
    ///     Ok(match count {
    ///         Some(2..) => (Action::put(count.unwrap_or(0) - 1), true),
    ///         _ => (Action::remove(), false),
    ///     })
    /// })?;
    /// assert!(!left && !counts.contains_key(&txn, "oak")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error of `change`; [`Error::Decode`] if the stored value cannot be decoded as `V`;
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn modify<R>(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        change: impl FnOnce(Option<V::Item<'_>>) -> Result<(Action<V>, R)>,
    ) -> Result<R> {
        self.decide(txn, key, |old| {
            let (action, result) = change(old.map(V::decode).transpose()?)?;
            Ok((action.verdict?, result))
        })
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

/// Decodes a stored value, independent of its page.
fn owned<V: Codec>(value: Option<&[u8]>) -> Result<Option<V::Owned>> {
    let item = value.map(V::decode).transpose()?;
    Ok(item.map(V::to_owned))
}
