//! What a running engine does.

use super::{
    actions::{Action, ProtocolViolation, Steps},
    journal,
    rules::{Planted, Rules},
    state::{
        CommitIndex, CommitName, CommitRecord, Durability, EngineMemory, EnginePhase, FlushTarget,
        PageReference, PageUse, ProtocolCommit, ProtocolState, SLOT_COUNT, SyncMethod,
    },
};
use arrayvec::ArrayVec;

impl EngineMemory {
    /// What an engine starts with that has opened a database: all that its commit does not use is
    /// free.
    pub(super) fn opened(
        state: &ProtocolState,
        commit: CommitIndex,
        slot: u8,
        flushed_slot: u8,
    ) -> Self {
        let mut uses: ArrayVec<PageUse, _> = state.pages.iter().map(|_| PageUse::Free).collect();
        for reference in state.commit(commit).tree.iter().flatten() {
            uses[usize::from(reference.page)] = PageUse::Live {
                birth: reference.birth,
            };
        }
        Self {
            newest: commit,
            newest_slot: slot,
            durable: commit,
            flushed: commit,
            flushed_slot,
            // Entries come behind the newest record, or behind none.
            chain: (flushed_slot == slot && !state.journal.is_empty()).then_some(0),
            target: None,
            published: commit,
            readers: ArrayVec::new(),
            uses,
        }
    }

    /// Frees what no pin sees. At once, though the engine does it only when it needs pages: that
    /// is the harder case.
    fn reclaim(&mut self, state: &ProtocolState, rules: &Rules) {
        let mut pins = vec![self.newest];
        if !rules.has(Planted::DurableNotPinned) && !rules.has(Planted::AcknowledgedNotPinned) {
            pins.push(self.durable);
        }
        if !rules.has(Planted::DurableNotPinned) && !rules.has(Planted::FlushedNotPinned) {
            pins.push(self.flushed);
        }
        if !rules.has(Planted::PublishedNotPinned) {
            pins.push(self.published);
        }
        if !rules.has(Planted::TargetNotPinned) {
            pins.extend(self.target.map(|target| target.commit));
        }
        if !rules.has(Planted::ReadersNotPinned) {
            pins.extend(&self.readers);
        }
        let newest = state.transaction(self.newest);
        let is_early = rules.has(Planted::DeathsFreeEarly);
        for page in &mut self.uses {
            let PageUse::Dead { birth, death } = *page else {
                continue;
            };
            let is_pinned = pins
                .iter()
                .any(|&pin| (birth..death).contains(&state.transaction(pin)));
            if !is_pinned || (is_early && death == newest) {
                *page = PageUse::Free;
            }
        }
    }

    /// The slots that the next record may go to: the oldest of those that are not needed. Records
    /// before the flushed one count as equally old, and one that was erased as old, but not as older
    /// than others: whatever an engine does there must be right.
    fn next_slots(&self, state: &ProtocolState, rules: &Rules) -> ArrayVec<u8, SLOT_COUNT> {
        let target_slot = self.target.map(|target| target.slot);
        let is_needed = |slot: &u8| {
            (*slot == self.newest_slot && !rules.has(Planted::NewestSlotTaken))
                || (*slot == self.flushed_slot && !rules.has(Planted::FlushedSlotTaken))
                || (Some(*slot) == target_slot && !rules.has(Planted::TargetSlotTaken))
        };
        let flushed = state.cached_record(self.flushed_slot);
        let sequence = |slot: &u8| {
            let sequence = state.cached_record(*slot)?.sequence;
            let is_stale = flushed.is_some_and(|flushed| sequence < flushed.sequence);
            Some(if is_stale { 0 } else { sequence })
        };
        let spare = (0..SLOT_COUNT as u8).filter(|slot| !is_needed(slot));
        let oldest = spare.clone().filter_map(|slot| sequence(&slot)).min();
        spare
            .filter(|slot| sequence(slot).is_none() || sequence(slot) == oldest)
            .collect()
    }

