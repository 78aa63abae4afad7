//! Maps states that differ only in names to one canonical state.
//!
//! - Unreachable state is forgotten: records that are in no slot, commits that no record, memory or
//!   promise refers to, contents that no tree expects.
//! - A journal entry counts only after a record or an entry that may be in its slot. All other
//!   entries are forgotten.
//! - Records older than a flushed one that is certainly on the disk never count again. While an
//!   engine runs, they are not distinguished.
//! - Once no mishap is left, the contents of the disk no longer matter. Once no commit is left, the
//!   set of free pages no longer matters.
//! - Pages are interchangeable, and so are slots: they are sorted.
//! - Transactions and sequences below the newest count only by their order, because new ones are
//!   greater. The distances above it stay.

mod locations;

use super::{
    rules::{Planted, Rules},
    state::{
        ALL_ENTRIES_MAX, COMMITS_MAX, CommitIndex, CommitRecord, Contents, Durability, EnginePhase,
        EntryLink, JournalEntry, Location, PageUse, ProtocolCommit, ProtocolState, members, only,
    },
};
use arrayvec::ArrayVec;
use locations::{name_contents, rename, sort_pages, sort_slots};

pub(super) fn canonical(state: ProtocolState, rules: &Rules) -> ProtocolState {
    let mut state = simplified(state, rules);
    sort_pages(&mut state);
    sort_slots(&mut state);
    state
}

/// Like [`canonical`], but pages and slots are not sorted.
pub(super) fn simplified(mut state: ProtocolState, rules: &Rules) -> ProtocolState {
    forget_memory(&mut state);
    forget_disk(&mut state);
    forget_stale(&mut state);
    forget_entries(&mut state, rules);
    sort_records(&mut state);
    forget_commits(&mut state);
    name_contents(&mut state);
    forget_promises(&mut state);
    join_births(&mut state);
    name_transactions(&mut state);
    name_sequences(&mut state);
    state
}

/// A poisoned or closing engine allocates no pages, and neither does one without further commits.
fn forget_memory(state: &mut ProtocolState) {
    let is_running = matches!(state.phase, EnginePhase::Running(_));
    let is_idle = state.commits_left == 0 || !is_running;
    if let Some(engine) = state.phase.engine_mut()
        && is_idle
    {
        engine.uses.fill(PageUse::Free);
        engine.readers.clear();
        if !is_running {
            engine.flushed = engine.durable;
            engine.chain = None;
        }
    }
}

fn forget_disk(state: &mut ProtocolState) {
    let is_asked_for = state.mishaps_left > 0 || !matches!(state.phase, EnginePhase::Running(_));
    for location in state.locations_mut() {
        if !is_asked_for {
            *location = Location::certain(location.cache);
        }
        if location
            .flushing
            .is_some_and(|content| location.disk == only(content))
        {
            location.flushing = None;
        }
        if location.is_certainly(location.cache) {
            location.is_dirty = false;
        }
    }
}

fn forget_stale(state: &mut ProtocolState) {
    let Some(engine) = state.phase.engine() else {
        return;
    };
    let flushed = state.slots[usize::from(engine.flushed_slot)];
    let Some(record) = state.record(flushed.cache) else {
        return;
    };
    if !flushed.is_certainly(flushed.cache) {
        return;
    }
    let (commit, sequence) = (state.promised, record.sequence);
    let is_older = |other: &&mut CommitRecord| other.sequence < sequence;
    for older in state.records.iter_mut().filter(is_older) {
        *older = CommitRecord {
            sequence: 0,
            commit,
            known_durable: 0,
            acknowledged: 0,
            is_clean_close: false,
            is_stale: true,
        };
    }
}

/// Keeps the entries that may count, in the order of their journal slots, each once. None of them
/// matters once no mishap is left.
fn forget_entries(state: &mut ProtocolState, rules: &Rules) {
    let is_asked_for = state.mishaps_left > 0 || !matches!(state.phase, EnginePhase::Running(_));
    let old = std::mem::take(&mut state.entries);
    let mut table = [0; Contents::BITS as usize];
    for slot in 0..state.journal.len() {
        let location = state.journal[slot];
        let mut kept: ArrayVec<(JournalEntry, u8), ALL_ENTRIES_MAX> = ArrayVec::new();
        for content in members(location.possible() | only(location.cache)) {
            let Some(mut entry) = old.get(usize::from(content).wrapping_sub(1)).copied() else {
                continue;
            };
            entry.link = new_link(state, entry.link, &table);
            if is_asked_for && (entry.link != EntryLink::Gone || rules.has(Planted::AnyEntryCounts))
            {
                kept.push((entry, content));
            }
        }
        kept.sort_unstable();
        for (entry, content) in kept {
            if state.entries.last() != Some(&entry) {
                state.entries.push(entry);
            }
            table[usize::from(content)] = state.entries.len() as u8;
        }
    }
    for location in &mut state.journal {
        rename(location, &table);
        if location.is_certainly(location.cache) {
            location.secure();
        }
    }
}

