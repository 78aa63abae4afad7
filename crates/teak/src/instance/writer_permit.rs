//! The writer lock: one transaction at a time has it, in this process and across processes. A
//! transaction that changes trees also holds the writer's state ([`HeldWriterLock`]); a small one
//! has the writer lock alone, so that readers can merge the memtable meanwhile.
//!
//! [`HeldWriterLock`]: super::held_writer_lock::HeldWriterLock

use crate::{commit::committer::Committer, io::ForkGeneration, share::WriterLockGuard};
use std::sync::Arc;

/// The permit. Dropping it ends the use of the cross-process writer lock, and gives the lock to the
/// next thread.
#[derive(Debug)]
pub(crate) struct WriterPermit {
    /// `None` only while it is dropped.
    guard: Option<WriterLockGuard<()>>,
    generation: ForkGeneration,
    committer: Arc<Committer>,
}

impl WriterPermit {
    pub(crate) fn new(
        guard: WriterLockGuard<()>,
        generation: ForkGeneration,
        committer: &Arc<Committer>,
    ) -> Self {
        Self {
            guard: Some(guard),
            generation,
            committer: Arc::clone(committer),
        }
    }
}

impl Drop for WriterPermit {
    fn drop(&mut self) {
        let Some(guard) = self.guard.take() else {
            return;
        };
        if self.generation.is_past() {
            // In a forked child the lock belongs to the parent, which still uses it.
            return std::mem::forget(guard);
        }
        self.committer
            .process_writer_lock
            .end_use(&self.committer.commit_state);
    }
}
