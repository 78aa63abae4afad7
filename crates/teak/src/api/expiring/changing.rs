//! Changing expiring tables.

use super::{ExpiringTable, Expiry};
#[cfg(doc)]
use crate::Error;
use crate::{
    Result,
    api::{
        WriteTxn,
        codec::{Codec, EncodeAs},
        key_checks::check_key,
        sealed::Sealed as _,
    },
    btree::PageSource as _,
    write::expiring::{ExpiringNames, Put, PutCondition, PutExpiry},
};

impl<K: Codec, V: Codec> ExpiringTable<K, V> {
    /// Inserts a record, or replaces it. It expires after the time to live of the table, if that
    /// has one; otherwise never.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space; [`Error::Corrupted`] if the index is damaged.
    pub fn insert(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<()> {
        self.insert_with_expiry(txn, key, value, Expiry::Default)
    }

    /// Inserts a record, or replaces it, and says when it expires: a [`Duration`] from now, a
    /// [`SystemTime`], or an [`Expiry`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use teak::{Database, Expiry, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = ExpiryOptions::new().ttl(Duration::from_secs(3600));
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &options)?;
    /// sessions.insert_with_expiry(&mut txn, "7f3a", 1, Duration::from_secs(60))?;
    /// sessions.insert_with_expiry(&mut txn, "root", 2, Expiry::Never)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Duration`]: std::time::Duration
    /// [`SystemTime`]: std::time::SystemTime
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space; [`Error::Corrupted`] if the index is damaged.
    pub fn insert_with_expiry(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
        expiry: impl Into<Expiry>,
    ) -> Result<()> {
        let expiry = expiry.into();
        self.put(txn, (key, value), PutCondition::Always, |now_ms| {
            expiry.for_put(now_ms)
        })
        .map(drop)
    }

    /// Inserts a record unless the table has one with this key that has not expired. Returns
    /// whether it was inserted.
    ///
    /// ```
    /// # use std::time::{Duration, SystemTime};
    /// # use teak::{Database, Expiry, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let locks = txn.create_expiring_table::<&str, u64>("locks", &ExpiryOptions::new())?;
    /// assert!(locks.insert_new(&mut txn, "job", 1, Duration::from_secs(60))?);
    /// assert!(!locks.insert_new(&mut txn, "job", 2, Expiry::Never)?);
    /// locks.set_expiry(&mut txn, "job", SystemTime::UNIX_EPOCH)?;
    /// assert!(locks.insert_new(&mut txn, "job", 3, Expiry::Never)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space; [`Error::Corrupted`] if the index is damaged.
    pub fn insert_new(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
        expiry: impl Into<Expiry>,
    ) -> Result<bool> {
        let expiry = expiry.into();
        let was_there = self.put(txn, (key, value), PutCondition::IfAbsent, |now_ms| {
            expiry.for_put(now_ms)
        });
        was_there.map(|was_there| !was_there)
    }

