//! What a user sees: databases, tables, transactions, cursors, options. Thin: everything is done
//! in the layers below.

mod backup;
mod bulk;
mod cached;
pub mod codec;
mod copy;
mod count;
mod cursor;
mod database;
mod differences;
mod feed;
mod free_cursor;
mod late;
mod multi;
mod options;
mod order;
mod pages;
mod permissions;
mod point;
mod range;
mod restore;
mod salvage;
mod sequence;
mod table;
mod transaction;
mod unfinished;

pub use crate::txn::{
    CommitLatency, CompactObstacle, CompactOptions, CompactProgress, Deletion, Durability, Event,
    FileInfo, Limits, Marks, Metrics, ReaderInfo, Recovery, SlowReader, SlowReaderChoice,
    SnapshotInfo, Ticket, Verification,
    backup::BackupProgress,
    check::{CheckProgress, CheckReport, Damage, PageUse},
    delete, limits, lock_file_of, look,
    salvage::Loss,
    tour::PageVisit,
    warm::{WarmUp, Warmed},
};
pub use backup::DenseProgress;
pub use bulk::{BulkOptions, BulkProgress};
pub use cached::{CachedPlace, Freshness};
pub use count::Estimate;
pub use cursor::{Cursor, OwnedCursor};
pub use database::{Database, DatabaseStat};
pub use differences::{Difference, Differences, TableChange};
pub use feed::{ChangeFeed, Changes};
pub use free_cursor::{Bunch, FreeCursor};
pub use multi::{
    Keys, MultiCursor, MultiTable, OwnedMultiCursor, OwnedPairs, OwnedValues, PairDifference,
    PairDifferences, Pairs, Values,
};
pub use options::{Options, ReadAhead, TableOptions, ValueSize};
pub use point::{Action, Exactness, Swap};
pub use range::{OwnedRange, Range};
pub use restore::{RestoreProgress, restore, restore_like};
#[cfg(any(test, feature = "testing"))]
pub(crate) use salvage::salvage_into;
pub use salvage::{SalvageProgress, SalvageReport, SalvagedTable, salvage, salvage_with};
pub use table::{Table, TableInfo, TableStat, ValueGuard};
pub use transaction::{
    ParkedReadTxn, ReadTxn, ResetReadTxn, Savepoint, Transaction, WriteInfo, WriteTxn, WriterPlace,
};
