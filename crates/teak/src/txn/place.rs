//! The writer's place among processes: whoever writes has it, and this process keeps it from one turn to the
//! next only as long as it has commits in memory that no other process could build upon.

use super::{progress::Progress, shared::Shared};
use crate::share::Taken;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether this process has the place of the writer, and what for. Threads of the process keep each other
/// out by their turns.
#[derive(Debug)]
pub(super) struct Place {
    /// Absent where no other process can have the database open.
    shared: Option<Arc<Shared>>,
    state: Mutex<State>,
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

    /// Waits for the place. The caller has the turn. `None` if it was kept since the last one.
    pub(super) fn enter(&self) -> Option<Taken> {
        let shared = self.shared.as_ref()?;
        let mut state = self.lock();
        state.is_in_turn = true;
        if state.is_held {
            return None;
        }
        drop(state);
        let taken = shared.take(&shared.region.writer);
        self.lock().is_held = true;
        Some(taken)
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
            && !progress.lock().has_deferred()
        {
            state.is_held = false;
            shared.region.writer.give_back();
        }
    }

    /// Whether another process waits for the place.
    pub(super) fn is_wanted(&self) -> bool {
        let is_waited_for = |shared: &Arc<Shared>| shared.region.writer.is_waited_for();
        self.shared.as_ref().is_some_and(is_waited_for)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
