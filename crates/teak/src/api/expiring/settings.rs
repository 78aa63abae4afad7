//! The settings and counts of expiring tables.

use super::{ExpiringTable, ExpiryOptions, ExpiryStat, expiry::expiry_time};
#[cfg(doc)]
use crate::Error;
use crate::{
    Result,
    api::{Transaction, WriteTxn, codec::Codec, sealed::Sealed, table_options::TableOptions},
    btree::{TreeRoot, count, cursor::TreeCursor, lookup, reading::reading_twice},
    clock::whole_ms,
    page::{
        PageDamage,
        stamp::{BY_TIME, ExpirySettings, NEVER, SETTINGS_KEY, Stamp},
    },
    write::transaction::not_found,
};
use std::{ops::Bound, time::Duration};

impl<K: Codec, V: Codec> ExpiringTable<K, V> {
    /// Returns the number of records that have not expired. It takes one descent.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<u32, u64>("sessions", &ExpiryOptions::new())?;
    /// sessions.insert(&mut txn, 1, 10)?;
    /// sessions.insert_with_expiry(&mut txn, 2, 20, SystemTime::UNIX_EPOCH)?;
    /// assert_eq!(sessions.len(&txn)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn len<T: Transaction>(&self, txn: &T) -> Result<u64> {
        let now_ms = txn.now_ms()?;
        let records = self.records.root(txn)?.records;
        let index = self.index_root(txn)?;
        Ok(records.saturating_sub(self.expired_count(txn, &index, now_ms)?))
    }

    /// Returns whether there are no records that have not expired.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn is_empty<T: Transaction>(&self, txn: &T) -> Result<bool> {
        Ok(self.len(txn)? == 0)
    }

    /// Returns the time to live, the limits, and the options that the table was created with.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = ExpiryOptions::new().ttl(Duration::from_secs(3600));
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &options)?;
    /// assert_eq!(sessions.options(&txn)?.ttl, options.ttl);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn options<T: Transaction>(&self, txn: &T) -> Result<ExpiryOptions> {
        let table = TableOptions::of_root(&*self.records.root(txn)?);
        Ok(ExpiryOptions::of(&self.settings(txn)?, table))
    }

    /// Returns counts: how many records there are, how many have expired and are not removed yet,
    /// and how many were removed. It takes a few descents.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<u32, u64>("sessions", &ExpiryOptions::new())?;
    /// sessions.insert_with_expiry(&mut txn, 1, 10, SystemTime::UNIX_EPOCH)?;
    /// let stat = sessions.stat(&txn)?;
    /// assert_eq!((stat.records, stat.expired, stat.removed_expired), (0, 1, 0));
    /// sessions.remove_expired(&mut txn, 1)?;
    /// let stat = sessions.stat(&txn)?;
    /// assert_eq!((stat.records, stat.expired, stat.removed_expired), (0, 0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn stat<T: Transaction>(&self, txn: &T) -> Result<ExpiryStat> {
        let now_ms = txn.now_ms()?;
        let (records, index) = (*self.records.root(txn)?, self.index_root(txn)?);
        let expired = self.expired_count(txn, &index, now_ms)?;
        let settings = self.settings(txn)?;
        let source = txn.source();
        let next = reading_twice(source, || {
            let mut cursor = TreeCursor::new(source, index);
            let is_there = cursor.seek(BY_TIME)?.is_some();
            let is_there = is_there && cursor.key().starts_with(BY_TIME);
            is_there
                .then(|| Stamp::of_time_key(cursor.key()))
                .transpose()
                .map_err(|damage| damage.at(index.page, "lookup"))
        });
        let next = next.map_err(|error| self.records.located(error, txn, &index, None))?;
        Ok(ExpiryStat {
            records: records.records.saturating_sub(expired),
            expired,
            bytes: index.sequence,
            removed_expired: settings.removed_expired,
            removed_oldest: settings.removed_oldest,
            next_expiry: next.and_then(|stamp| expiry_time(stamp.expires_ms)),
            changed: records.changed,
        })
    }

    /// Sets how long records live that are inserted from now on without an expiry of their own.
    /// Records that are there do not change.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// sessions.set_ttl(&mut txn, Some(Duration::from_secs(60)))?;
    /// sessions.insert(&mut txn, "7f3a", 1)?;
    /// assert!(sessions.stat(&txn)?.next_expiry.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn set_ttl(&self, txn: &mut WriteTxn, ttl: Option<Duration>) -> Result<()> {
        self.set(txn, |settings| {
            settings.ttl_ms = ttl.map_or(NEVER, whole_ms)
        })
    }

    /// Limits the number of records, and removes the oldest ones above the limit. The first limit
    /// of a table that has none takes time in proportion to its records, each of which gets an
    /// entry by age.
    ///
    /// ```
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let cache = txn.create_expiring_table::<u32, u64>("cache", &ExpiryOptions::new())?;
    /// for number in [5, 3, 4] {
    ///     cache.insert(&mut txn, number, 1)?;
    /// }
    /// cache.set_max_records(&mut txn, Some(2))?;
    /// assert!(!cache.contains_key(&txn, 5)?, "it was inserted first");
    /// assert_eq!(cache.len(&txn)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn set_max_records(&self, txn: &mut WriteTxn, records: Option<u64>) -> Result<()> {
        self.set(txn, |settings| {
            settings.max_records = records.unwrap_or(u64::MAX);
        })
    }

    /// Limits the bytes of all keys and values, and removes the oldest records above the limit;
    /// see [`ExpiringTable::set_max_records`] and [`ExpiryOptions::max_bytes`].
    ///
    /// ```
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let cache = txn.create_expiring_table::<&str, &str>("cache", &ExpiryOptions::new())?;
    /// cache.set_max_bytes(&mut txn, Some(20))?;
    /// for key in ["a", "b", "c"] {
    ///     cache.insert(&mut txn, key, "123456789")?;
    /// }
    /// assert_eq!(cache.len(&txn)?, 2);
    /// assert_eq!(cache.stat(&txn)?.bytes, 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn set_max_bytes(&self, txn: &mut WriteTxn, bytes: Option<u64>) -> Result<()> {
        self.set(txn, |settings| {
            settings.max_bytes = bytes.unwrap_or(u64::MAX);
        })
    }

    fn set(&self, txn: &mut WriteTxn, change: impl FnOnce(&mut ExpirySettings)) -> Result<()> {
        let table = self.changeable(txn)?;
        let whole = txn.whole_mut()?;
        let mut settings = whole.expiry_settings(&table)?;
        change(&mut settings);
        whole.set_expiry_settings(&table, &settings)
    }

    /// The root of the index.
    fn index_root<T: Sealed>(&self, txn: &T) -> Result<TreeRoot> {
        let (handle, name) = self.names(txn).index;
        match txn.root_of(handle, &name)? {
            Some(root) if root.kind.class == crate::btree::TableClass::Expiring => Ok(*root),
            Some(root) => {
                Err(PageDamage("the index of a table is of another kind").at(root.page, "lookup"))
            }
            None => Err(not_found(&name)),
        }
    }

    /// The settings as a transaction sees them.
    pub(super) fn settings<T: Transaction>(&self, txn: &T) -> Result<ExpirySettings> {
        let root = self.index_root(txn)?;
        let source = txn.source();
        let read = reading_twice(source, || {
            let damaged = |damage: PageDamage| damage.at(root.page, "lookup");
            let value = lookup::get(source, &root, SETTINGS_KEY)?
                .ok_or_else(|| damaged(PageDamage("an expiring table has no settings")))?;
            let bytes = lookup::load(source, root.page, value)?;
            ExpirySettings::decode(bytes).map_err(damaged)
        });
        read.map_err(|error| self.records.located(error, txn, &root, None))
    }

    /// The number of records that have expired at a moment and are not removed.
    fn expired_count<T: Transaction>(&self, txn: &T, index: &TreeRoot, now_ms: u64) -> Result<u64> {
        let end = Stamp::first_live(now_ms);
        let (low, high) = (Bound::Included(BY_TIME), Bound::Excluded(&end[..]));
        let source = txn.source();
        let counted = reading_twice(source, || count::count(source, index, low, high));
        counted.map_err(|error| self.records.located(error, txn, index, None))
    }
}
