//! Transactions: snapshots for readers, one writer, savepoints, the catalog of tables, the commit
//! pipeline, opening and recovery.

mod arena;
pub(crate) mod backup;
pub(crate) mod catalog;
pub(crate) mod check;
mod checked;
mod checkpoint;
mod clock;
mod closing;
mod commit;
mod compact;
mod database_file;
mod deaths;
mod deferred;
mod deleting;
pub(crate) mod delta;
mod demanded;
mod door;
pub(crate) mod dropped;
mod dropped_trees;
mod durability;
pub(crate) mod engine;
mod events;
pub(crate) mod extent;
mod file_reads;
mod flush_target;
mod flusher;
mod following;
mod high_water;
mod holes;
mod hot_zone;
pub(crate) mod journal;
mod latency;
mod limits;
pub(crate) mod located;
mod lock_file_errors;
mod look;
mod marks;
mod metrics;
mod named;
mod named_list;
mod names;
mod open;
mod open_file;
mod open_table;
mod opening;
mod openings;
mod ordered;
mod page_writes;
mod pages;
mod place;
pub(crate) mod policies;
mod progress;
mod published;
mod punching;
mod reader;
mod readers;
mod readers_seen;
mod record_ref;
mod recover;
mod recovery;
mod rollback;
mod roots;
pub(crate) mod salvage;
mod savepoint;
mod savepoint_state;
mod settle;
mod settled;
mod shared;
mod slow_reader;
pub(crate) mod snapshot;
mod snapshot_space;
pub(crate) mod survey;
mod table_handles;
mod tail;
mod tail_state;
mod teller;
mod ticket;
pub(crate) mod tour;
mod unique_id;
mod unlocked;
mod verified;
pub(crate) mod warm;
pub(crate) mod write;
mod writer;
mod writer_turn;
mod written;

pub(crate) use crate::store::{refuse_file_len, rename_new};
pub use checked::Verification;
pub use compact::{CompactObstacle, CompactOptions, CompactProgress};
pub use deleting::{Deletion, delete};
pub use durability::Durability;
pub(crate) use engine::Engine;
pub use events::Event;
pub(crate) use events::EventHook;
pub use latency::CommitLatency;
pub use limits::{Limits, limits};
pub use look::{FileInfo, look};
pub use marks::Marks;
pub use metrics::Metrics;
pub(crate) use named::NamedReaders;
pub use named::SnapshotInfo;
pub use names::lock_file_of;
pub(crate) use names::refuse_lock_name;
pub(crate) use opening::Opening;
pub(crate) use pages::WritePages;
pub(crate) use policies::{Network, Settings, Sharing, WithoutName};
pub(crate) use reader::{Parked, Reader, Reset};
pub use recovery::Recovery;
pub(crate) use savepoint::SavepointId;
pub(crate) use slow_reader::SlowReaderHook;
pub use slow_reader::{ReaderInfo, SlowReader, SlowReaderChoice};
pub use ticket::Ticket;
pub(crate) use write::{HeldPlace, WriteTransaction};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, of which a panic leaves nothing half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod checkpoint_tests;
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