    fn free_pages(&self) -> impl Iterator<Item = u8> + Clone {
        let pages = self.uses.iter().zip(0..);
        pages.filter_map(|(use_, page)| (*use_ == PageUse::Free).then_some(page))
    }
}

/// All that a running engine may do next.
pub(super) fn running(
    state: &ProtocolState,
    engine: &EngineMemory,
    rules: &Rules,
    steps: &mut Steps,
) {
    commits(state, engine, rules, steps);
    readers(state, engine, rules, steps);
    flushes(state, engine, rules, steps);
    closing(state, engine, rules, steps);
}

/// Changes the engine of a copy of a state, and has pages reclaimed.
pub(super) fn after(
    state: &ProtocolState,
    rules: &Rules,
    change: impl FnOnce(&mut ProtocolState, &mut EngineMemory),
) -> ProtocolState {
    let mut next = state.clone();
    let EnginePhase::Running(engine) = &state.phase else {
        return next;
    };
    let mut engine = engine.clone();
    change(&mut next, &mut engine);
    engine.reclaim(&next, rules);
    next.phase = EnginePhase::Running(engine);
    next
}

fn commits(state: &ProtocolState, engine: &EngineMemory, rules: &Rules, steps: &mut Steps) {
    if state.commits_left == 0 {
        return;
    }
    for slot in engine.next_slots(state, rules) {
        for root in engine.free_pages() {
            let leaves = engine.free_pages().filter(|&page| page != root);
            for leaf in leaves.map(Some).chain([None]) {
                for durability in [Durability::Weak, Durability::Durable] {
                    let action = Action::Commit {
                        durability,
                        name: rules.bounds.commits - state.commits_left + 1,
                        root,
                        leaf,
                        slot,
                    };
                    let next = after(state, rules, |next, engine| {
                        write_commit(next, engine, rules, durability, [Some(root), leaf], slot);
                    });
                    steps.push(action, Ok(next));
                }
            }
        }
    }
    if state.mishaps_left > 0 {
        for slot in engine.next_slots(state, rules) {
            let action = Action::KillInCommit { slot };
            steps.push(action, Ok(killed_in_commit(state, engine, slot)));
            for is_whole in [false, true] {
                if let Some(next) = failed_in_commit(state, engine, slot, is_whole, rules) {
                    steps.push(Action::FailRecord { slot, is_whole }, Ok(next));
                }
            }
        }
    }
}

fn write_commit(
    next: &mut ProtocolState,
    engine: &mut EngineMemory,
    rules: &Rules,
    durability: Durability,
    pages: [Option<u8>; 2],
    slot: u8,
) {
    let before = *next.commit(engine.newest);
    let transaction = before.transaction + 1;
    let mut tree = before.tree.unwrap_or_default();
    for (reference, page) in tree.iter_mut().zip(pages) {
        let Some(page) = page else { continue };
        engine.uses[usize::from(reference.page)] = PageUse::Dead {
            birth: reference.birth,
            death: transaction,
        };
        engine.uses[usize::from(page)] = PageUse::Live { birth: transaction };
        *reference = PageReference {
            page,
            birth: transaction,
            content: next.new_content(page),
        };
        next.write_page(page, reference.content);
    }
    let acknowledged = next.transaction(engine.durable);
    let known_durable = match rules.planted {
        Some(Planted::KnownDurableTooHigh) => transaction,
        Some(Planted::AcknowledgedCalledFlushed) => acknowledged,
        _ => next.transaction(engine.flushed),
    };
    let index = next.commits.len() as CommitIndex;
    next.commits.push(ProtocolCommit {
        name: CommitName(rules.bounds.commits - next.commits_left + 1),
        transaction,
        parent: Some(engine.newest),
        durability,
        known_durable,
        acknowledged,
        is_abandoned: false,
        tree: Some(tree),
    });
    let record = CommitRecord {
        sequence: next.next_sequence(),
        commit: index,
        known_durable,
        acknowledged,
        is_clean_close: false,
        is_stale: false,
    };
    next.write_record(slot, record);
    next.commits_left -= 1;
    engine.newest = index;
    engine.newest_slot = slot;
    if durability == Durability::Weak || rules.has(Planted::PublishedEarly) {
        engine.published = index;
    }
    if durability == Durability::Durable && rules.has(Planted::AcknowledgedEarly) {
        next.promised = index;
    }
}

