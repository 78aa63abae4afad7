//! The next states of a state.

use super::{
    actions::{Action, ProtocolViolation, Steps},
    canonical::{canonical, simplified},
    crash, engine, recovery, redo,
    rules::Rules,
    search::{Model, ModelSteps},
    state::{EnginePhase, ProtocolState, SLOT_COUNT},
};
use std::fmt::Write;

impl Model for Rules {
    type State = ProtocolState;
    type Action = Action;
    type Violation = ProtocolViolation;

    fn first(&self) -> ProtocolState {
        ProtocolState::first(&self.bounds)
    }

    fn canonical(&self, state: ProtocolState) -> ProtocolState {
        canonical(state, self)
    }

    fn simplified(&self, state: ProtocolState) -> ProtocolState {
        simplified(state, self)
    }

    fn successors(&self, state: &ProtocolState) -> ModelSteps<Self> {
        let mut steps = Steps::default();
        successors(state, self, &mut steps);
        ModelSteps {
            steps: steps.into_inner(),
            endings: 0,
        }
    }

    fn ends_well(&self, state: &ProtocolState) -> bool {
        ends_well(state, self)
    }

    fn line(&self, action: Action, state: &ProtocolState, next: &ProtocolState) -> String {
        line(action, state, next)
    }
}

/// All possible next states of `state`.
fn successors(state: &ProtocolState, rules: &Rules, steps: &mut Steps) {
    match &state.phase {
        EnginePhase::Down => steps.push(Action::Open, recovery::open(state, rules)),
        EnginePhase::Redoing { .. } => redo::redoing(state, rules, steps),
        EnginePhase::Decided { .. } => steps.push(Action::Settle, recovery::settle(state, rules)),
        EnginePhase::Settling { .. } => recovery::settling(state, rules, steps),
        EnginePhase::Running(engine) => engine::running(state, engine, rules, steps),
        EnginePhase::Failing(engine) => engine::failing(state, engine, rules, steps),
        EnginePhase::Poisoned {
            engine,
            is_rewritten,
        } => engine::take_back(state, engine, *is_rewritten, rules, steps),
        EnginePhase::Closing(engine) => engine::close_ends(state, engine, steps),
    }
    crash::mishaps(state, steps);
}

/// Whether the rest after `state` has only one course without violations. No commit and no mishap
/// is left then, so nothing new is written.
fn ends_well(state: &ProtocolState, rules: &Rules) -> bool {
    if state.commits_left > 0 || state.mishaps_left > 0 {
        return false;
    }
    let mut state = state.clone();
    let mut steps = Steps::default();
    loop {
        match state.phase {
            EnginePhase::Down
            | EnginePhase::Redoing { .. }
            | EnginePhase::Decided { .. }
            | EnginePhase::Settling { .. } => {}
            EnginePhase::Failing(_) | EnginePhase::Poisoned { .. } => return false,
            EnginePhase::Running(_) | EnginePhase::Closing(_) => return true,
        }
        successors(&state, rules, &mut steps);
        match steps.drain().next() {
            Some((_, Ok(next))) => state = next,
            _ => return false,
        }
    }
}

/// An action, and the effect of a power cut on the contents of the cache.
fn line(action: Action, state: &ProtocolState, next: &ProtocolState) -> String {
    let mut line = action.to_string();
    if action != Action::PowerCut {
        return line;
    }
    for slot in 0..SLOT_COUNT as u8 {
        if state.slots[usize::from(slot)].is_certainly(next.slots[usize::from(slot)].cache) {
            continue;
        }
        let _ = match next.cached_record(slot) {
            Some(record) => write!(
                line,
                "; slot {slot} has the record of commit {}",
                next.name(record.commit)
            ),
            None => write!(line, "; slot {slot} cannot be read"),
        };
    }
    for (page, (before, after)) in state.pages.iter().zip(&next.pages).enumerate() {
        if !before.is_certainly(after.cache) {
            let content = match after.cache {
                0 => "unreferenced contents",
                content if content == before.cache => "the last write",
                _ => "an earlier write",
            };
            let _ = write!(line, "; page {page} has {content}");
        }
    }
    line
}
