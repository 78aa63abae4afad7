//! Entry points for test programs outside of this crate: the simulated disk, and the decoders that
//! fuzzing feeds with hostile bytes. Not part of the interface.

mod damage;
mod forge;
mod fuzz;
mod hostile;
mod records;
mod repair;
mod simulated;
mod vast;

pub use crate::error::samples::{documented, samples};
pub use crate::io::Abilities;
pub use crate::io::sim::{Call, CrashPoints, DiskEvent, Fault, OpenBlock, SimDisk};
pub use crate::planted::{Planted, planted, set_planted};
pub use damage::{Mutation, live_pages, mutate};
pub use forge::{Forgery, forge, forge_fields, forge_graph};
pub use fuzz::{fuzz_page, fuzz_record};
pub use hostile::{exercise, exercise_with};
pub use records::{RecordSummary, decrypted_records, newest_record, redone, without_accidents};
pub use repair::{anonymize, repair, repair_checksum};
pub use simulated::{kill, kill_after, open, open_apart, salvage, salvage_with};
pub use vast::{VastCounts, VastFile, make_vast};

/// The number of this thread by which its readers are listed.
#[must_use]
pub fn thread_id() -> u64 {
    crate::io::thread_id()
}

/// Whether another process sleeps until this one releases the writer lock.
#[must_use]
pub fn is_writer_awaited(database: &crate::Database) -> bool {
    database.is_writer_awaited()
}

/// The last commit whose trees are known to be on the disk. Later ones may be durable in the
/// write-ahead log.
#[must_use]
pub fn durable_in_trees(database: &crate::Database) -> u64 {
    database.durable_in_trees().0
}

/// How often the write-ahead log was flushed; 0 if there is none.
#[must_use]
pub fn log_flush_count(database: &crate::Database) -> u64 {
    database.log_flush_count()
}

#[cfg(test)]
mod forged_tests;
#[cfg(test)]
mod tests;
