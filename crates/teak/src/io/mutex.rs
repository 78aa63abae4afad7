//! Mutexes of this layer.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. No code of this layer can leave what it guards half-changed by panicking.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
