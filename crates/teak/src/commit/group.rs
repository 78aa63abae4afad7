//! Group commit: the thread that leads a flush, and those that wait for it.
//!
//! The first thread that waits for its durable commit becomes the *flush leader* for everything
//! written so far. Threads that commit meanwhile wait, and share the next flush, which one of them
//! leads. A single thread therefore never waits for another one. The background thread leads
//! flushes of commits that no thread waits for.
//!
//! One flush locks the commit state as few times as I/O allows, since it is never held while a
//! flush runs:
//!
//! 1. to find that the commit is not durable, to become leader, and to fix the target;
//! 2. only with deferred commits: to write and note their record;
//! 3. only if the database has a journal, and it does not take the commit: to note that a flush
//!    begins instead of an entry;
//! 4. to note the outcome, and to choose the next leader.
//!
//! The first one is two where the leader may have to wait in between: if other processes may have
//! the database open, for their flush lock; otherwise only if a writer writes deferred commits.

use crate::{
    Result, TransactionId,
    commit::{committer::Committer, state::CommitState, state_lock::CommitStateGuard},
    planted::planted,
    record::FlushLimits,
    share::{LockOutcome, attachment::Shared},
};
use std::{
    sync::{Arc, MutexGuard},
    thread::Thread,
};

/// The commits that a thread needs to be flushed.
#[derive(Clone, Copy, Debug)]
pub(super) enum FlushGoal {
    /// One commit, and all before it.
    Commit(TransactionId),
    /// Requested commits, and lazy ones that have reached these limits.
    Requests(FlushLimits),
}

impl FlushGoal {
    /// Whether a flush is still needed.
    pub(super) fn is_open(self, state: &CommitState) -> bool {
        match self {
            Self::Commit(transaction) => state.outcome(transaction).is_none(),
            Self::Requests(limits) => state.needs_flush(limits),
        }
    }

    /// The outcome of the commit, if the goal is one and it is decided.
    pub(super) fn outcome(self, state: &CommitState) -> Option<Result<()>> {
        match self {
            Self::Commit(transaction) => state.outcome(transaction),
            Self::Requests(_) => None,
        }
    }
}

/// The locks of a flush leader.
pub(super) struct FlushLocks<'f> {
    /// Held until deferred commits are written.
    pub(super) deferred_write: MutexGuard<'f, ()>,
    pub(super) process: ProcessFlushLock<'f>,
}

/// The flush lock between processes, held by this one; `None` if no other process can have the
/// database open.
#[derive(Clone, Copy)]
pub(super) struct ProcessFlushLock<'f>(Option<&'f Arc<Shared>>);

impl Committer {
    /// Returns when the commit `transaction` is on the disk. Flushes if no other thread does. The
    /// caller does not hold the in-process writer lock.
    pub(crate) fn wait(&self, transaction: TransactionId) -> Result<()> {
        let outcome = self.wait_without_waking(transaction);
        self.wake_all();
        outcome
    }

    /// Like [`Committer::wait`], but leaves it to the caller to run the wakers, and may hold the
    /// writer's state.
    pub(crate) fn wait_without_waking(&self, transaction: TransactionId) -> Result<()> {
        let mut state = self.commit_state.lock();
        if planted!(JoinFlush) && state.is_flushing() {
            drop(self.commit_state.wait_flushed(state, TransactionId(0)));
            return Ok(());
        }
        loop {
            if let Some(outcome) = state.outcome(transaction) {
                debug_assert!(
                    outcome.is_err() || self.shows_durable(&state),
                    "readers see a commit when it is reported as durable"
                );
                self.pass_on(state);
                return outcome;
            }
            if state.is_flushing() {
                match self.commit_state.wait_flushed(state, transaction) {
                    Some(still) => state = still,
                    None => return Ok(()),
                }
            } else {
                if let Some(outcome) = self.flush(state, FlushGoal::Commit(transaction)) {
                    return outcome;
                }
                state = self.commit_state.lock();
            }
        }
    }

