//! The guard of the writer locks.

use crate::{commit::flush::Flusher, instance::writer::WriterState};
use crate::{io::ForkGeneration, share::WriterLockGuard};
use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

/// Holds the in-process and the cross-process writer lock, with access to the writer's state.
#[derive(Debug)]
pub(crate) struct HeldWriterLock {
    /// `None` only after [`Self::take`] and while it is dropped.
    pub(crate) writer_lock: Option<WriterLockGuard<WriterState>>,
    pub(crate) generation: ForkGeneration,
    pub(crate) flusher: Arc<Flusher>,
}

impl HeldWriterLock {
    pub(crate) fn flusher(&self) -> &Arc<Flusher> {
        &self.flusher
    }

    /// Moves the locks to a new guard. This one holds nothing afterwards, and may only be dropped.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            writer_lock: self.writer_lock.take(),
            generation: self.generation,
            flusher: Arc::clone(&self.flusher),
        }
    }
}

impl Deref for HeldWriterLock {
    type Target = WriterState;

    fn deref(&self) -> &WriterState {
        self.writer_lock
            .as_ref()
            .expect("a writer has its turn until it ends")
    }
}

impl DerefMut for HeldWriterLock {
    fn deref_mut(&mut self) -> &mut WriterState {
        self.writer_lock
            .as_mut()
            .expect("a writer has its turn until it ends")
    }
}

impl Drop for HeldWriterLock {
    fn drop(&mut self) {
        let Some(writer_lock) = self.writer_lock.take() else {
            return;
        };
        if self.generation.is_past() {
            // In a forked child the lock belongs to the parent, which still uses it.
            return std::mem::forget(writer_lock);
        }
        self.flusher
            .process_writer_lock
            .end_use(&self.flusher.commit_state);
    }
}