    /// Replaces the value of a record that has not expired, and keeps when it expires. Returns
    /// whether there is one.
    ///
    /// ```
    /// # use std::time::{Duration, SystemTime};
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40);
    /// sessions.insert_with_expiry(&mut txn, "7f3a", 1, at)?;
    /// assert!(sessions.update(&mut txn, "7f3a", 2)?);
    /// assert!(!sessions.update(&mut txn, "c041", 2)?);
    /// assert_eq!(sessions.get_with_expiry(&txn, "7f3a")?, Some((2, Some(at))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space; [`Error::Corrupted`] if the index is damaged.
    pub fn update(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<bool> {
        self.put(txn, (key, value), PutCondition::IfPresent, |_| {
            PutExpiry::Kept
        })
    }

    /// Returns the value of a record that has not expired. If there is none, inserts the value that
    /// `make` returns.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let pages = txn.create_expiring_table::<&str, String>("pages", &ExpiryOptions::new())?;
    /// for _ in 0..2 {
    ///     let minute = Duration::from_secs(60);
    ///     let page = pages.get_or_insert_with(&mut txn, "/", minute, || "<html>".to_owned())?;
    ///     assert_eq!(page, "<html>");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the stored value cannot be decoded as `V`; [`Error::KeyTooLong`] or
    /// [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there is no space;
    /// [`Error::Corrupted`] if the index is damaged.
    pub fn get_or_insert_with<X: EncodeAs<V>>(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        expiry: impl Into<Expiry>,
        make: impl FnOnce() -> X,
    ) -> Result<V::Owned> {
        if let Some(value) = self.get(txn, &key)? {
            return Ok(V::to_owned(value));
        }
        let value = make();
        self.insert_with_expiry(txn, key, &value, expiry)?;
        let encoded = value.encode_as()?;
        V::decode(encoded.as_ref()).map(V::to_owned)
    }

    fn put(
        &self,
        txn: &mut WriteTxn,
        (key, value): (impl EncodeAs<K>, impl EncodeAs<V>),
        condition: PutCondition,
        expires: impl FnOnce(u64) -> PutExpiry,
    ) -> Result<bool> {
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        let (key, value) = (key.as_ref(), value.as_ref());
        let table = self.checked(txn, key)?;
        let expires = expires(txn.now_ms()?);
        let put = Put { condition, expires };
        txn.whole_mut()?.put_expiring(&table, (key, value), put)
    }

    /// The names of both trees. Refuses a key that the table cannot hold.
    fn checked(&self, txn: &mut WriteTxn, key: &[u8]) -> Result<ExpiringNames> {
        // The root of a small transaction may be another one.
        txn.whole_mut()?;
        let page_size = txn.source().page_size();
        check_key(&*self.records.root(txn)?, page_size, key)?;
        Ok(self.names(txn))
    }

    /// Changes when a record expires. Returns whether there is one that has not expired. Its value
    /// is written again, so this is as expensive as an insertion.
    ///
    /// [`Expiry::Default`] lets it live for the time to live of the table from now on, as a cache
    /// does for each use; [`Expiry::Never`] makes it permanent.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use teak::{Database, Expiry, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = ExpiryOptions::new().ttl(Duration::from_secs(3600));
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &options)?;
    /// sessions.insert_with_expiry(&mut txn, "7f3a", 1, Duration::from_secs(60))?;
    /// let before = sessions.get_with_expiry(&txn, "7f3a")?.and_then(|(_, expiry)| expiry);
    /// assert!(sessions.set_expiry(&mut txn, "7f3a", Expiry::Default)?);
    /// let after = sessions.get_with_expiry(&txn, "7f3a")?.and_then(|(_, expiry)| expiry);
    /// assert!(after > before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`] or [`Error::TableNotFound`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space; [`Error::Corrupted`] if the index is damaged.
    pub fn set_expiry(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        expiry: impl Into<Expiry>,
    ) -> Result<bool> {
        let key = key.encode_as()?;
        let table = self.checked(txn, key.as_ref())?;
        let expires = expiry.into().for_put(txn.now_ms()?);
        txn.whole_mut()?.set_expiry(&table, key.as_ref(), expires)
    }

    /// Removes a record. Returns whether there was one that had not expired.
    ///
    /// ```
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// sessions.insert(&mut txn, "7f3a", 1)?;
    /// assert!(sessions.remove(&mut txn, "7f3a")?);
    /// assert!(!sessions.remove(&mut txn, "7f3a")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove(&self, txn: &mut WriteTxn, key: impl EncodeAs<K>) -> Result<bool> {
        let key = key.encode_as()?;
        let table = self.changeable(txn)?;
        txn.whole_mut()?.remove_expiring(&table, key.as_ref())
    }

    /// Removes all records. Returns how many there were, expired ones included that were not
    /// removed yet. The time to live and the limits stay.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn clear(&self, txn: &mut WriteTxn) -> Result<u64> {
        let table = self.changeable(txn)?;
        txn.whole_mut()?.clear_expiring(&table)
    }

    /// Removes up to `limit` expired records, those that expired first; returns how many. Commits
    /// do that too, a few records at a time. Use it to free space sooner, or in a database that
    /// little is written to.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use teak::{Database, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<u32, u64>("sessions", &ExpiryOptions::new())?;
    /// for number in 0..1000 {
    ///     sessions.insert_with_expiry(&mut txn, number, 1, SystemTime::UNIX_EPOCH)?;
    /// }
    /// assert_eq!(sessions.remove_expired(&mut txn, 700)?, 700);
    /// assert_eq!(sessions.remove_expired(&mut txn, u64::MAX)?, 300);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn remove_expired(&self, txn: &mut WriteTxn, limit: u64) -> Result<u64> {
        let table = self.changeable(txn)?;
        txn.whole_mut()?.remove_expired(&table, limit)
    }

    /// The names of both trees of a table that exists.
    pub(super) fn changeable(&self, txn: &mut WriteTxn) -> Result<ExpiringNames> {
        txn.whole_mut()?;
        self.records.root(txn)?;
        Ok(self.names(txn))
    }
}
