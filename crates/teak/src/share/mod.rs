//! State that the transactions of one database share, across threads and processes: the visible
//! state, the reader table, locks, and the layout of shared memory. `writer_lock.rs` is the lock
//! between threads of one process; the one between processes is `process/writer_lock.rs`.

pub(crate) mod attachment;
mod commit_waiters;
mod lock;
pub(crate) mod lock_file_errors;
pub(crate) mod names;
mod notify;
mod processes;
mod readers;
mod region;
mod words;
mod writer_lock;

pub(crate) use commit_waiters::CommitWaiters;
pub(crate) use lock::{LockOutcome, SharedLock};
pub(crate) use notify::CommitNotifier;
pub(crate) use processes::{Membership, entry_index_of};
pub(crate) use readers::{PinnedReader, ReaderId, ReaderSlot, ReaderTable, SPARE};
pub(crate) use region::{REGION_HEAD_LEN, REGION_LEN, Region, STATE_LEN, StateWords};
pub(crate) use writer_lock::{WriterLock, WriterLockGuard};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. No panic in this module can leave the guarded data half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod notify_tests;
#[cfg(test)]
mod tests;