/// The predecessor of an entry, if it may still be there. Earlier journal slots are in the table.
fn new_link(
    state: &ProtocolState,
    link: EntryLink,
    table: &[u8; Contents::BITS as usize],
) -> EntryLink {
    match link {
        EntryLink::Record { content, slot } => {
            let location = &state.slots[usize::from(slot)];
            let is_there = (location.possible() | only(location.cache)) & only(content) != 0;
            let is_stale = state.record(content).is_none_or(|record| record.is_stale);
            if is_there && !is_stale {
                link
            } else {
                EntryLink::Gone
            }
        }
        EntryLink::Entry(index) => match table[usize::from(index) + 1] {
            0 => EntryLink::Gone,
            new => EntryLink::Entry(new - 1),
        },
        EntryLink::Gone => link,
    }
}

/// The records that a slot or an entry may have, sorted, each once.
fn sort_records(state: &mut ProtocolState) {
    let slots = state.slots.iter().fold(0, |contents, slot| {
        contents | slot.possible() | only(slot.cache)
    });
    let noted = state.entries.iter().map(|entry| only(entry.record));
    let possible = noted.fold(slots, |contents, noted| contents | noted);
    let mut records: Vec<CommitRecord> = members(possible)
        .filter_map(|content| state.record(content).copied())
        .collect();
    records.sort_unstable_by_key(|record| (record.sequence, *record));
    records.dedup();
    let mut table = [0; Contents::BITS as usize];
    for (record, content) in state.records.iter().zip(1..) {
        let at = records.binary_search_by_key(&(record.sequence, *record), |record| {
            (record.sequence, *record)
        });
        table[content] = at.map_or(0, |at| at as u8 + 1);
    }
    state.slots.iter_mut().for_each(|slot| rename(slot, &table));
    for entry in &mut state.entries {
        entry.record = table[usize::from(entry.record)];
        if let EntryLink::Record { content, .. } = &mut entry.link {
            *content = table[usize::from(*content)];
        }
    }
    state.records = records.into_iter().collect();
}

/// Calls `change` with every reference to a commit except those of children.
fn for_each_mention(state: &mut ProtocolState, mut change: impl FnMut(&mut CommitIndex)) {
    for_each_in_use(state, &mut change);
    for record in state.records.iter_mut().filter(|record| record.is_stale) {
        change(&mut record.commit);
    }
    change(&mut state.promised);
    match &mut state.phase {
        EnginePhase::Redoing { redone, whole, .. } => {
            change(redone);
            whole.iter_mut().for_each(&mut change);
        }
        EnginePhase::Decided { redone, .. } => redone.iter_mut().for_each(&mut change),
        _ => {}
    }
    state.kept.iter_mut().for_each(change);
}

/// Calls `change` with every reference to a commit whose pages may be read.
fn for_each_in_use(state: &mut ProtocolState, mut change: impl FnMut(&mut CommitIndex)) {
    for record in state.records.iter_mut().filter(|record| !record.is_stale) {
        change(&mut record.commit);
    }
    let Some(engine) = state.phase.engine_mut() else {
        return;
    };
    change(&mut engine.newest);
    change(&mut engine.durable);
    change(&mut engine.flushed);
    change(&mut engine.published);
    engine.readers.iter_mut().for_each(&mut change);
    if let Some(target) = &mut engine.target {
        change(&mut target.commit);
    }
}

fn forget_commits(state: &mut ProtocolState) {
    let (mut mentioned, mut in_use) = (0, 0);
    for_each_in_use(state, |&mut commit| in_use |= only(commit));
    for_each_mention(state, |&mut commit| mentioned |= only(commit));
    let nearest = |commits: &[ProtocolCommit], mut at: Option<CommitIndex>| {
        while let Some(index) = at
            && mentioned & only(index) == 0
        {
            at = commits[usize::from(index)].parent;
        }
        at
    };
    let new_index = |old: CommitIndex| (mentioned & (only(old) - 1)).count_ones() as u8;
    let old = state.commits.clone();
    state.commits.clear();
    for index in members(mentioned) {
        let mut commit = old[usize::from(index)];
        commit.parent = nearest(&old, commit.parent).map(new_index);
        if in_use & only(index) == 0 {
            commit.tree = None;
            commit.transaction = 0;
            commit.known_durable = 0;
            commit.acknowledged = 0;
        }
        state.commits.push(commit);
    }
    for_each_mention(state, |commit| *commit = new_index(*commit));
}

