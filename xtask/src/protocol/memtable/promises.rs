//! The promises of a process: what it has shown and acknowledged, and what failed.

use super::{
    actions::{LogAction, LogSteps},
    state::{LogEngine, LogModel, LogPhase, first_commits},
};

/// Adds a step, and notes the promises of the process.
pub(super) fn push(steps: &mut LogSteps, action: LogAction, mut next: LogModel, engine: LogEngine) {
    // Every visible state is seen by a reader.
    let visible = engine.visible();
    next.kept |= visible;
    if visible & !engine.exposed != 0 {
        next.promised |= visible;
    }
    // A durable commit that does not wait any more is acknowledged.
    let durable = engine.durable.max(engine.flushed);
    let claimed = first_commits(engine.newest, durable);
    next.promised |= claimed;
    next.kept |= claimed;
    next.phase = LogPhase::Running(engine);
    steps.push((action, Ok(next)));
}

/// No more commits after a failed flush. Those in the trees that nobody saw are taken back.
pub(super) fn poison(model: &mut LogModel, engine: &mut LogEngine) {
    engine.is_poisoned = true;
    engine.tree_flush = None;
    engine.merging = None;
    let mut records = model.records.iter();
    let published = records.rposition(|record| record.state == engine.published);
    if let Some(published) = published {
        let taken_back = model.newest().state & !engine.published;
        model.failed |= taken_back;
        model.newest_record = published as u8;
    }
}
