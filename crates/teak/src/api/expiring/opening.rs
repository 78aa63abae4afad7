//! Creating and opening expiring tables.

use super::{ExpiringTable, ExpiryOptions};
#[cfg(doc)]
use crate::Error;
use crate::{
    Result,
    api::{
        Table, WriteTxn, codec::Codec, order_check::refuse_orders, sealed::Sealed as _,
        table_types::CodecNames,
    },
};

impl WriteTxn {
    /// Opens an expiring table, or creates it. The time to live and the limits of a table that
    /// exists do not change: [`ExpiringTable::set_ttl`] and others change them.
    ///
    /// Versions of Teak that do not know such tables refuse to open, drop or rename them. They can
    /// use the other tables.
    ///
    /// ```
    /// use std::time::Duration;
    /// use teak::{Database, Error, ExpiryOptions, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let options = ExpiryOptions::new().ttl(Duration::from_secs(3600));
    /// txn.create_expiring_table::<&str, &str>("sessions", &options)?;
    /// assert!(matches!(
    ///     txn.open_table::<&str, &str>("sessions"),
    ///     Err(Error::TableMismatch { .. })
    /// ));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if it exists with other options, or is of another kind, and
    /// [`Error::TableTypeMismatch`] with other types; [`Error::KeyTooLong`] if the name is longer
    /// than the longest key less 8 bytes; [`Error::InvalidArgument`] if the options are
    /// contradictory, or if the keys do not sort in the order of the table.
    pub fn create_expiring_table<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
        options: &ExpiryOptions,
    ) -> Result<ExpiringTable<K, V>> {
        let name = name.as_ref();
        let table = options.table_options()?;
        refuse_orders::<K, V>(name, table.order, None)?;
        let types = CodecNames::of::<K, V>();
        self.create_expiring(name, table, types.names(), &options.settings())?;
        Ok(ExpiringTable::new(Table::new(self.engine(), name)))
    }
}
