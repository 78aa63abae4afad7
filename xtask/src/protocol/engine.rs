//! The steps of a running engine.

use super::{
    actions::{Action, ProtocolViolation, Steps},
    engine_memory::{after, note_durable},
    journal,
    rules::{Planted, Rules},
    state::{
        CommitIndex, CommitName, CommitRecord, Durability, EngineMemory, EnginePhase, FlushTarget,
        PageReference, PageUse, ProtocolCommit, ProtocolState, SLOT_COUNT, SyncMethod,
    },
};

/// All possible next steps of a running engine.
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
            let action = Action::KillInCommit(slot);
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

/// The worst case of an unfinished commit: all free pages are overwritten, and the slot is
/// unreadable.
fn killed_in_commit(state: &ProtocolState, engine: &EngineMemory, slot: u8) -> ProtocolState {
    let mut next = state.clone();
    for page in engine.free_pages() {
        next.write_page(page, 0);
    }
    next.write_slot(slot, 0);
    super::crash::killed(&next)
}

/// A commit with written pages whose record is in the cache or torn, but the system reports that it
/// could not be written. If a flush runs, the engine waits for it.
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

/// The possible ends of a flush or entry after which nothing more becomes durable.
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
    complete_flush(&mut completed, &mut durable, rules);
    completed.phase = EnginePhase::Poisoned {
        engine: durable,
        is_rewritten: false,
    };
    steps.push(completion(state, target), Ok(completed));
    if state.mishaps_left > 0 {
        fail_flush(state, engine, target, rules, steps);
    }
    if rules.has(Planted::TakenBackEarly) {
        taken_back_early(state, engine, steps);
    }
}

/// Undoes all invisible commits, once, while the flush runs.
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
        steps.push(Action::WriteVisibleAgain(slot), Ok(next));
    }
}

/// The newest record of the state that readers see.
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
        steps.push(Action::BeginReader(name), Ok(next));
    }
    for at in 0..engine.readers.len() {
        let name = state.name(engine.readers[at]);
        let next = after(state, rules, |_, engine| {
            engine.readers.remove(at);
        });
        steps.push(Action::EndReader(name), Ok(next));
    }
}

fn flushes(state: &ProtocolState, engine: &EngineMemory, rules: &Rules, steps: &mut Steps) {
    if let Some(target) = engine.target {
        let completed = after(state, rules, |next, engine| {
            complete_flush(next, engine, rules)
        });
        steps.push(completion(state, target), Ok(completed));
        if state.mishaps_left > 0 {
            fail_flush(state, engine, target, rules, steps);
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
        steps.push(Action::BeginFlush(name), Ok(next));
        journal::begin_entry(state, engine, rules, steps);
    } else if engine.newest != engine.flushed {
        flush_journaled(state, engine, rules, steps);
    }
}

/// The first step of a close. One step is enough, because nothing else writes at that time.
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
    steps.push(Action::CompleteFlush(name), Ok(flushed));
    if state.mishaps_left > 0 {
        fail_flush(state, engine, target, rules, steps);
    }
}

fn completion(state: &ProtocolState, target: FlushTarget) -> Action {
    let name = state.name(target.commit);
    match target.means {
        SyncMethod::Flush => Action::CompleteFlush(name),
        SyncMethod::Entry(_) => Action::CompleteEntry(name),
    }
}

/// The target of the flush or entry is on the disk.
fn complete_flush(next: &mut ProtocolState, engine: &mut EngineMemory, rules: &Rules) {
    match engine.target.map(|target| target.means) {
        Some(SyncMethod::Flush) => next.locations_mut().for_each(|at| at.complete_flush()),
        Some(SyncMethod::Entry(index)) => next.journal[usize::from(index)].secure(),
        None => {}
    }
    note_durable(next, engine, rules);
}

/// A flush or the write of an entry fails. The disk may or may not have the entry then.
fn fail_flush(
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
            Action::FailFlush(name)
        }
        SyncMethod::Entry(index) => {
            failed.journal[usize::from(index)].fail_flush();
            Action::FailEntry(name)
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

/// The steps of a poisoned engine, each of which may be its last: it writes the record of the
/// visible commit with the highest sequence, then erases the records of invisible commits.
pub(super) fn take_back(
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
        // Any other slot is as good, so the model tries them all.
        if !is_rewritten && !is_erasing_first && slot != engine.flushed_slot {
            let mut next = state.clone();
            next.write_record(slot, visible_record(state, engine));
            if let EnginePhase::Poisoned { is_rewritten, .. } = &mut next.phase {
                *is_rewritten = true;
            }
            steps.push(Action::WriteVisibleAgain(slot), Ok(next));
        }
        let visible = state.transaction(engine.published);
        let is_hidden = state
            .cached_record(slot)
            .is_some_and(|record| state.transaction(record.commit) > visible);
        if (is_rewritten || is_erasing_first) && is_hidden {
            let mut next = state.clone();
            next.write_slot(slot, 0);
            steps.push(Action::EraseHidden(slot), Ok(next));
        }
    }
}

/// A close makes a flush like any other, and then writes its record.
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
        steps.push(Action::WriteClose(slot), Ok(next));
    }
}

/// The possible ends of a close: flushed, or with a record that is erased because the flush failed.
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
