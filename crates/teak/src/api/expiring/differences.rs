//! Differences between two states of an expiring table.

use super::{ExpiringTable, expiry::expiry_time, stamped::Stamped};
use crate::{
    Error, Result,
    api::{Changes, Difference, Differences, ReadTxn, codec::Codec, kind::Expiring},
};
use std::{fmt, time::SystemTime};

/// A record of an expiring table that differs between two states; see
/// [`ExpiringTable::differences`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExpiringDifference<K, V> {
    /// Only the newer state has it.
    Inserted {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
        /// When it expires; `None` for never.
        expires: Option<SystemTime>,
    },
    /// Both have it, and it was inserted again, or expires at another time.
    Changed {
        /// Its key.
        key: K,
        /// Its value in the older state.
        old: V,
        /// Its value in the newer state.
        new: V,
        /// When it expires in the newer state; `None` for never.
        expires: Option<SystemTime>,
    },
    /// Only the older state has it: the application has removed it, or it was among the oldest of
    /// a table above its limits.
    Removed {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
    },
    /// Only the older state has it, because it has expired.
    Expired {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
        /// When it expired.
        at: SystemTime,
    },
}

/// The records in which two states of an expiring table differ, in their order; see
/// [`ExpiringTable::differences`].
pub struct ExpiringDifferences<'t, K, V> {
    differences: Differences<'t, K, Stamped<V>, Expiring>,
    /// The newer state has no records that expired up to this time.
    expired_until_ms: u64,
}

impl<K: Codec, V: Codec> ExpiringTable<K, V> {
    /// Returns the records in which two states differ, in key order. A record that expires differs
    /// when a commit removes it, which may be later; until then each state shows it
    /// unchanged. A record counts as expired if it is gone, and the commits up to the newer state
    /// have removed the records that expired when it did. If several commits are compared at once,
    /// that includes records that were removed by the application before they would have expired.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use teak::{Database, Expiry, ExpiringDifference::Expired, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// sessions.insert(&mut txn, "7f3a", 1)?;
    /// sessions.insert_with_expiry(&mut txn, "c041", 2, SystemTime::UNIX_EPOCH)?;
    /// let older = txn.commit_and_read()?;
    ///
    /// let mut txn = database.begin_write()?;
    /// sessions.remove_expired(&mut txn, u64::MAX)?;
    /// let newer = txn.commit_and_read()?;
    /// for difference in sessions.differences(&older, &newer)? {
    ///     println!("{difference:?}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if neither state has the table; [`Error::TableMismatch`] if it is
    /// of another kind; [`Error::InvalidArgument`] if the states belong to two databases, or if
    /// the table was dropped and created again with another order in between;
    /// [`Error::Corrupted`].
    pub fn differences<'t>(
        &self,
        older: &'t ReadTxn,
        newer: &'t ReadTxn,
    ) -> Result<ExpiringDifferences<'t, K, V>> {
        let differences = self.records.differences(older, newer)?;
        let expired_until_ms = match self.settings(newer) {
            Ok(settings) => settings.expired_until_ms,
            // It was dropped, and what it had was removed with it.
            Err(Error::TableNotFound(_)) => 0,
            Err(error) => return Err(error),
        };
        Ok(ExpiringDifferences {
            differences,
            expired_until_ms,
        })
    }
}

impl Changes {
    /// Returns the changed records of an expiring table; see [`ExpiringTable::differences`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use teak::{Database, ExpiringDifference, ExpiryOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &ExpiryOptions::new())?;
    /// txn.commit()?;
    /// let mut feed = database.follow(database.begin_read()?)?;
    /// let mut txn = database.begin_write()?;
    /// sessions.insert(&mut txn, "7f3a", 1)?;
    /// txn.commit()?;
    /// let changes = feed.next(Some(Duration::from_secs(10)))?.expect("there was a commit");
    /// let changes = changes.of_expiring(&sessions)?.collect::<teak::Result<Vec<_>>>()?;
    /// assert!(matches!(changes[..], [ExpiringDifference::Inserted { value: 1, .. }]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if neither state has the table; [`Error::TableMismatch`] if it is
    /// of another kind; [`Error::InvalidArgument`] if the table was dropped and created again with
    /// another order in between; [`Error::Corrupted`].
    pub fn of_expiring<K: Codec, V: Codec>(
        &self,
        table: &ExpiringTable<K, V>,
    ) -> Result<ExpiringDifferences<'_, K, V>> {
        table.differences(&self.older, &self.newer)
    }
}

impl<'t, K: Codec, V: Codec> Iterator for ExpiringDifferences<'t, K, V> {
    type Item = Result<ExpiringDifference<K::Owned, V::Item<'t>>>;

    fn next(&mut self) -> Option<Self::Item> {
        let difference = self.differences.next()?;
        Some(difference.map(|difference| match difference {
            Difference::Inserted { key, value } => ExpiringDifference::Inserted {
                key,
                value: value.value,
                expires: expiry_time(value.stamp.expires_ms),
            },
            Difference::Changed { key, old, new } => ExpiringDifference::Changed {
                key,
                old: old.value,
                new: new.value,
                expires: expiry_time(new.stamp.expires_ms),
            },
            Difference::Removed { key, value } => match expiry_time(value.stamp.expires_ms) {
                Some(at) if value.stamp.is_expired(self.expired_until_ms) => {
                    let value = value.value;
                    ExpiringDifference::Expired { key, value, at }
                }
                _ => ExpiringDifference::Removed {
                    key,
                    value: value.value,
                },
            },
        }))
    }
}

impl<K, V> fmt::Debug for ExpiringDifferences<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiringDifferences")
            .finish_non_exhaustive()
    }
}
