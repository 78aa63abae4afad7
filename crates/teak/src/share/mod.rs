//! What transactions of one database share: which state is visible, who reads which, and the writer's
//! place.

mod bell;
mod lock;
mod processes;
mod readers;
mod region;
mod turn;
mod words;

pub(crate) use bell::Bell;
pub(crate) use lock::{SharedLock, Taken};
pub(crate) use processes::{Membership, place_of};
pub(crate) use readers::{Pinned, ReaderId, ReaderTable, SPARE, Slot};
pub(crate) use region::{REGION_HEAD_LEN, REGION_LEN, Region, STATE_LEN, StateWords};
pub(crate) use turn::{Turn, Turnstile};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. Nothing here can leave what it guards half-changed by panicking.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod bell_tests;
#[cfg(test)]
mod tests;