/// The worst that can be of a commit that was not finished: each free page is spoiled, and the slot
/// cannot be read.
fn killed_in_commit(state: &ProtocolState, engine: &EngineMemory, slot: u8) -> ProtocolState {
    let mut next = state.clone();
    for page in engine.free_pages() {
        next.write_page(page, 0);
    }
    next.write_slot(slot, 0);
    super::crash::killed(&next)
}

/// A commit whose pages are written, and whose record is in the cache or torn, but the system says
/// that it could not be written. While a flush runs, that is waited for.
fn failed_in_commit(
    state: &ProtocolState,
    engine: &EngineMemory,
    slot: u8,
    is_whole: bool,
    rules: &Rules,
) -> Option<ProtocolState> {
    let root = engine.free_pages().next()?;
    let mut next = state.clone();
    let mut engine = engine.clone();
    let published = engine.published;
    let pages = [Some(root), None];
    write_commit(
        &mut next,
        &mut engine,
        rules,
        Durability::Durable,
        pages,
        slot,
    );
    engine.published = published;
    if !is_whole {
        next.write_slot(slot, 0);
    }
    next.mishaps_left -= 1;
    next.phase = match engine.target {
        Some(_) => EnginePhase::Failing(engine),
        None => EnginePhase::Poisoned {
            engine,
            is_rewritten: false,
        },
    };
    Some(next)
}

/// How a flush or an entry ends behind which nothing becomes durable any more.
pub(super) fn failing(
    state: &ProtocolState,
    engine: &EngineMemory,
    rules: &Rules,
    steps: &mut Steps,
) {
    let Some(target) = engine.target else {
        return;
    };
    let mut completed = state.clone();
    let mut durable = engine.clone();
    complete(&mut completed, &mut durable, rules);
    completed.phase = EnginePhase::Poisoned {
        engine: durable,
        is_rewritten: false,
    };
    steps.push(completion(state, target), Ok(completed));
    if state.mishaps_left > 0 {
        fail(state, engine, target, rules, steps);
    }
    if rules.has(Planted::TakenBackEarly) {
        taken_back_early(state, engine, steps);
    }
}

/// Takes back all that is not visible, once, while the flush runs.
fn taken_back_early(state: &ProtocolState, engine: &EngineMemory, steps: &mut Steps) {
    let visible = state.transaction(engine.published);
    let hidden: Vec<u8> = (0..SLOT_COUNT as u8)
        .filter(|slot| {
            let record = state.cached_record(*slot);
            record.is_some_and(|record| state.transaction(record.commit) > visible)
        })
        .collect();
    for &slot in &hidden {
        let mut next = state.clone();
        next.write_record(slot, visible_record(state, engine));
        for &other in hidden.iter().filter(|&&other| other != slot) {
            next.write_slot(other, 0);
        }
        steps.push(Action::WriteVisibleAgain { slot }, Ok(next));
    }
}

/// The newest record, of the state that readers see.
fn visible_record(state: &ProtocolState, engine: &EngineMemory) -> CommitRecord {
    CommitRecord {
        sequence: state.next_sequence(),
        commit: engine.published,
        known_durable: state.commit(engine.published).known_durable,
        acknowledged: state.commit(engine.published).acknowledged,
        is_clean_close: false,
        is_stale: false,
    }
}

fn readers(state: &ProtocolState, engine: &EngineMemory, rules: &Rules, steps: &mut Steps) {
    if state.commits_left == 0 {
        return;
    }
    let is_seen = engine.readers.contains(&engine.published);
    if !is_seen && engine.readers.len() < usize::from(rules.bounds.readers) {
        let name = state.name(engine.published);
        let next = after(state, rules, |_, engine| {
            engine.readers.push(engine.published);
            engine.readers.sort_unstable();
        });
        steps.push(Action::BeginReader { name }, Ok(next));
    }
    for at in 0..engine.readers.len() {
        let name = state.name(engine.readers[at]);
        let next = after(state, rules, |_, engine| {
            engine.readers.remove(at);
        });
        steps.push(Action::EndReader { name }, Ok(next));
    }
}

