//! What transactions of one database share: the newest committed state, who still reads which
//! state, and the writer's place.

mod published;
mod turn;

pub(crate) use published::Published;
pub(crate) use turn::{Turn, Turnstile};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. Nothing here can leave what it guards half-changed by panicking.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
