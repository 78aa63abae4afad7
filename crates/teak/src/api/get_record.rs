//! Lookups that return the stored key, of a record or of the next one.

use super::{Table, Transaction, codec::Codec, key_checks::check_probe};
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
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<Str, U32>("counts")?;
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
        key: K::Item<'_>,
    ) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        let found = self.find(txn, &key, |exactness| exactness == Exactness::Exact)?;
        Ok(found.map(|(_, key, value)| (key, value)))
    }

    /// Returns the record of a key or, if there is none, the first one with a greater key, and
    /// which of both it is.
    ///
    /// ```
    /// # use teak::{Database, Exactness, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<Str, U32>("counts")?;
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
        key: K::Item<'_>,
    ) -> Result<Option<(Exactness, K::Owned, V::Item<'t>)>> {
        check_probe(&*self.root(txn)?, K::encode(&key).as_ref())?;
        self.find(txn, &key, |_| true)
    }

    /// Returns the record of a key, or the next one, if `is_wanted` accepts it.
    #[allow(clippy::type_complexity)]
    fn find<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: &K::Item<'_>,
        is_wanted: impl FnOnce(Exactness) -> bool,
    ) -> Result<Option<(Exactness, K::Owned, V::Item<'t>)>> {
        let root = self.root(txn)?;
        let key = K::encode(key);
        let source = txn.source();
        let found = reading(source, || {
            let mut position = Position::default();
            let exactness = match position.seek(source, &root, key.as_ref())? {
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
        found.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }
}
