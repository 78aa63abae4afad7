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
use std::cmp::Ordering;

impl<K: Codec, V: Codec> Table<K, V> {
    /// Returns the record of a key or, if there is none, the first one with a greater key, and how
    /// its key compares with the requested one.
    ///
    /// ```
    /// # use std::cmp::Ordering;
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert(&mut txn, "teak", 1)?;
    /// let found = counts.get_or_next(&txn, "oak")?;
    /// assert_eq!(found, Some((Ordering::Greater, "teak".into(), 1)));
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
    ) -> Result<Option<(Ordering, K::Owned, V::Item<'t>)>> {
        let key = key.encode_as()?;
        let key = key.as_ref();
        let root = self.root(txn)?;
        check_probe(&root, key)?;
        let source = txn.source();
        let found = reading(source, || {
            let mut position = Position::default();
            let exactness = match position.seek(source, &root, key)? {
                Some(true) => Ordering::Equal,
                Some(false) => Ordering::Greater,
                None => return Ok(None),
            };
            let mut stored_key = Vec::new();
            let Some((leaf, value)) = record_at(source, &position, &mut stored_key)? else {
                return Ok(None);
            };
            let value = V::decode(lookup::load(source, leaf, value)?)?;
            let stored_key = K::to_owned(K::decode(&stored_key)?);
            Ok(Some((exactness, stored_key, value)))
        });
        found.map_err(|error| self.located(error, txn, &root, Some(key)))
    }
}
