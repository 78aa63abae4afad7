//! Transactions: snapshots for readers, one writer, savepoints, the catalog of tables, the commit
//! pipeline, opening and recovery.

mod arena;
mod attach;
pub(crate) mod backup;
mod begin;
pub(crate) mod catalog;
pub(crate) mod check;
mod clock;
mod closing;
mod commit;
mod commit_and_continue;
mod commit_state;
mod compact;
mod database_file;
mod deaths;
mod deferred;
mod deleting;
pub(crate) mod delta;
pub(crate) mod dropped;
mod dropped_trees;
mod durability;
pub(crate) mod engine;
mod event_delivery;
mod events;
pub(crate) mod extent;
mod file_reads;
mod flush_target;
mod flusher;
mod held_writer_lock;
mod high_water;
mod holes;
mod hot_zone;
mod inspect;
pub(crate) mod journal;
mod latency;
mod limits;
pub(crate) mod located;
mod lock_file_errors;
mod marks;
mod metrics;
mod named;
mod named_edits;
mod named_list;
mod names;
mod open;
mod open_file;
mod open_table;
mod opening;
mod openings;
mod ordered;
pub(crate) mod page_usage;
pub(crate) mod page_walk;
mod page_writes;
mod pages;
pub(crate) mod policies;
mod prefault;
mod process_writer_lock;
mod published;
mod punching;
mod reader;
mod readers;
mod record_ref;
mod recover;
mod recovered;
mod recovery;
mod rollback;
mod roots;
pub(crate) mod salvage;
mod savepoint;
mod savepoint_state;
mod settle;
mod shared;
mod slow_reader;
mod slow_readers;
pub(crate) mod snapshot;
mod snapshot_space;
mod table_handles;
mod tail;
mod tail_state;
mod ticket;
mod transaction_status;
mod transaction_timing;
mod unique_id;
mod unlocked;
mod verified;
mod verified_bitmap;
mod wait_for_commits;
pub(crate) mod warm_up;
pub(crate) mod write;
mod writer;
mod written;

pub(crate) use crate::store::{refuse_file_len, rename_new};
pub(crate) use begin::ReservedWriterLock;
pub use compact::{CompactObstacle, CompactOptions, CompactProgress};
pub use deleting::{Deletion, delete};
pub use durability::Durability;
pub(crate) use engine::Engine;
pub use events::Event;
pub(crate) use events::EventHook;
pub use inspect::{FileInfo, inspect};
pub use latency::CommitLatency;
pub use limits::{Limits, limits};
pub use marks::Marks;
pub use metrics::Metrics;
pub(crate) use named::NamedReaders;
pub use named::SnapshotInfo;
pub use names::lock_file_of;
pub(crate) use names::refuse_lock_name;
pub(crate) use opening::Opening;
pub(crate) use pages::WritePages;
pub(crate) use policies::{LostNamePolicy, Network, Settings, Sharing};
pub(crate) use reader::{ParkedReader, Reader, Reset};
pub use recovery::Recovery;
pub(crate) use savepoint::SavepointId;
pub(crate) use slow_reader::SlowReaderHook;
pub use slow_reader::{ReaderInfo, SlowReader, SlowReaderChoice};
pub use ticket::Ticket;
pub use verified_bitmap::Verification;
pub(crate) use write::WriteTransaction;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, of which a panic leaves nothing half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod commit_and_continue_tests;
#[cfg(test)]
mod deferred_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod flusher_tests;
#[cfg(test)]
mod gated_disk;
#[cfg(test)]
mod regression_tests;
#[cfg(test)]
mod sharing_tests;
#[cfg(test)]
mod test_kit;
#[cfg(test)]
mod tests;
