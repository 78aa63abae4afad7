//! Transactions as a user sees them.

// The sealed trait speaks of the layers below, which no user can name.
#![allow(private_interfaces)]

mod info;
mod read;
mod write;

pub use info::WriteInfo;
pub use read::{ParkedReadTxn, ReadTxn};
pub use write::{Savepoint, WriteTxn, WriterPlace};

use super::{Marks, MultiTable, Table, TableInfo, codec::Codec};
use crate::{
    Result, TransactionId,
    tree::{PageSource, RootRef},
    txn::Engine,
};
use std::sync::Arc;

/// What tables are read through: a [`ReadTxn`] or a [`WriteTxn`].
pub trait Transaction: sealed::Sealed {
    /// The state that is read: the commit that made it, or, in a write transaction, that it will
    /// make.
    fn id(&self) -> TransactionId;

    /// Opens a table. The handle is not tied to this transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound); [`Error::ComparisonMissing`](crate::Error::ComparisonMissing),
    /// [`Error::ComparisonMismatch`](crate::Error::ComparisonMismatch); [`Error::Corrupted`](crate::Error::Corrupted).
    fn open_table<K: Codec, V: Codec>(&self, name: impl AsRef<[u8]>) -> Result<Table<K, V>> {
        let table = Table::new(self.engine(), name.as_ref());
        let (root, place) = (table.root(self)?, (table.handle(self), name.as_ref()));
        self.engine().refuse_disorder(self.source(), &root, place)?;
        Ok(table)
    }

    /// Opens a table in which a key has several values. The handle is not tied to this transaction.
    ///
    /// # Errors
    ///
    /// Those of [`Transaction::open_table`]; [`Error::TableMismatch`](crate::Error::TableMismatch) for a table in which a key has one value.
    fn open_multi_table<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        let table = MultiTable::new(self.engine(), name.as_ref());
        let (root, place) = (table.root(self)?, (table.handle(self), name.as_ref()));
        self.engine().refuse_disorder(self.source(), &root, place)?;
        Ok(table)
    }

    /// All tables, in the order of their names, those included that need a newer version: see
    /// [`TableInfo::unknown`].
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    fn tables(&self) -> Result<Vec<TableInfo>>;

    /// The marks of the application, as this transaction sees them; see [`WriteTxn::set_marks`].
    fn marks(&self) -> Marks;
}

pub(super) mod sealed {
    use super::{Arc, Engine, PageSource, Result, RootRef};

    /// What the crate itself asks of transactions.
    pub trait Sealed {
        #[doc(hidden)]
        fn engine(&self) -> &Arc<Engine>;
        #[doc(hidden)]
        fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>>;
        #[doc(hidden)]
        fn source(&self) -> &(impl PageSource + Sync);
        /// Which state of a table this is, if it is one that was never committed: two equal answers are of one state.
        #[doc(hidden)]
        fn version_of(&self, handle: usize) -> Option<(u64, u64)>;
    }
}
