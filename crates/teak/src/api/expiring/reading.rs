//! Reading expiring tables.

use super::{ExpiringIter, ExpiringTable, expiry::expiry_time};
#[cfg(doc)]
use crate::Error;
use crate::{
    Result,
    api::{
        Bounds, Transaction,
        codec::{Codec, EncodeAs},
    },
    btree::{lookup, reading::reading_twice},
    clock::time_of,
    page::stamp::Stamp,
};
use std::time::SystemTime;

/// A record that is there and has not expired.
type Live<'t, V> = (Stamp, <V as Codec>::Item<'t>);

impl<K: Codec, V: Codec> ExpiringTable<K, V> {
    /// Returns the value of a key, borrowed from the transaction; `None` if there is no such
    /// record, or if it has expired.
    ///
    /// ```
    /// # use std::time::{Duration, SystemTime};
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// sessions.insert_with_expiry(&mut txn, "7f3a", 1, Duration::from_secs(60))?;
    /// sessions.insert_with_expiry(&mut txn, "c041", 2, SystemTime::UNIX_EPOCH)?;
    /// assert_eq!(sessions.get(&txn, "7f3a")?, Some(1));
    /// assert_eq!(sessions.get(&txn, "c041")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn get<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: impl EncodeAs<K>,
    ) -> Result<Option<V::Item<'t>>> {
        let found = self.live(txn, key.encode_as()?.as_ref())?;
        Ok(found.map(|(_, value)| value))
    }

    /// Returns the values of many keys, in their order.
    ///
    /// ```
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// sessions.insert(&mut txn, "7f3a", 1)?;
    /// assert_eq!(sessions.get_many(&txn, &["7f3a", "c041"])?, [Some(1), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn get_many<'t, T: Transaction>(
        &self,
        txn: &'t T,
        keys: &[impl EncodeAs<K>],
    ) -> Result<Vec<Option<V::Item<'t>>>> {
        keys.iter().map(|key| self.get(txn, key)).collect()
    }

    /// Returns the value of a key and when the record expires; `None` as the time if it never
    /// does.
    ///
    /// ```
    /// # use std::time::{Duration, SystemTime};
    /// # use teak::{Database, Expiry, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40);
    /// sessions.insert_with_expiry(&mut txn, "7f3a", 1, at)?;
    /// sessions.insert_with_expiry(&mut txn, "root", 2, Expiry::Never)?;
    /// assert_eq!(sessions.get_with_expiry(&txn, "7f3a")?, Some((1, Some(at))));
    /// assert_eq!(sessions.get_with_expiry(&txn, "root")?, Some((2, None)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn get_with_expiry<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: impl EncodeAs<K>,
    ) -> Result<Option<(V::Item<'t>, Option<SystemTime>)>> {
        let found = self.live(txn, key.encode_as()?.as_ref())?;
        Ok(found.map(|(stamp, value)| (value, expiry_time(stamp.expires_ms))))
    }

    /// Returns whether the table has a record with this key that has not expired.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn contains_key<T: Transaction>(&self, txn: &T, key: impl EncodeAs<K>) -> Result<bool> {
        Ok(self.live(txn, key.encode_as()?.as_ref())?.is_some())
    }

    /// The record of a key, if it has not expired.
    pub(super) fn live<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: &[u8],
    ) -> Result<Option<Live<'t, V>>> {
        // First, because it may make a small transaction a whole one.
        let now_ms = txn.now_ms()?;
        let root = self.records.root(txn)?;
        let source = txn.source();
        let found = reading_twice(source, || {
            let Some(value) = lookup::get(source, &root, key)? else {
                return Ok(None);
            };
            let stored = lookup::load(source, root.page, value)?;
            let split = Stamp::split(stored).map_err(|damage| damage.at(root.page, "lookup"));
            let (stamp, value) = split?;
            match stamp.is_expired(now_ms) {
                true => Ok(None),
                false => V::decode(value).map(|value| Some((stamp, value))),
            }
        });
        found.map_err(|error| self.records.located(error, txn, &root, Some(key)))
    }

    /// Returns an iterator over all records that have not expired, from both ends.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<u32, u64>("sessions", &ExpiryOptions::new())?;
    /// for (key, value) in [(1, 10), (2, 20), (3, 30)] {
    ///     sessions.insert(&mut txn, key, value)?;
    /// }
    /// sessions.set_expiry(&mut txn, 2, SystemTime::UNIX_EPOCH)?;
    /// let records = sessions.iter(&txn)?.rev().collect::<teak::Result<Vec<_>>>()?;
    /// assert_eq!(records, [(3, 30), (1, 10)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn iter<'t, T: Transaction>(&self, txn: &'t T) -> Result<ExpiringIter<'t, K, V>> {
        let now_ms = txn.now_ms()?;
        Ok(ExpiringIter::new(self.records.iter(txn)?, now_ms))
    }

    /// Returns an iterator over the records of a range of keys that have not expired, from both
    /// ends. [`Bounds`] has examples of ranges.
    ///
    /// ```
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<u32, u64>("sessions", &ExpiryOptions::new())?;
    /// for (key, value) in [(1, 10), (2, 20), (3, 30)] {
    ///     sessions.insert(&mut txn, key, value)?;
    /// }
    /// assert_eq!(sessions.range(&txn, 2..)?.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys.
    pub fn range<'t, T: Transaction, B: Bounds>(
        &self,
        txn: &'t T,
        bounds: B,
    ) -> Result<ExpiringIter<'t, K, V>>
    where
        B::Of: EncodeAs<K>,
    {
        let now_ms = txn.now_ms()?;
        let records = self.records.range(bounds).iter(txn)?;
        Ok(ExpiringIter::new(records, now_ms))
    }

    /// Returns an iterator over the records whose keys, as bytes, begin with `prefix`, and that
    /// have not expired. Only for tables in byte order.
    ///
    /// ```
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// sessions.insert(&mut txn, "ada/1", 1)?;
    /// sessions.insert(&mut txn, "grace/1", 2)?;
    /// assert_eq!(sessions.prefix(&txn, b"ada/")?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] for a table in
    /// another order.
    pub fn prefix<'t, T: Transaction>(
        &self,
        txn: &'t T,
        prefix: &[u8],
    ) -> Result<ExpiringIter<'t, K, V>> {
        let now_ms = txn.now_ms()?;
        let records = self.records.prefix(prefix).iter(txn)?;
        Ok(ExpiringIter::new(records, now_ms))
    }

    /// Returns the first record that has not expired.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn first<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        self.iter(txn)?.next().transpose()
    }

    /// Returns the last record that has not expired.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn last<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        self.iter(txn)?.next_back().transpose()
    }

    /// Returns the moment at which this transaction looks for expired records. It is taken when
    /// the transaction first uses an expiring table, and stays.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// let now = sessions.now(&txn)?;
    /// assert!(now <= SystemTime::now());
    /// assert_eq!(sessions.now(&txn)?, now);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Poisoned`] if a write transaction cannot continue.
    pub fn now<T: Transaction>(&self, txn: &T) -> Result<SystemTime> {
        txn.now_ms().map(time_of)
    }
}
