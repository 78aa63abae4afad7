//! The writer's place among processes: whoever writes has it, and this process keeps it from one turn to the
//! next only as long as it has commits in memory that no other process could build upon.

use crate::share::LockOutcome;
use crate::{commit::state::CommitState, share::attachment::Shared, sync::lock};
use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

/// Whether this process has the place of the writer, and what for. Threads of the process keep each other
/// out by their turns.
#[derive(Debug)]
pub(crate) struct CrossProcessWriterLock {
    /// Absent where no other process can have the database open.
    shared: Option<Arc<Shared>>,
    state: Mutex<HoldState>,
}

/// So long one waits before looking whether there is still something to be waited for.
const RECHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How the place was entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acquisition {
    /// Nobody else has had it since the last turn.
    StillHeld,
    /// Others may have had it.
    Acquired(LockOutcome),
    /// Not in the time that there was.
    TimedOut,
}

#[derive(Default, Debug)]
struct HoldState {
    is_held: bool,
    /// Whether a thread has its turn.
    is_in_use: bool,
}

impl CrossProcessWriterLock {
    pub(crate) fn new(shared: Option<Arc<Shared>>) -> Self {
        Self {
            shared,
            state: Mutex::default(),
        }
    }

    /// Waits for the place, for as long as `limit`. The caller has the turn.
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
            let slice = left.map_or(RECHECK_INTERVAL, |left| left.min(RECHECK_INTERVAL));
            if let Some(taken) = shared.try_take(&shared.region.writer, Some(slice)) {
                self.lock().is_held = true;
                return Acquisition::Acquired(taken);
            }
            // After a failure whoever has the place may never give it back.
            if left == Some(Duration::ZERO) || shared.has_failed() {
                return Acquisition::TimedOut;
            }
        }
    }

    /// The turn ends.
    pub(crate) fn end_use(&self, commit_state: &CommitState) {
        if self.shared.is_some() {
            let mut state = self.lock();
            state.is_in_use = false;
            self.give_back(&mut state, commit_state);
        }
    }

    /// What was kept in memory is in the file.
    pub(crate) fn note_deferred_written(&self, commit_state: &CommitState) {
        if self.shared.is_some() {
            let mut state = self.lock();
            if !state.is_in_use {
                self.give_back(&mut state, commit_state);
            }
        }
    }

    fn give_back(&self, state: &mut HoldState, commit_state: &CommitState) {
        if let Some(shared) = &self.shared
            && state.is_held
            && !commit_state.has_deferred()
        {
            state.is_held = false;
            shared.release(|region| &region.writer);
        }
    }

    /// Whether another process waits for the place.
    pub(crate) fn has_waiters(&self) -> bool {
        let is_waited_for = |shared: &Arc<Shared>| shared.region.writer.is_waited_for();
        self.shared.as_ref().is_some_and(is_waited_for)
    }

    fn lock(&self) -> MutexGuard<'_, HoldState> {
        lock(&self.state)
    }
}
