//! Teak: an embedded, ordered, transactional key-value store.

mod api;
mod commit;
mod error;
mod page;
mod share;
mod space;
mod store;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
mod tree;
mod txn;
mod types;

#[cfg(test)]
mod format_tests;

pub use api::{
    BulkOptions, BulkProgress, CheckProgress, CheckReport, Cursor, Damage, Database, DatabaseStat,
    Durability, Options, OwnedCursor, OwnedRange, PageUse, Range, ReadTxn, Recovery, Savepoint,
    Table, TableInfo, TableOptions, TableStat, Transaction, ValueGuard, WriteTxn, codec,
};
pub use error::{Error, Result};
pub use page::key::KeyOrder;
pub use types::{PageNumber, Run, Tag, TransactionId};
