//! The public API: databases, tables, transactions, cursors, options. It is thin; the layers below
//! do the work.

mod add_comparison;
mod backup;
mod begin_async;
mod begin_queue;
mod bounds;
mod bulk;
mod cached;
#[cfg(feature = "encryption")]
mod change_key;
mod check;
pub mod codec;
mod compact;
mod copy;
mod count;
mod cursor;
mod cursor_ends;
mod database;
mod debug_text;
mod detached_cursor;
mod difference;
mod differences;
mod entry;
mod expiring;
mod feed;
mod get_or_next;
mod iter;
mod key_checks;
mod key_step;
mod kind;
mod lookup_hint;
mod multi;
mod named_snapshots;
mod open_table;
mod opening;
mod options;
mod order_check;
mod pages;
mod permissions;
mod point;
mod prepared;
mod range;
mod range_cursor;
mod range_ends;
mod records;
mod restore;
mod salvage;
mod salvage_indexes;
mod salvage_target;
mod sealed;
mod small_batches;
#[cfg(feature = "stream")]
mod stream;
mod sync;
mod table;
mod table_def;
mod table_handle;
mod table_info;
mod table_options;
mod table_types;
mod transaction;
mod unfinished_file;
mod value_guard;
mod write_options;

#[cfg(feature = "metrics")]
pub use crate::observe::prometheus::prometheus_text;
pub use crate::{
    admin::{
        backup::BackupProgress,
        check_report::{CheckProgress, CheckReport, Damage, PageUse},
        page_walk::PageVisit,
        salvage::Loss,
        warm_up::{WarmUp, Warmed},
    },
    btree::{
        position::Direction,
        seek_target::{SeekOp, SeekTarget},
    },
    commit::ticket::Ticket,
    maintain::compact_options::{CompactObstacle, CompactOptions, CompactProgress},
    observe::{
        events::Event,
        latency::CommitLatency,
        metrics::Metrics,
        recovery::Recovery,
        slow_reader::{ReaderInfo, SlowReader, SlowReaderChoice},
    },
    open::{
        delete::{Deletion, delete},
        inspect::{FileInfo, inspect},
        limits::{Limits, limits},
    },
    read::verified_bitmap::Verification,
    record::durability::Durability,
    share::names::lock_file_of,
    write::{marks::Marks, named::SnapshotInfo, prepared::PreparedInfo},
};
pub use backup::DenseProgress;
pub use bounds::Bounds;
pub use bulk::{BulkOptions, BulkProgress, BulkRecord};
pub use cached::CachedLookup;
pub use count::Estimate;
pub use cursor::Cursor;
pub use cursor_ends::CursorEnds;
pub use database::{Database, DatabaseInfo, DatabaseStat};
pub use detached_cursor::{DetachedCursor, delete_scope::DeleteScope, insert_mode::InsertMode};
pub use difference::Difference;
pub use differences::{Differences, TableChange};
pub use entry::Entry;
pub use expiring::{
    ExpiringDifference, ExpiringDifferences, ExpiringIter, ExpiringTable, Expiry, ExpiryOptions,
    ExpiryStat,
};
pub use feed::{ChangeFeed, Changes};
pub use iter::{Iter, Keys, OwnedIter};
pub use key_step::KeyStep;
pub use kind::{Kind, Multi, Single};
pub use multi::Values;
pub use opening::ReadAt;
#[cfg(feature = "compression")]
pub use options::Compression;
pub use options::{Create, Options, ReadAhead, Sharing};
pub use point::Action;
pub use range::Range;
pub use restore::{RestoreProgress, restore};
#[cfg(any(test, feature = "testing"))]
pub(crate) use salvage::salvage_into;
pub use salvage::{SalvageProgress, SalvageReport, SalvagedTable, salvage};
#[cfg(feature = "stream")]
pub use stream::{ChangeStream, RangeStream};
pub use table_def::{MultiTableDef, TableDef};
pub use table_handle::{MultiTable, Table};
pub use table_info::{TableInfo, TableStat};
pub use table_options::{TableOptions, ValueSize};
pub use transaction::{
    Transaction,
    info::WriteInfo,
    read::{ParkedReadTxn, ReadTxn, ResetReadTxn},
    savepoints::Savepoint,
    write::WriteTxn,
};
pub use value_guard::ValueGuard;
pub use write_options::WriteOptions;