fn flushes(state: &ProtocolState, engine: &EngineMemory, rules: &Rules, steps: &mut Steps) {
    if let Some(target) = engine.target {
        let completed = after(state, rules, |next, engine| complete(next, engine, rules));
        steps.push(completion(state, target), Ok(completed));
        if state.mishaps_left > 0 {
            fail(state, engine, target, rules, steps);
        }
    } else if engine.newest != engine.durable {
        let name = state.name(engine.newest);
        let next = after(state, rules, |next, engine| {
            engine.target = Some(FlushTarget {
                commit: engine.newest,
                slot: engine.newest_slot,
                means: SyncMethod::Flush,
            });
            next.locations_mut().for_each(|at| at.begin_flush());
        });
        steps.push(Action::BeginFlush { name }, Ok(next));
        journal::begin_entry(state, engine, rules, steps);
    } else if engine.newest != engine.flushed {
        flush_journaled(state, engine, rules, steps);
    }
}

/// What a close does first. That it is one step leaves nothing out: nobody writes meanwhile.
fn flush_journaled(state: &ProtocolState, engine: &EngineMemory, rules: &Rules, steps: &mut Steps) {
    let name = state.name(engine.newest);
    let target = FlushTarget {
        commit: engine.newest,
        slot: engine.newest_slot,
        means: SyncMethod::Flush,
    };
    let flushed = after(state, rules, |next, engine| {
        next.flush();
        engine.target = Some(target);
        note_durable(next, engine, rules);
    });
    steps.push(Action::CompleteFlush { name }, Ok(flushed));
    if state.mishaps_left > 0 {
        fail(state, engine, target, rules, steps);
    }
}

fn completion(state: &ProtocolState, target: FlushTarget) -> Action {
    let name = state.name(target.commit);
    match target.means {
        SyncMethod::Flush => Action::CompleteFlush { name },
        SyncMethod::Entry(_) => Action::CompleteEntry { name },
    }
}

/// What was being made durable is on the disk.
fn complete(next: &mut ProtocolState, engine: &mut EngineMemory, rules: &Rules) {
    match engine.target.map(|target| target.means) {
        Some(SyncMethod::Flush) => next.locations_mut().for_each(|at| at.complete_flush()),
        Some(SyncMethod::Entry(index)) => next.journal[usize::from(index)].secure(),
        None => {}
    }
    note_durable(next, engine, rules);
}

pub(super) fn note_durable(next: &mut ProtocolState, engine: &mut EngineMemory, rules: &Rules) {
    let Some(mut target) = engine.target.take() else {
        return;
    };
    if rules.has(Planted::LateWritesCount) {
        (target.commit, target.slot) = (engine.newest, engine.newest_slot);
    }
    engine.durable = target.commit;
    match target.means {
        SyncMethod::Flush => {
            engine.flushed = target.commit;
            engine.flushed_slot = target.slot;
            if !next.journal.is_empty() && !rules.has(Planted::ChainGoesOn) {
                engine.chain = Some(0);
            }
        }
        SyncMethod::Entry(index) => engine.chain = Some(index + 1),
    }
    if next.transaction(engine.published) < next.transaction(target.commit) {
        engine.published = target.commit;
    }
    next.promised = target.commit;
}

