//! The transaction interface of the public API.

// The sealed trait uses types of lower layers, which users cannot name.
#![allow(private_interfaces)]

pub(super) mod info;
pub(super) mod read;
pub(super) mod savepoints;
mod tables;
pub(super) mod write;
mod write_reading;

use self::read::ReadTxn;
use super::{
    Marks,
    codec::Codec,
    expiring::{ExpiringTable, open_expiring},
    open_table::open_table,
    sealed::Sealed,
    table_handle::{MultiTable, Table},
    table_info::TableInfo,
};
use crate::{Result, TransactionId};

/// A transaction that tables are read through: a [`ReadTxn`](crate::ReadTxn) or a
/// [`WriteTxn`](crate::WriteTxn).
pub trait Transaction: Sealed {
    /// The id of the state that is read: the commit that made it or, in a write transaction, the
    /// commit it will make.
    fn id(&self) -> TransactionId;

    /// Opens a table. The handle is not tied to this transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::TableTypeMismatch`](crate::Error::TableTypeMismatch) if it has other types;
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the keys or the values of a key
    /// do not sort in the order of the table;
    /// [`Error::ComparisonMissing`](crate::Error::ComparisonMissing) or
    /// [`Error::ComparisonMismatch`](crate::Error::ComparisonMismatch);
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    fn open_table<K: Codec, V: Codec>(&self, name: impl AsRef<[u8]>) -> Result<Table<K, V>> {
        open_table(self, name.as_ref())
    }

    /// Opens a multi-value table. The handle is not tied to this transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) for a table in which a key has one
    /// value; [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::TableTypeMismatch`](crate::Error::TableTypeMismatch) if it has other types;
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the keys or the values of a key
    /// do not sort in the order of the table;
    /// [`Error::ComparisonMissing`](crate::Error::ComparisonMissing) or
    /// [`Error::ComparisonMismatch`](crate::Error::ComparisonMismatch);
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    fn open_multi_table<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        open_table(self, name.as_ref())
    }

    /// Opens a table whose records expire. The handle is not tied to this transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) for a table of another kind;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::TableTypeMismatch`](crate::Error::TableTypeMismatch) if it has other types;
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the keys do not sort in the
    /// order of the table; [`Error::Corrupted`](crate::Error::Corrupted).
    fn open_expiring_table<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<ExpiringTable<K, V>> {
        open_expiring(self, name.as_ref())
    }

    /// Lists all tables in the order of their names, including those that require a newer version
    /// of Teak: see [`TableInfo::unknown`].
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    fn tables(&self) -> Result<Vec<TableInfo>>;

    /// The application's marks, as this transaction sees them; see
    /// [`WriteTxn::set_marks`](crate::WriteTxn::set_marks).
    fn marks(&self) -> Marks;
}

impl Transaction for ReadTxn {
    #[inline]
    fn id(&self) -> TransactionId {
        self.state_id()
    }

    fn open_table<K: Codec, V: Codec>(&self, name: impl AsRef<[u8]>) -> Result<Table<K, V>> {
        match self.of_held() {
            Some(held) => open_table(&held, name.as_ref()),
            None => open_table(self, name.as_ref()),
        }
    }

    fn open_multi_table<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        match self.of_held() {
            Some(held) => open_table(&held, name.as_ref()),
            None => open_table(self, name.as_ref()),
        }
    }

    fn open_expiring_table<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<ExpiringTable<K, V>> {
        match self.of_held() {
            Some(held) => open_expiring(&held, name.as_ref()),
            None => open_expiring(self, name.as_ref()),
        }
    }

    fn marks(&self) -> Marks {
        self.held().marks()
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        self.refuse_cancelled()?;
        let mut tables = Vec::new();
        self.trees()?.for_each_table(|name, entry, types| {
            tables.push(TableInfo::new(name, &entry, types));
            Ok(())
        })?;
        Ok(tables)
    }
}

#[cfg(test)]
#[path = "transaction_tests.rs"]
mod tests;
