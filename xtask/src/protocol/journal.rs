//! Journal entries, and the pages that they make.
//!
//! An entry has the record of its commit, and the pages that this commit has and the commit before
//! it lacks. The commit before is the last durable one when the entry was written: that of the
//! preceding entry, or the flushed one. Each page is derived from the page that it was copied from.
//! So an entry depends only on the two commits.

use super::{
    actions::{Action, Steps},
    engine_memory::{after, note_durable},
    rules::{Planted, Rules},
    state::{
        CommitIndex, ENTRIES_MAX, EngineMemory, EntryLink, FlushTarget, JournalEntry,
        PageReference, ProtocolState, SyncMethod,
    },
};
use arrayvec::ArrayVec;

/// Pages that the journal makes, with their contents.
pub(super) type JournalPages = Vec<(u8, u8)>;

/// Writes an entry instead of a flush, if there is room for it.
pub(super) fn begin_entry(
    state: &ProtocolState,
    engine: &EngineMemory,
    rules: &Rules,
    steps: &mut Steps,
) {
    let room = state.journal.len() as u8;
    let Some(index) = engine.chain.filter(|&index| index < room) else {
        return;
    };
    let entry = JournalEntry {
        link: link(state, engine, index),
        record: state.slots[usize::from(engine.newest_slot)].cache,
        slot: engine.newest_slot,
        is_spoiled: spoiled(state, engine.durable),
    };
    let name = state.name(engine.newest);
    let next = after(state, rules, |next, engine| {
        next.entries.push(entry);
        next.journal[usize::from(index)].write(next.entries.len() as u8, false);
        engine.target = Some(FlushTarget {
            commit: engine.newest,
            slot: engine.newest_slot,
            means: SyncMethod::Entry(index),
        });
        if rules.has(Planted::EntryAcknowledgedEarly) {
            note_durable(next, engine, rules);
        }
    });
    steps.push(Action::BeginEntry(name), Ok(next));
}

/// The predecessor of the next entry.
fn link(state: &ProtocolState, engine: &EngineMemory, index: u8) -> EntryLink {
    let Some(before) = index.checked_sub(1) else {
        return EntryLink::Record {
            content: state.slots[usize::from(engine.flushed_slot)].cache,
            slot: engine.flushed_slot,
        };
    };
    let content = state.journal[usize::from(before)].cache;
    content
        .checked_sub(1)
        .map_or(EntryLink::Gone, EntryLink::Entry)
}

/// The pages of a commit that have wrong contents.
fn spoiled(state: &ProtocolState, commit: CommitIndex) -> [bool; 2] {
    let tree = state.commit(commit).tree.unwrap_or_default();
    tree.map(|reference| state.pages[usize::from(reference.page)].cache != reference.content)
}

/// The valid entries after a slot, each by its content; `None` if they are inconsistent.
pub(super) fn chain(
    state: &ProtocolState,
    slot: u8,
    rules: &Rules,
) -> Option<ArrayVec<u8, ENTRIES_MAX>> {
    let mut chain = ArrayVec::new();
    let content = state.slots[usize::from(slot)].cache;
    let mut link = EntryLink::Record { content, slot };
    let mut sequence = state.record(content)?.sequence;
    for location in &state.journal {
        let Some(entry) = state.entry(location.cache) else {
            break;
        };
        if entry.link != link && !rules.has(Planted::AnyEntryCounts) {
            break;
        }
        let record = state.record(entry.record)?;
        if record.sequence <= sequence {
            return None;
        }
        sequence = record.sequence;
        link = EntryLink::Entry(location.cache - 1);
        chain.push(location.cache);
    }
    Some(chain)
}

/// The pages that entries make, each as made by its last entry.
pub(super) fn made(state: &ProtocolState, entries: &[u8], rules: &Rules) -> JournalPages {
    let mut made = JournalPages::new();
    for entry in entries.iter().filter_map(|&content| state.entry(content)) {
        let new = pages_of(state, entry, &made, rules);
        made.retain(|(page, _)| new.iter().all(|(newer, _)| newer != page));
        made.extend(new);
    }
    made
}

/// The pages that an entry makes, based on those of the entries before it.
fn pages_of(
    state: &ProtocolState,
    entry: &JournalEntry,
    made: &JournalPages,
    rules: &Rules,
) -> JournalPages {
    let tree_of = |content| {
        let commit = state.commit(state.record(content)?.commit);
        Some((commit.tree?, commit.transaction))
    };
    let before = match entry.link {
        EntryLink::Gone => None,
        EntryLink::Record { content, .. } => Some(content),
        EntryLink::Entry(index) => Some(state.entries[usize::from(index)].record),
    };
    let Some((tree, transaction)) = tree_of(entry.record) else {
        return JournalPages::new();
    };
    let before = before.and_then(tree_of);
    let is_there = |reference: &PageReference| {
        let newer = made.iter().find(|(page, _)| *page == reference.page);
        let there = newer.map(|(_, content)| *content);
        there.unwrap_or(state.pages[usize::from(reference.page)].cache) == reference.content
    };
    let mut new = JournalPages::new();
    for (item, reference) in tree.iter().enumerate() {
        let is_new = match (rules.has(Planted::EntryOfLastCommit), before) {
            (true, _) => reference.birth == transaction,
            (false, Some((_, before))) => reference.birth > before,
            (false, None) => true,
        };
        if is_new {
            let source = before.map(|(tree, _)| tree[item]);
            let is_right =
                !entry.is_spoiled[item] && source.is_some_and(|source| is_there(&source));
            new.push((reference.page, if is_right { reference.content } else { 0 }));
        }
    }
    new
}