/// A flush fails, or the write of an entry: of that one nobody knows then whether the disk has it.
fn fail(
    state: &ProtocolState,
    engine: &EngineMemory,
    target: FlushTarget,
    rules: &Rules,
    steps: &mut Steps,
) {
    let name = state.name(target.commit);
    let mut failed = state.clone();
    let action = match target.means {
        SyncMethod::Flush => {
            failed.locations_mut().for_each(|at| at.fail_flush());
            Action::FailFlush { name }
        }
        SyncMethod::Entry(index) => {
            failed.journal[usize::from(index)].fail_flush();
            Action::FailEntry { name }
        }
    };
    failed.mishaps_left -= 1;
    let mut engine = engine.clone();
    if rules.has(Planted::FailedFlushTrusted) {
        failed.phase = EnginePhase::Running(engine);
        let next = after(&failed, rules, |next, engine| {
            engine.target = Some(target);
            note_durable(next, engine, rules);
        });
        steps.push(action, Ok(next));
        return;
    }
    let published = state.commit(engine.published);
    let is_durable = published.transaction <= state.transaction(engine.durable);
    if published.durability == Durability::Durable && !is_durable {
        steps.push(action, Err(ProtocolViolation::FailedIsVisible));
        return;
    }
    engine.target = None;
    failed.phase = EnginePhase::Poisoned {
        engine,
        is_rewritten: false,
    };
    steps.push(action, Ok(failed));
}

/// What a poisoned engine does, each step of which may be its last: it writes the record of what is
/// visible with the highest sequence, then erases those of what is not.
pub(super) fn poisoned(
    state: &ProtocolState,
    engine: &EngineMemory,
    is_rewritten: bool,
    rules: &Rules,
    steps: &mut Steps,
) {
    if engine.published == engine.newest {
        return;
    }
    let is_erasing_first = rules.has(Planted::ErasedFirst);
    for slot in 0..SLOT_COUNT as u8 {
        // Any other is as good, so the model takes them all.
        if !is_rewritten && !is_erasing_first && slot != engine.flushed_slot {
            let mut next = state.clone();
            next.write_record(slot, visible_record(state, engine));
            if let EnginePhase::Poisoned { is_rewritten, .. } = &mut next.phase {
                *is_rewritten = true;
            }
            steps.push(Action::WriteVisibleAgain { slot }, Ok(next));
        }
        let visible = state.transaction(engine.published);
        let is_hidden = state
            .cached_record(slot)
            .is_some_and(|record| state.transaction(record.commit) > visible);
        if (is_rewritten || is_erasing_first) && is_hidden {
            let mut next = state.clone();
            next.write_slot(slot, 0);
            steps.push(Action::EraseHidden { slot }, Ok(next));
        }
    }
}

/// A close flushes, which is a flush as any other, and then writes its record.
fn closing(state: &ProtocolState, engine: &EngineMemory, rules: &Rules, steps: &mut Steps) {
    let is_flushed = match rules.planted {
        Some(Planted::ClosedUnflushed) => true,
        Some(Planted::ClosedJournaled) => engine.durable == engine.newest,
        _ => engine.flushed == engine.newest,
    };
    let is_idle = engine.target.is_none() && engine.readers.is_empty();
    let is_changed = state
        .cached_record(engine.newest_slot)
        .is_some_and(|record| !record.is_clean_close);
    if !(is_flushed && is_idle && is_changed) {
        return;
    }
    for slot in engine.next_slots(state, rules) {
        let mut next = state.clone();
        let record = CommitRecord {
            sequence: state.next_sequence(),
            commit: engine.newest,
            known_durable: state.transaction(engine.newest),
            acknowledged: state.transaction(engine.newest),
            is_clean_close: true,
            is_stale: false,
        };
        next.write_record(slot, record);
        let mut engine = engine.clone();
        engine.newest_slot = slot;
        next.phase = EnginePhase::Closing(engine);
        steps.push(Action::WriteClose { slot }, Ok(next));
    }
}

/// How a close ends: flushed, or with a record that is erased because the flush failed.
pub(super) fn close_ends(state: &ProtocolState, engine: &EngineMemory, steps: &mut Steps) {
    let mut closed = state.clone();
    closed.flush();
    closed.phase = EnginePhase::Down;
    closed.kept = Some(engine.newest);
    steps.push(Action::CompleteClose, Ok(closed));
    if state.mishaps_left > 0 {
        let mut failed = state.clone();
        failed.locations_mut().for_each(|at| at.fail_flush());
        failed.write_slot(engine.newest_slot, 0);
        steps.push(Action::FailClose, Ok(super::crash::killed(&failed)));
    }
}
