//! The next states of a state.

use super::{
    actions::{Action, Steps},
    crash, engine, recovery, redo,
    rules::Rules,
    state::{EnginePhase, ProtocolState},
};

/// All possible next states of `state`.
pub(super) fn successors(state: &ProtocolState, rules: &Rules, steps: &mut Steps) {
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
pub(super) fn ends_well(state: &ProtocolState, rules: &Rules) -> bool {
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
