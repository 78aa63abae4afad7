//! The cross-process writer lock. The writing process holds it. A process keeps it between
//! transactions only while it has deferred commits in memory, or commits in its memtable, because
//! no other process could build on those.

use crate::share::LockOutcome;
use crate::{commit::state_lock::CommitStateLock, share::attachment::Shared, sync::lock};
use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

/// Whether this process holds the cross-process writer lock, and whether a thread uses it. The
/// in-process writer lock keeps the threads of a process apart.
#[derive(Debug)]
pub(crate) struct CrossProcessWriterLock {
    /// `None` if no other process can have the database open.
    shared: Option<Arc<Shared>>,
    state: Mutex<HoldState>,
}

/// How long a thread waits before it checks whether waiting still makes sense.
const FAILURE_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The result of acquiring the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acquisition {
    /// No other process has held it since the last use.
    StillHeld,
    /// Other processes may have held it.
    Acquired(LockOutcome),
    /// It was not free in time.
    TimedOut,
}

#[derive(Default, Debug)]
struct HoldState {
    is_held: bool,
    /// Whether a thread holds the in-process writer lock and uses this one.
    is_in_use: bool,
    /// Whether the memtable has commits.
    is_kept: bool,
}

impl CrossProcessWriterLock {
    pub(crate) fn new(shared: Option<Arc<Shared>>) -> Self {
        Self {
            shared,
            state: Mutex::default(),
        }
    }

    /// Waits up to `limit` for the lock. The caller holds the in-process writer lock.
    pub(crate) fn acquire(&self, limit: Option<Duration>) -> Acquisition {
        let Some(shared) = &self.shared else {
            return Acquisition::StillHeld;
        };
        let mut state = self.lock();
        state.is_in_use = true;
        if state.is_held {
            return Acquisition::StillHeld;
        }
        drop(state);
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let slice = left.map_or(FAILURE_CHECK_INTERVAL, |left| {
                left.min(FAILURE_CHECK_INTERVAL)
            });
            if let Some(taken) = shared.try_take(&shared.region.writer, Some(slice)) {
                let mut state = self.lock();
                assert!(
                    !state.is_held,
                    "threads of this process take the lock one at a time"
                );
                state.is_held = true;
                drop(state);
                return Acquisition::Acquired(taken);
            }
            // After a failure the holder may never release it.
            if left == Some(Duration::ZERO) || shared.has_failed() {
                return Acquisition::TimedOut;
            }
        }
    }

    /// Ends the use by a thread. Releases the lock unless deferred commits remain, or commits in
    /// the memtable.
    pub(crate) fn end_use(&self, commit_state: &CommitStateLock) {
        if self.shared.is_some() {
            let mut state = self.lock();
            state.is_in_use = false;
            self.give_back(&mut state, commit_state);
        }
    }

    /// Leaves a lock that was taken from a dead process as if that process still held it: the next
    /// process looks for what it left.
    pub(crate) fn undo(&self, entered: Acquisition) {
        if entered == Acquisition::Acquired(LockOutcome::Abandoned)
            && let Some(shared) = &self.shared
        {
            let mut state = self.lock();
            assert!(
                state.is_held && state.is_in_use,
                "the caller has just taken the lock"
            );
            state.is_held = false;
            shared.abandon(|region| &region.writer);
        }
    }

    /// Notes that deferred commits are in the file. Releases the lock unless a thread uses it.
    pub(crate) fn note_deferred_written(&self, commit_state: &CommitStateLock) {
        if self.shared.is_some() {
            let mut state = self.lock();
            if !state.is_in_use {
                self.give_back(&mut state, commit_state);
            }
        }
    }

    /// Notes whether the memtable has commits. The caller gives the lock back when it ends its use.
    pub(crate) fn set_kept(&self, is_kept: bool) {
        if self.shared.is_some() {
            self.lock().is_kept = is_kept;
        }
    }

    fn give_back(&self, state: &mut HoldState, commit_state: &CommitStateLock) {
        if let Some(shared) = &self.shared
            && state.is_held
            && !state.is_kept
            && !commit_state.has_deferred()
        {
            state.is_held = false;
            shared.release(|region| &region.writer);
        }
    }

    /// Whether another process waits for the lock.
    pub(crate) fn has_waiters(&self) -> bool {
        let is_waited_for = |shared: &Arc<Shared>| shared.region.writer.is_waited_for();
        self.shared.as_ref().is_some_and(is_waited_for)
    }

    fn lock(&self) -> MutexGuard<'_, HoldState> {
        lock(&self.state)
    }
}
