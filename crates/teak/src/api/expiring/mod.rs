//! Tables whose records expire: a table of stamped values, and its index.

mod changing;
mod copies;
mod differences;
mod expiry;
mod iter;
mod opening;
mod reading;
mod settings;
mod stamped;
#[cfg(test)]
mod tests;

pub(super) use copies::{ExpiringCopy, copy_stored, stored_table};
pub use differences::{ExpiringDifference, ExpiringDifferences};
pub use expiry::{Expiry, ExpiryOptions, ExpiryStat};
pub use iter::ExpiringIter;

use super::{
    codec::Codec, kind::Expiring, open_table::open_table, sealed::Sealed, table_handle::Table,
};
use crate::{Result, read::catalog, write::expiring::ExpiringNames};
use stamped::Stamped;
use std::{fmt, sync::Arc};

/// A handle to a table whose records expire. It is cheap to clone, and every method takes the
/// transaction. The [chapter on expiry](crate::guide::expiry) explains it as a whole.
///
/// A record is invisible from the time at which it expires. It is *removed* later: a commit that
/// changes something removes some expired records, and [`ExpiringTable::remove_expired`] any
/// number. A transaction sees one moment, which it takes when it first uses such a table.
///
/// A table may also be limited in size, by [`ExpiryOptions::max_records`] and
/// [`ExpiryOptions::max_bytes`]: then the oldest records make room for new ones.
///
/// ```
/// use std::time::Duration;
/// use teak::{Database, Expiry, ExpiryOptions};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let options = ExpiryOptions::new().ttl(Duration::from_secs(3600));
/// let sessions = txn.create_expiring_table::<&str, &str>("sessions", &options)?;
/// sessions.insert(&mut txn, "7f3a", "Ada")?;
/// sessions.insert_with_expiry(&mut txn, "c041", "Grace", Duration::from_secs(60))?;
/// sessions.insert_with_expiry(&mut txn, "root", "admin", Expiry::Never)?;
/// txn.commit()?;
///
/// let txn = database.begin_read()?;
/// assert_eq!(sessions.get(&txn, "7f3a")?, Some("Ada"));
/// assert_eq!(sessions.len(&txn)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExpiringTable<K, V> {
    records: Table<K, Stamped<V>, Expiring>,
    /// The name of the index.
    index: Arc<[u8]>,
}

impl<K, V> Clone for ExpiringTable<K, V> {
    fn clone(&self) -> Self {
        Self {
            records: self.records.clone(),
            index: Arc::clone(&self.index),
        }
    }
}

impl<K, V> fmt::Debug for ExpiringTable<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiringTable")
            .field("name", &catalog::printable(self.name()))
            .finish()
    }
}

impl<K, V> ExpiringTable<K, V> {
    fn new(records: Table<K, Stamped<V>, Expiring>) -> Self {
        let index = catalog::expiry_index_of(records.name()).into();
        Self { records, index }
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.records.name()
    }

    /// The handles and names of both trees.
    fn names<T: Sealed>(&self, txn: &T) -> ExpiringNames {
        let engine = txn.engine();
        ExpiringNames {
            records: (self.records.handle(txn), self.records.shared_name()),
            index: (engine.handle(&self.index), Arc::clone(&self.index)),
        }
    }
}

/// Opens an expiring table.
pub(in crate::api) fn open_expiring<K: Codec, V: Codec>(
    txn: &(impl Sealed + ?Sized),
    name: &[u8],
) -> Result<ExpiringTable<K, V>> {
    open_table::<K, Stamped<V>, Expiring>(txn, name).map(ExpiringTable::new)
}
