//! A cell for one `Arc` that any thread can take.

use std::{
    marker::PhantomData,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicPtr, Ordering::SeqCst},
    },
};

/// A cell for an `Arc`. Taking and putting are one instruction each, and are sequentially
/// consistent with each other and with other such operations.
#[derive(Debug)]
pub(crate) struct ArcCell<T> {
    /// Null, or from `Arc::into_raw`.
    pointer: AtomicPtr<T>,
    holds: PhantomData<Arc<T>>,
}

// SAFETY: the cell holds an `Arc`, which another thread may take than the one that put it there.
unsafe impl<T: Send + Sync> Send for ArcCell<T> {}
// SAFETY: a shared cell only swaps its pointer, by one atomic instruction.
unsafe impl<T: Send + Sync> Sync for ArcCell<T> {}

impl<T> ArcCell<T> {
    /// Takes the value.
    #[inline]
    pub(crate) fn take(&self) -> Option<Arc<T>> {
        Self::owned(self.pointer.swap(ptr::null_mut(), SeqCst))
    }

    /// Puts a value into the cell, and returns the previous one.
    #[inline]
    pub(crate) fn put(&self, value: Arc<T>) -> Option<Arc<T>> {
        Self::owned(self.pointer.swap(Arc::into_raw(value).cast_mut(), SeqCst))
    }

    fn owned(pointer: *mut T) -> Option<Arc<T>> {
        // SAFETY: it came from `Arc::into_raw`, and the swap that returned it left no copy in the
        // cell.
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
