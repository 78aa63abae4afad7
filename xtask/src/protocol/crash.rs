//! The states after a kill, and after a power cut.

use super::{
    actions::{Action, Steps},
    state::{
        Contents, ENTRIES_MAX, EnginePhase, Location, ProtocolState, SLOT_COUNT, members, only,
    },
};
use arrayvec::ArrayVec;

/// Kills and power cuts, which are possible at any time.
pub(super) fn mishaps(state: &ProtocolState, steps: &mut Steps) {
    if let EnginePhase::Poisoned { .. } = state.phase {
        // The failed flush was the mishap. The only remaining step is to end.
        let mut ended = killed(state);
        ended.mishaps_left = state.mishaps_left;
        steps.push(Action::End, Ok(ended));
    }
    if state.mishaps_left == 0 {
        return;
    }
    match state.phase {
        // Without a write, a kill changes nothing, and a power cut has the effect of an earlier
        // one.
        EnginePhase::Down | EnginePhase::Decided { .. } => drop_some(state, &mut Vec::new(), steps),
        // A power cut before recovery has written everything else has no new effect either. The
        // journal is in memory by now, so pages that the cache drops during the redo may as well be
        // dropped after it.
        EnginePhase::Redoing { pages, .. } => {
            steps.push(Action::Kill, Ok(killed(state)));
            if pages == 0 {
                drop_some(state, &mut Vec::new(), steps);
            }
        }
        EnginePhase::Poisoned { .. } => choose(state, &mut ChosenWrites::default(), steps),
        // A power cut before the last write of recovery has no effect that it could not have later.
        EnginePhase::Settling { losers, .. } if losers != 0 => {
            steps.push(Action::Kill, Ok(killed(state)));
        }
        EnginePhase::Settling { .. }
        | EnginePhase::Running(_)
        | EnginePhase::Failing(_)
        | EnginePhase::Closing(_) => {
            steps.push(Action::Kill, Ok(killed(state)));
            choose(state, &mut ChosenWrites::default(), steps);
        }
    }
}

/// Pages that a failed flush left in the cache count as written. The system may drop any of them,
/// and read the version on the disk at the next access.
fn drop_some(state: &ProtocolState, dropped: &mut Vec<Option<u8>>, steps: &mut Steps) {
    let Some(location) = state.locations().nth(dropped.len()) else {
        if dropped.iter().any(Option::is_some) {
            steps.push(Action::Drop, Ok(without_dropped(state, dropped)));
        }
        return;
    };
    dropped.push(None);
    drop_some(state, dropped, steps);
    dropped.pop();
    if location.is_dirty || location.is_certainly(location.cache) {
        return;
    }
    for content in members(location.possible()) {
        dropped.push(Some(content));
        drop_some(state, dropped, steps);
        dropped.pop();
    }
}

/// The state with the disk's contents in some locations of the cache.
fn without_dropped(state: &ProtocolState, dropped: &[Option<u8>]) -> ProtocolState {
    let mut next = state.clone();
    for (location, content) in next.locations_mut().zip(dropped) {
        if let Some(content) = *content {
            *location = Location::certain(content);
        }
    }
    match &mut next.phase {
        EnginePhase::Redoing { whole, .. } => *whole = None,
        EnginePhase::Decided {
            slot, is_dropped, ..
        } => {
            let slot = usize::from(*slot);
            *is_dropped |= next.slots[slot].cache != state.slots[slot].cache;
        }
        _ => {}
    }
    next.kept = None;
    next.mishaps_left -= 1;
    next
}

/// The cache stays. Pages that were being written back may fail now without an error: the system
/// may count everything as written.
pub(super) fn killed(state: &ProtocolState) -> ProtocolState {
    let mut next = state.clone();
    next.locations_mut().for_each(|at| at.fail_flush());
    if let Some(engine) = state.phase.engine() {
        next.kept = Some(engine.published);
    }
    next.phase = EnginePhase::Down;
    next.mishaps_left = state.mishaps_left.saturating_sub(1);
    next
}

/// The contents of the disk, as far as they have been chosen.
#[derive(Default)]
struct ChosenWrites {
    slots: ArrayVec<u8, SLOT_COUNT>,
    journal: ArrayVec<u8, ENTRIES_MAX>,
    pages: Vec<u8>,
}

/// Every combination of possible contents of the slots and of the journal on the disk.
fn choose(state: &ProtocolState, chosen: &mut ChosenWrites, steps: &mut Steps) {
    if let Some(slot) = state.slots.get(chosen.slots.len()) {
        for content in members(slot.possible()) {
            chosen.slots.push(content);
            choose(state, chosen, steps);
            chosen.slots.pop();
        }
    } else if let Some(location) = state.journal.get(chosen.journal.len()) {
        for content in members(location.possible()) {
            chosen.journal.push(content);
            choose(state, chosen, steps);
            chosen.journal.pop();
        }
    } else {
        choose_pages(state, chosen, steps);
    }
}

/// Every combination of contents of the pages that a chosen record or journal entry refers to.
/// Other contents make no difference.
fn choose_pages(state: &ProtocolState, chosen: &mut ChosenWrites, steps: &mut Steps) {
    let Some(page) = state.pages.get(chosen.pages.len()) else {
        steps.push(Action::PowerCut, Ok(cut(state, chosen)));
        return;
    };
    let asked_for = asked_for(state, chosen);
    let others = match page.possible() & !asked_for {
        0 => 0,
        _ => only(0),
    };
    for content in members((page.possible() & asked_for) | others) {
        chosen.pages.push(content);
        choose_pages(state, chosen, steps);
        chosen.pages.pop();
    }
}

/// The contents that records refer to in the next page to choose.
fn asked_for(state: &ProtocolState, chosen: &ChosenWrites) -> Contents {
    let page = chosen.pages.len();
    let entries = chosen.journal.iter();
    let noted = entries.filter_map(|&content| Some(state.entry(content)?.record));
    let contents = chosen.slots.iter().copied().chain(noted);
    let records = contents.filter_map(|content| state.record(content));
    let references = records.flat_map(|record| state.commit(record.commit).tree);
    let references = references
        .flatten()
        .filter(|reference| usize::from(reference.page) == page);
    references.fold(0, |contents, reference| contents | only(reference.content))
}

fn cut(state: &ProtocolState, chosen: &ChosenWrites) -> ProtocolState {
    let mut next = state.clone();
    let contents = chosen.pages.iter().chain(&chosen.slots);
    let contents = contents.chain(&chosen.journal);
    for (location, &content) in next.locations_mut().zip(contents) {
        *location = Location::certain(content);
    }
    next.phase = EnginePhase::Down;
    next.kept = None;
    next.mishaps_left -= 1;
    next
}