    /// Makes this thread the flush leader. Returns the state and the locks of a flush, or the
    /// outcome of the goal if no flush is needed or possible. The leader ends with
    /// [`Committer::resign`].
    pub(super) fn lead<'f>(
        &'f self,
        mut state: CommitStateGuard<'f>,
        goal: FlushGoal,
    ) -> std::result::Result<(CommitStateGuard<'f>, FlushLocks<'f>), Option<Result<()>>> {
        // A flush by another process is waited for even after a failure: its target may become
        // durable.
        let is_over = state.has_failed() && !state.is_flushed_elsewhere();
        if state.is_flushing() || is_over || !goal.is_open(&state) {
            let outcome = goal.outcome(&state);
            self.pass_on(state);
            return Err(outcome);
        }
        state.become_leader();
        let deferred_write = match &self.shared {
            None => self.try_deferred_write_lock(),
            Some(_) => None,
        };
        if let Some(deferred_write) = deferred_write {
            let process = ProcessFlushLock(None);
            let locks = FlushLocks {
                deferred_write,
                process,
            };
            return Ok((state, locks));
        }
        drop(state);
        self.lead_after_waiting(goal)
    }

    /// Waits for the locks of a flush. Meanwhile another process may have flushed already, or a
    /// write may have failed. No flush begins after that: the newest record may not be in the file.
    fn lead_after_waiting(
        &self,
        goal: FlushGoal,
    ) -> std::result::Result<(CommitStateGuard<'_>, FlushLocks<'_>), Option<Result<()>>> {
        let process = self.take_process_flush_lock();
        let deferred_write = self.deferred_write_lock();
        let mut state = self.commit_state.lock();
        if process.0.is_some() {
            // This process now holds the flush lock, so a foreign target in the shared state is out
            // of date.
            state.forget_foreign_target();
        }
        if state.has_failed() || !goal.is_open(&state) {
            assert!(
                state.has_failed() || process.0.is_some(),
                "only the leader of its process makes a commit durable"
            );
            drop(deferred_write);
            if state.has_failed() {
                self.take_back(&mut state);
            }
            self.wakers.add(state.take_due_wakers());
            let outcome = goal.outcome(&state);
            self.resign(state, process);
            return Err(outcome);
        }
        let locks = FlushLocks {
            deferred_write,
            process,
        };
        Ok((state, locks))
    }

    /// Waits until no other process flushes, and keeps other processes from flushing until
    /// [`Committer::resign`].
    fn take_process_flush_lock(&self) -> ProcessFlushLock<'_> {
        if let Some(shared) = &self.shared
            && shared.take(&shared.region.flush) == LockOutcome::Abandoned
        {
            self.commit_state.lock().forget_foreign_target();
        }
        ProcessFlushLock(self.shared.as_ref())
    }

    /// Resigns as flush leader and wakes the threads whose wait is over, and the next leader.
    pub(super) fn resign(&self, mut state: CommitStateGuard<'_>, process: ProcessFlushLock<'_>) {
        // The flush lock belongs to the process, not to the thread. If the next leader of this
        // process took it before this thread released it, that leader would treat it as abandoned
        // by a dead process, and this thread would release it during that leader's flush. Another
        // process that takes the lock still waits for the commit state, which is locked here.
        if let Some(shared) = process.0 {
            shared.release(|region| &region.flush);
        }
        state.resign_leader();
        let woken = self.commit_state.notify_flushed(&mut state);
        drop(state);
        if process.0.is_some() {
            self.process_writer_lock
                .note_deferred_written(&self.commit_state);
        }
        woken.iter().for_each(Thread::unpark);
    }

    /// Lets other threads continue when no thread of this process flushes. The waiting thread was
    /// expected to flush, but another process has flushed already, or no flush is possible any
    /// more.
    pub(super) fn pass_on(&self, mut state: CommitStateGuard<'_>) {
        if state.is_flushing() {
            return;
        }
        let has_failed = state.has_failed();
        if has_failed && !state.is_flushed_elsewhere() {
            self.wakers.add(state.give_up());
        }
        let woken = self.commit_state.notify_flushed(&mut state);
        drop(state);
        woken.iter().for_each(Thread::unpark);
        if has_failed {
            self.process_writer_lock
                .note_deferred_written(&self.commit_state);
        }
    }
}
