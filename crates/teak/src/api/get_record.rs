//! Lookups that return the stored key, of a record or of the next one.

use super::{
    Table, Transaction,
    codec::{Codec, EncodeAs},
    key_checks::check_probe,
};
#[cfg(doc)]
use crate::Error;
use crate::{
    Result,
    btree::{cursor::record_at, lookup, position::Position, reading::reading},
};

/// Whether the record that was found is the requested one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// It has the requested key.
    Exact,
    /// No record has that key; this is the first one after it.
    Greater,
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// Returns the record of a key, with the stored key.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert(&mut txn, "teak", 1)?;
    /// assert_eq!(counts.get_record(&txn, "teak")?, Some(("teak".to_owned(), 1)));
    /// assert_eq!(counts.get_record(&txn, "oak")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn get_record<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: impl EncodeAs<K>,
    ) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        let found = self.find(txn, key.encode_as()?.as_ref(), |exactness| {
            exactness == Exactness::Exact
        })?;
        Ok(found.map(|(_, key, value)| (key, value)))
    }

    /// Returns the record of a key or, if there is none, the first one with a greater key, and
    /// which of both it is.
    ///
    /// ```
    /// # use teak::{Database, Exactness};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert(&mut txn, "teak", 1)?;
    /// let found = counts.get_or_next(&txn, "oak")?;
    /// assert_eq!(found, Some((Exactness::Greater, "teak".to_owned(), 1)));
    /// assert_eq!(counts.get_or_next(&txn, "yew")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the key is an integer of another length than the keys;
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    #[allow(clippy::type_complexity)]
    pub fn get_or_next<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: impl EncodeAs<K>,
    ) -> Result<Option<(Exactness, K::Owned, V::Item<'t>)>> {
        let key = key.encode_as()?;
        check_probe(&*self.root(txn)?, key.as_ref())?;
        self.find(txn, key.as_ref(), |_| true)
    }

    /// Returns the record of a key, or the next one, if `is_wanted` accepts it.
    #[allow(clippy::type_complexity)]
    fn find<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: &[u8],
        is_wanted: impl FnOnce(Exactness) -> bool,
    ) -> Result<Option<(Exactness, K::Owned, V::Item<'t>)>> {
        let root = self.root(txn)?;
        let source = txn.source();
        let found = reading(source, || {
            let mut position = Position::default();
            let exactness = match position.seek(source, &root, key)? {
                Some(true) => Exactness::Exact,
                Some(false) => Exactness::Greater,
                None => return Ok(None),
            };
            let mut stored_key = Vec::new();
            let record = match is_wanted(exactness) {
                true => record_at(source, &position, &mut stored_key)?,
                false => None,
            };
            let Some((leaf, value)) = record else {
                return Ok(None);
            };
            let value = V::decode(lookup::load(source, leaf, value)?)?;
            let stored_key = K::to_owned(K::decode(&stored_key)?);
            Ok(Some((exactness, stored_key, value)))
        });
        found.map_err(|error| self.located(error, txn, &root, Some(key)))
    }
}
