//! What is left when a process is killed, or power fails.

use super::{
    actions::{Action, Steps},
    state::{Contents, Location, Phase, SLOT_COUNT, State, members, only},
};

/// Kills and power cuts, which may come at any moment.
pub(super) fn mishaps(state: &State, steps: &mut Steps) {
    if let Phase::Poisoned { .. } = state.phase {
        // The flush that failed was the mishap; ending is what is left to do.
        let mut ended = killed(state);
        ended.mishaps_left = state.mishaps_left;
        steps.push(Action::End, Ok(ended));
    }
    if state.mishaps_left == 0 {
        return;
    }
    match state.phase {
        // While nobody writes, a kill changes nothing, and a power cut leaves what one before would
        // have left.
        Phase::Down | Phase::Decided { .. } => drop_some(state, &mut Vec::new(), steps),
        Phase::Poisoned { .. } => choose_slots(state, &mut Vec::new(), steps),
        // Before recovery has written all that it writes, a power cut leaves nothing that it could not
        // leave after.
        Phase::Settling { losers, .. } if losers != 0 => {
            steps.push(Action::Kill, Ok(killed(state)));
        }
        Phase::Settling { .. } | Phase::Running(_) | Phase::Failing(_) | Phase::Closing(_) => {
            steps.push(Action::Kill, Ok(killed(state)));
            choose_slots(state, &mut Vec::new(), steps);
        }
    }
}

/// What a flush that failed left in the cache counts as written. The system may drop any of it, and read
/// what the disk has when it is asked again.
fn drop_some(state: &State, dropped: &mut Vec<Option<u8>>, steps: &mut Steps) {
    let mut locations = state.pages.iter().chain(&state.slots);
    let Some(location) = locations.nth(dropped.len()) else {
        if dropped.iter().any(Option::is_some) {
            let mut next = state.clone();
            for (location, content) in next.locations_mut().zip(dropped) {
                if let Some(content) = *content {
                    *location = Location::certain(content);
                }
            }
            next.kept = None;
            next.mishaps_left -= 1;
            steps.push(Action::Drop, Ok(next));
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

/// The cache stays. Whatever was being written back may fail now, and nobody is told: the system
/// may count all as written.
pub(super) fn killed(state: &State) -> State {
    let mut next = state.clone();
    next.locations_mut().for_each(|at| at.fail_flush());
    if let Some(engine) = state.phase.engine() {
        next.kept = Some(engine.published);
    }
    next.phase = Phase::Down;
    next.mishaps_left = state.mishaps_left.saturating_sub(1);
    next
}

/// Every combination of what the disk may have in the slots.
fn choose_slots(state: &State, chosen: &mut Vec<u8>, steps: &mut Steps) {
    let Some(slot) = state.slots.get(chosen.len()) else {
        choose_pages(state, chosen, &mut Vec::new(), steps);
        return;
    };
    for content in members(slot.possible()) {
        chosen.push(content);
        choose_slots(state, chosen, steps);
        chosen.pop();
    }
}

/// Every combination of what the disk may have in the pages that a chosen record asks for. What
/// it does not ask for is all the same.
fn choose_pages(state: &State, slots: &[u8], chosen: &mut Vec<u8>, steps: &mut Steps) {
    let Some(page) = state.pages.get(chosen.len()) else {
        let next = cut(state, slots, chosen);
        steps.push(Action::PowerCut, Ok(next));
        return;
    };
    let asked_for = asked_for(state, slots, chosen.len() as u8);
    let others = match page.possible() & !asked_for {
        0 => 0,
        _ => only(0),
    };
    for content in members((page.possible() & asked_for) | others) {
        chosen.push(content);
        choose_pages(state, slots, chosen, steps);
        chosen.pop();
    }
}

/// The contents that records ask for in a page.
fn asked_for(state: &State, slots: &[u8], page: u8) -> Contents {
    let records = slots.iter().filter_map(|&content| state.record(content));
    let places = records.flat_map(|record| state.commit(record.commit).tree);
    let places = places.flatten().filter(|place| place.page == page);
    places.fold(0, |contents, place| contents | only(place.content))
}

fn cut(state: &State, slots: &[u8], pages: &[u8]) -> State {
    debug_assert_eq!(slots.len(), SLOT_COUNT);
    let mut next = state.clone();
    let contents = pages.iter().chain(slots);
    for (location, &content) in next.locations_mut().zip(contents) {
        *location = Location::certain(content);
    }
    next.phase = Phase::Down;
    next.kept = None;
    next.mishaps_left -= 1;
    next
}
