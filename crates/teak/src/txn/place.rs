//! The writer's place among processes: whoever writes has it, and this process keeps it from one turn to the
//! next only as long as it has commits in memory that no other process could build upon.

use super::{lock, progress::Progress, shared::Shared};
use crate::share::Taken;
use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

/// Whether this process has the place of the writer, and what for. Threads of the process keep each other
/// out by their turns.
#[derive(Debug)]
pub(super) struct Place {
    /// Absent where no other process can have the database open.
    shared: Option<Arc<Shared>>,
    state: Mutex<State>,
}

/// So long one waits before looking whether there is still something to be waited for.
const SLICE: Duration = Duration::from_millis(100);

/// How the place was entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entered {
    /// Nobody else has had it since the last turn.
    Kept,
    /// Others may have had it.
    Anew(Taken),
    /// Not in the time that there was.
    No,
}

#[derive(Default, Debug)]
struct State {
    is_held: bool,
    /// Whether a thread has its turn.
    is_in_turn: bool,
}

impl Place {
    pub(super) fn new(shared: Option<Arc<Shared>>) -> Self {
        Self {
            shared,
            state: Mutex::default(),
        }
    }

    /// Waits for the place, for as long as `limit`. The caller has the turn.
    pub(super) fn enter(&self, limit: Option<Duration>) -> Entered {
        let Some(shared) = &self.shared else {
            return Entered::Kept;
        };
        let mut state = self.lock();
        state.is_in_turn = true;
        if state.is_held {
            return Entered::Kept;
        }
        drop(state);
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let slice = left.map_or(SLICE, |left| left.min(SLICE));
            if let Some(taken) = shared.try_take(&shared.region.writer, Some(slice)) {
                self.lock().is_held = true;
                return Entered::Anew(taken);
            }
            // After a failure whoever has the place may never give it back.
            if left == Some(Duration::ZERO) || shared.has_failed() {
                return Entered::No;
            }
        }
    }

    /// The turn ends.
    pub(super) fn leave(&self, progress: &Progress) {
        if self.shared.is_some() {
            let mut state = self.lock();
            state.is_in_turn = false;
            self.give_back(&mut state, progress);
        }
    }

    /// What was kept in memory is in the file.
    pub(super) fn deferred_written(&self, progress: &Progress) {
        if self.shared.is_some() {
            let mut state = self.lock();
            if !state.is_in_turn {
                self.give_back(&mut state, progress);
            }
        }
    }

    fn give_back(&self, state: &mut State, progress: &Progress) {
        if let Some(shared) = &self.shared
            && state.is_held
            && !progress.has_deferred()
        {
            state.is_held = false;
            shared.release(|region| &region.writer);
        }
    }

    /// Whether another process waits for the place.
    pub(super) fn is_wanted(&self) -> bool {
        let is_waited_for = |shared: &Arc<Shared>| shared.region.writer.is_waited_for();
        self.shared.as_ref().is_some_and(is_waited_for)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}
