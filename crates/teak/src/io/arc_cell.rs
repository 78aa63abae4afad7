//! A place for one thing, which whoever comes first takes.

use std::{
    marker::PhantomData,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicPtr, Ordering::SeqCst},
    },
};

/// A place for a counted reference. Taking it and leaving it there are one instruction each, and have
/// one order with each other and with all else that is sequentially consistent.
#[derive(Debug)]
pub(crate) struct ArcCell<T> {
    /// Null, or from `Arc::into_raw`.
    pointer: AtomicPtr<T>,
    holds: PhantomData<Arc<T>>,
}

// SAFETY: a seat is a place for an `Arc`, which may be taken by another thread than the one that left it.
unsafe impl<T: Send + Sync> Send for ArcCell<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for ArcCell<T> {}

impl<T> ArcCell<T> {
    /// Takes what is there.
    #[inline]
    pub(crate) fn take(&self) -> Option<Arc<T>> {
        Self::owned(self.pointer.swap(ptr::null_mut(), SeqCst))
    }

    /// Leaves something there; returns what was there.
    #[inline]
    pub(crate) fn put(&self, value: Arc<T>) -> Option<Arc<T>> {
        Self::owned(self.pointer.swap(Arc::into_raw(value).cast_mut(), SeqCst))
    }

    fn owned(pointer: *mut T) -> Option<Arc<T>> {
        // SAFETY: it came from `Arc::into_raw`, and the swap that gave it here left none behind.
        (!pointer.is_null()).then(|| unsafe { Arc::from_raw(pointer) })
    }
}

impl<T> Default for ArcCell<T> {
    fn default() -> Self {
        Self {
            pointer: AtomicPtr::default(),
            holds: PhantomData,
        }
    }
}

impl<T> Drop for ArcCell<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(test)]
#[path = "arc_cell_tests.rs"]
mod tests;