/// Calls `change` with every transaction that may be compared.
fn for_each_transaction(state: &mut ProtocolState, mut change: impl FnMut(&mut u8)) {
    for commit in state
        .commits
        .iter_mut()
        .filter(|commit| commit.tree.is_some())
    {
        change(&mut commit.transaction);
        if commit.known_durable > 0 {
            change(&mut commit.known_durable);
        }
        if commit.acknowledged > 0 {
            change(&mut commit.acknowledged);
        }
        for reference in commit.tree.iter_mut().flatten() {
            change(&mut reference.birth);
        }
    }
    for record in state.records.iter_mut().filter(|record| !record.is_stale) {
        change(&mut record.known_durable);
        change(&mut record.acknowledged);
    }
    for page in state
        .phase
        .engine_mut()
        .into_iter()
        .flat_map(|engine| &mut engine.uses)
    {
        match page {
            PageUse::Free => {}
            PageUse::Live { birth } => change(birth),
            PageUse::Dead { birth, death } => {
                change(birth);
                change(death);
            }
        }
    }
}

/// The durability of a commit counts while it is visible and not durable yet, and its knowledge of
/// durable commits while its record may be written again.
fn forget_promises(state: &mut ProtocolState) {
    let visible = state
        .phase
        .engine()
        .map(|engine| (engine.published, state.transaction(engine.durable)));
    let promised = state.promised;
    let abandoned: ArrayVec<bool, COMMITS_MAX> = (0..state.commits.len() as CommitIndex)
        .map(|index| state.commit(index).is_abandoned || !state.contains(index, promised))
        .collect();
    for ((commit, is_abandoned), index) in state.commits.iter_mut().zip(abandoned).zip(0..) {
        commit.is_abandoned = is_abandoned;
        let is_visible = visible.is_some_and(|(published, _)| published == index);
        if !is_visible {
            commit.known_durable = 0;
            commit.acknowledged = 0;
        }
        if !visible.is_some_and(|(_, durable)| is_visible && commit.transaction > durable) {
            commit.durability = Durability::Weak;
        }
    }
}

/// Makes births equal that no comparison distinguishes.
fn join_births(state: &mut ProtocolState) {
    let pins = state.phase.engine().map(|engine| {
        let target = engine.target.map(|target| target.commit);
        let pins = [
            engine.flushed,
            engine.durable,
            engine.published,
            engine.newest,
        ];
        let pins = pins.into_iter().chain(target);
        let oldest = pins.chain(engine.readers.iter().copied());
        oldest.map(|pin| state.transaction(pin)).min().unwrap_or(0)
    });
    let records = state.records.iter().filter(|record| !record.is_stale);
    let known = records.map(|record| record.known_durable);
    let oldest = known.chain(pins).min().unwrap_or(0);
    for reference in state
        .commits
        .iter_mut()
        .flat_map(|commit| commit.tree.iter_mut().flatten())
    {
        reference.birth = reference.birth.max(oldest);
    }
    let uses = state.phase.engine_mut().map(|engine| &mut engine.uses);
    for page in uses.into_iter().flatten() {
        if let PageUse::Live { birth } | PageUse::Dead { birth, .. } = page {
            *birth = (*birth).max(oldest);
        }
    }
}

fn name_transactions(state: &mut ProtocolState) {
    let newest = match state.phase.engine() {
        Some(engine) => state.transaction(engine.newest),
        None => {
            let records = state.records.iter().filter(|record| !record.is_stale);
            let transactions = records.map(|record| state.transaction(record.commit));
            transactions.min().unwrap_or(0)
        }
    };
    let mut ranks = Ranks::new(newest);
    for_each_transaction(state, |transaction| ranks.note(*transaction));
    for_each_transaction(state, |transaction| *transaction = ranks.of(*transaction));
}

fn name_sequences(state: &mut ProtocolState) {
    let newest = match &state.phase {
        EnginePhase::Running(engine) => state
            .cached_record(engine.newest_slot)
            .map_or(0, |record| record.sequence),
        _ => {
            let sequences = state.records.iter().map(|record| record.sequence);
            sequences.min().unwrap_or(0)
        }
    };
    let mut ranks = Ranks::new(newest);
    state
        .records
        .iter()
        .for_each(|record| ranks.note(record.sequence));
    for record in &mut state.records {
        record.sequence = ranks.of(record.sequence) + 1;
    }
}

/// Replaces numbers below a limit by their rank. Those above it keep their distance from it.
struct Ranks {
    limit: u8,
    below: Contents,
}

impl Ranks {
    fn new(limit: u8) -> Self {
        Self { limit, below: 0 }
    }

    fn note(&mut self, number: u8) {
        if number < self.limit {
            self.below |= only(number);
        }
    }

    fn of(&self, number: u8) -> u8 {
        match number.checked_sub(self.limit) {
            None => (self.below & (only(number) - 1)).count_ones() as u8,
            Some(above) => self.below.count_ones() as u8 + above,
        }
    }
}
