//! The canonical order of pages and slots, and of their contents.

use crate::protocol::state::{
    CommitIndex, Contents, EngineMemory, EnginePhase, EntryLink, Location, PAGES_MAX,
    PageReference, ProtocolState, SLOT_COUNT, members, only,
};
use arrayvec::ArrayVec;

/// Renumbers the contents of a location; the table has the new number of each.
pub(super) fn rename(location: &mut Location, table: &[u8; Contents::BITS as usize]) {
    let set = |contents| members(contents).fold(0, |set, old| set | only(table[usize::from(old)]));
    location.cache = table[usize::from(location.cache)];
    location.disk = set(location.disk);
    location.since = set(location.since);
    location.flushing = location.flushing.map(|old| table[usize::from(old)]);
}

/// Numbers the contents of each page in the order of the commits that expect them. All contents
/// that no commit expects are equal.
pub(super) fn name_contents(state: &mut ProtocolState) {
    for (page, location) in state.pages.iter_mut().enumerate() {
        let mut table = [0; Contents::BITS as usize];
        let mut next = 1;
        let trees = state.commits.iter_mut().flat_map(|commit| &mut commit.tree);
        for reference in trees
            .flatten()
            .filter(|reference| usize::from(reference.page) == page)
        {
            let name = &mut table[usize::from(reference.content)];
            if *name == 0 {
                *name = next;
                next += 1;
            }
            reference.content = *name;
        }
        rename(location, &table);
    }
}

/// The references of the commits to each page, in order.
type References = ArrayVec<Vec<(CommitIndex, u8, u8, u8)>, PAGES_MAX>;

fn references(state: &ProtocolState) -> References {
    let mut references: References = state.pages.iter().map(|_| Vec::new()).collect();
    for (commit, index) in state.commits.iter().zip(0..) {
        for (reference, item) in commit.tree.iter().flatten().zip(0..) {
            references[usize::from(reference.page)].push((
                index,
                item,
                reference.birth,
                reference.content,
            ));
        }
    }
    references
}

pub(super) fn sort_pages(state: &mut ProtocolState) {
    let references = references(state);
    let uses = state.phase.engine().map(|engine| engine.uses.clone());
    let use_of = |page: u8| uses.as_ref().map(|uses| uses[usize::from(page)]);
    let redone = match state.phase {
        EnginePhase::Redoing { pages, .. } => pages,
        _ => 0,
    };
    let mut order: ArrayVec<u8, PAGES_MAX> = (0..state.pages.len() as u8).collect();
    order.sort_by(|&a, &b| {
        let key = |page: u8| {
            let at = usize::from(page);
            let is_redone = redone & 1 << page;
            (
                &references[at],
                state.pages[at],
                use_of(page),
                is_redone != 0,
            )
        };
        key(a).cmp(&key(b))
    });
    let mut new_page = [0; PAGES_MAX];
    for (&old, new) in order.iter().zip(0..) {
        new_page[usize::from(old)] = new;
    }
    state.pages = order
        .iter()
        .map(|&old| state.pages[usize::from(old)])
        .collect();
    for commit in &mut state.commits {
        for PageReference { page, .. } in commit.tree.iter_mut().flatten() {
            *page = new_page[usize::from(*page)];
        }
    }
    if let EnginePhase::Redoing { pages, .. } = &mut state.phase {
        *pages = moved(redone, &order);
    }
    if let (Some(engine), Some(uses)) = (state.phase.engine_mut(), uses) {
        engine.uses = order.iter().map(|&old| uses[usize::from(old)]).collect();
    }
}

/// The bits of a set whose members are sorted in this order.
fn moved(set: u8, order: &[u8]) -> u8 {
    let members = order.iter().zip(0..);
    members.fold(0, |new, (old, at)| new | (set >> old & 1) << at)
}

pub(super) fn sort_slots(state: &mut ProtocolState) {
    let mut order: [u8; SLOT_COUNT] = std::array::from_fn(|slot| slot as u8);
    order.sort_by_key(|&slot| {
        let noted = noted_in(state, slot);
        (state.slots[usize::from(slot)], roles(state, slot), noted)
    });
    let mut new_slot = [0; SLOT_COUNT];
    for (&old, new) in order.iter().zip(0..) {
        new_slot[usize::from(old)] = new;
    }
    let rename = |slot: &mut u8| *slot = new_slot[usize::from(*slot)];
    state.slots = order.map(|old| state.slots[usize::from(old)]);
    for entry in &mut state.entries {
        rename(&mut entry.slot);
        if let EntryLink::Record { slot, .. } = &mut entry.link {
            rename(slot);
        }
    }
    if let EnginePhase::Decided { slot, .. } = &mut state.phase {
        rename(slot);
    } else if let EnginePhase::Settling { slot, losers, .. } = &mut state.phase {
        rename(slot);
        *losers = moved(*losers, &order);
    } else if let Some(engine) = state.phase.engine_mut() {
        rename(&mut engine.newest_slot);
        rename(&mut engine.flushed_slot);
        if let Some(target) = &mut engine.target {
            rename(&mut target.slot);
        }
    }
}

/// The roles of a slot in the phase.
fn roles(state: &ProtocolState, slot: u8) -> u8 {
    match &state.phase {
        EnginePhase::Down | EnginePhase::Redoing { .. } => 0,
        EnginePhase::Decided { slot: chosen, .. } => u8::from(slot == *chosen),
        EnginePhase::Settling {
            slot: chosen,
            losers,
            ..
        } => u8::from(slot == *chosen) | (losers >> slot & 1) << 1,
        EnginePhase::Running(engine)
        | EnginePhase::Failing(engine)
        | EnginePhase::Poisoned { engine, .. }
        | EnginePhase::Closing(engine) => roles_in(engine, slot),
    }
}

fn roles_in(engine: &EngineMemory, slot: u8) -> u8 {
    let is_target = engine.target.is_some_and(|target| target.slot == slot);
    u8::from(slot == engine.newest_slot)
        | u8::from(slot == engine.flushed_slot) << 1
        | u8::from(is_target) << 2
}

/// The roles of a slot for the entries of the journal, two bits for each.
fn noted_in(state: &ProtocolState, slot: u8) -> u32 {
    state.entries.iter().rev().fold(0, |roles, entry| {
        let is_after = matches!(entry.link, EntryLink::Record { slot: base, .. } if base == slot);
        roles << 2 | u32::from(entry.slot == slot) | u32::from(is_after) << 1
    })
}
