//! Cached lookups of a single key.

use super::{
    ReadTxn, Table,
    codec::{Codec, EncodeAs},
    debug_text::ShortBytes,
    sealed::Sealed,
};
use crate::{
    Result,
    btree::{cached, lookup, reading::reading_twice},
};
use std::fmt;

/// Where [`Table::get_cached`] found a key, or that the key is absent. It may be kept for any
/// length of time and used with any key, table and database. It is useful if these are the same
/// again.
#[derive(Clone, Default)]
pub struct CachedLookup(cached::CachedPosition);

impl fmt::Debug for CachedLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedLookup")
            .field("key", &ShortBytes(self.0.key()))
            .finish_non_exhaustive()
    }
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// Returns the value of a key that is read often. `cached_lookup` caches where the key was
    /// found. As long as no commit has changed the table since, the value is read from there
    /// without a search. The second result is whether that was so: then anything computed from the
    /// earlier value is still valid.
    ///
    /// ```
    /// # use teak::{CachedLookup, Database};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let settings = txn.create_table::<&str, u32>("settings")?;
    /// settings.insert(&mut txn, "width", 80)?;
    /// txn.commit()?;
    /// let mut cached = CachedLookup::default();
    /// let txn = database.begin_read()?;
    /// assert_eq!(settings.get_cached(&txn, "width", &mut cached)?, (Some(80), false));
    /// let txn = database.begin_read()?;
    /// assert_eq!(settings.get_cached(&txn, "width", &mut cached)?, (Some(80), true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound),
    /// [`Error::Corrupted`](crate::Error::Corrupted) or [`Error::Decode`](crate::Error::Decode).
    pub fn get_cached<'t>(
        &self,
        txn: &'t ReadTxn,
        key: impl EncodeAs<K>,
        cached_lookup: &mut CachedLookup,
    ) -> Result<(Option<V::Item<'t>>, bool)> {
        let root = self.root(txn)?;
        let key = key.encode_as()?;
        let key = key.as_ref();
        let is_unchanged = cached_lookup.0.is_of(&root, key);
        let source = txn.source();
        let mut has_failed_once = false;
        let value = reading_twice(source, || {
            if std::mem::replace(&mut has_failed_once, true) {
                cached_lookup.0.forget();
            }
            match cached_lookup.0.get(source, &root, key)? {
                Some((leaf, value)) => V::decode(lookup::load(source, leaf, value)?).map(Some),
                None => Ok(None),
            }
        });
        match value {
            Ok(value) => Ok((value, is_unchanged)),
            Err(error) => {
                cached_lookup.0.forget();
                Err(self.located(error, txn, &root, Some(key)))
            }
        }
    }
}
