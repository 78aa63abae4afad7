//! The guard of the writer locks.

use crate::{
    commit::committer::Committer,
    instance::{writer::WriterState, writer_permit::WriterPermit},
};
use crate::{
    io::{ForkGeneration, Pinned},
    read::snapshot::{PinnedSnapshot, Snapshot},
    share::WriterLockGuard,
};
use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

/// Holds the writer's state, and the writer lock.
#[derive(Debug)]
pub(crate) struct HeldWriterLock {
    // Dropped in this order.
    /// `None` only after [`Self::take`] and while it is dropped.
    pub(crate) writer_lock: Option<WriterLockGuard<WriterState>>,
    /// `None` if the memtable is merged for a reader: another thread may have the permit.
    pub(crate) permit: Option<WriterPermit>,
    pub(crate) generation: ForkGeneration,
    pub(crate) committer: Arc<Committer>,
}

impl HeldWriterLock {
    pub(crate) fn new(
        writer_lock: WriterLockGuard<WriterState>,
        generation: ForkGeneration,
        committer: Arc<Committer>,
    ) -> Self {
        let held = Self {
            writer_lock: Some(writer_lock),
            permit: None,
            generation,
            committer,
        };
        held.note_borrower(&held);
        held
    }

    pub(crate) fn committer(&self) -> &Arc<Committer> {
        &self.committer
    }

    /// Whether the locks have not been moved to another guard.
    pub(crate) fn is_held(&self) -> bool {
        self.writer_lock.is_some()
    }

    /// The newest state, with the right to read its pages. Pages of a deferred state may be in
    /// memory only: of such a state only the free-space map is read, whose pages are in the file,
    /// because a commit that writes some is not deferred.
    pub(crate) fn pinned<'s>(&'s self, newest: &'s Snapshot) -> &'s PinnedSnapshot {
        assert!(self.is_held(), "the witness is the lock");
        // SAFETY: reason 2 of `io/pinned.rs`. A transaction needs this guard mutably, so none
        // builds pages while the state is borrowed.
        unsafe { Pinned::assume(newest) }
    }

    /// Notes that this guard begins or ends to borrow pages, if that matters.
    fn note_borrower(&self, writer: &WriterState) {
        let published = &self.committer.published;
        if writer.newest.reserved_per_page != 0 {
            published.eviction.note_writer();
            self.committer.evict_frames(&published.newest_here());
        }
    }

    /// Moves the locks to a new guard. This one holds nothing afterwards, and may only be dropped.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            writer_lock: self.writer_lock.take(),
            permit: self.permit.take(),
            generation: self.generation,
            committer: Arc::clone(&self.committer),
        }
    }
}

impl Deref for HeldWriterLock {
    type Target = WriterState;

    fn deref(&self) -> &WriterState {
        self.writer_lock
            .as_ref()
            .expect("a writer holds the lock until it ends")
    }
}

impl DerefMut for HeldWriterLock {
    fn deref_mut(&mut self) -> &mut WriterState {
        self.writer_lock
            .as_mut()
            .expect("a writer holds the lock until it ends")
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
        self.note_borrower(&writer_lock);
        drop(writer_lock);
        if self.permit.is_none() {
            self.committer
                .process_writer_lock
                .note_deferred_written(&self.committer.commit_state);
        }
    }
}
