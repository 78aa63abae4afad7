//! Mutexes of this layer.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. No panic in this layer can leave the guarded data half-changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
