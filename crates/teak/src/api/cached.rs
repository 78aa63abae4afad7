//! Reading the same key again and again.

use super::{ReadTxn, Table, codec::Codec, sealed::Sealed};
use crate::{
    Result,
    btree::{cached, lookup, reading::reading_twice},
};

/// Where [`Table::get_cached`] found a key, or that it is not there. It may be kept for as long as one likes, and used with any key,
/// table and database; it is of use where that is the same again.
#[derive(Clone, Debug, Default)]
pub struct CachedLookup(cached::CachedPosition);

/// Whether [`Table::get_cached`] found what it was given still true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheOutcome {
    /// The table is as it was when the place was noted: so is the value.
    Hit,
    /// The place is of another key or of another state of the table. It was looked up, and noted anew.
    Miss,
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// The value of a key that is asked for often: `place` says where it was the last time, and as long as no commit has
    /// changed the table since, it is read from there without a search. What was made of the value earlier is still true then, too.
    ///
    /// ```
    /// # use teak::{CachedPlace, Database, Freshness, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let settings = txn.create_table::<Str, U32>("settings")?;
    /// settings.insert(&mut txn, "width", 80)?;
    /// txn.commit()?;
    /// let mut place = CachedPlace::default();
    /// let txn = database.begin_read()?;
    /// assert_eq!(settings.get_cached(&txn, "width", &mut place)?, (Some(80), Freshness::Renewed));
    /// let txn = database.begin_read()?;
    /// assert_eq!(settings.get_cached(&txn, "width", &mut place)?, (Some(80), Freshness::Kept));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::get`].
    pub fn get_cached<'t>(
        &self,
        txn: &'t ReadTxn,
        key: K::Item<'_>,
        place: &mut CachedLookup,
    ) -> Result<(Option<V::Item<'t>>, CacheOutcome)> {
        let root = self.root(txn)?;
        let key = K::encode(&key);
        let key = key.as_ref();
        let outcome = match place.0.is_of(&root, key) {
            true => CacheOutcome::Hit,
            false => CacheOutcome::Miss,
        };
        let source = txn.source();
        let mut has_failed_once = false;
        let value = reading_twice(source, || {
            if std::mem::replace(&mut has_failed_once, true) {
                place.0.forget();
            }
            match place.0.get(source, &root, key)? {
                Some((leaf, value)) => V::decode(lookup::load(source, leaf, value)?).map(Some),
                None => Ok(None),
            }
        });
        match value {
            Ok(value) => Ok((value, outcome)),
            Err(error) => {
                place.0.forget();
                Err(self.located(error, txn, &root, Some(key)))
            }
        }
    }
}
