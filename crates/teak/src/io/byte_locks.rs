//! The bytes of a lock file that are locked: one for the gate, one for each process, and one for
//! growing the file.

use super::sys::{ByteLocks, LOCKS, byte_locks};
use crate::planted::planted;
use std::fs::File;

/// The most processes that may have a database open.
pub(crate) const PROCESSES_MAX: u32 = 4096;
/// The byte of the gate, and (below) the one that is locked while the file grows.
pub(super) const GATE: u32 = 0;
pub(super) const GROWTH: u32 = PROCESSES_MAX + 1;
const _: () = assert!(
    LOCKS.checked_add(GROWTH as u64).is_some(),
    "there is a byte to lock for each process, one for the gate, and one for growth"
);

pub(super) fn byte_of(entry_index: u32) -> u32 {
    debug_assert!(
        entry_index < PROCESSES_MAX,
        "an entry index from the shared memory was checked"
    );
    entry_index + 1
}

/// The locks that the system supports for this file.
pub(super) fn locks_of(file: &File) -> ByteLocks {
    planted!(LocksOfProcess => return ByteLocks::of_process());
    byte_locks(file)
}
