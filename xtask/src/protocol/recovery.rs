//! Opening: the choice of the record, and the writes that make it permanent.

use super::{
    actions::{Action, ProtocolViolation, Steps},
    decision::{Decision, decide, is_whole, readable},
    rules::{Planted, Rules},
    state::{CommitIndex, EngineMemory, EnginePhase, ProtocolState, SLOT_COUNT, only},
};

/// Reads the slots and the journal, and decides.
pub(super) fn open(
    state: &ProtocolState,
    rules: &Rules,
) -> Result<ProtocolState, ProtocolViolation> {
    let mut next = state.clone();
    match decide(state, rules)? {
        Decision::Clean { slot, flushed_slot } => {
            let commit = commit_in(state, slot)?;
            return opened(state, commit, slot, flushed_slot);
        }
        Decision::Found { slot } => {
            next.phase = EnginePhase::Decided {
                slot,
                redone: None,
                is_dropped: false,
            };
        }
        Decision::ToRedo(redo) => redo.begin(&mut next, rules),
    }
    Ok(next)
}

fn commit_in(state: &ProtocolState, slot: u8) -> Result<CommitIndex, ProtocolViolation> {
    let record = state
        .cached_record(slot)
        .ok_or(ProtocolViolation::NothingReadable)?;
    Ok(record.commit)
}

/// Rewrites the chosen commit. The system keeps it until it is on the disk or a flush fails. Then
/// checks it again, because the system may have dropped parts of it since the first check.
pub(super) fn settle(
    state: &ProtocolState,
    rules: &Rules,
) -> Result<ProtocolState, ProtocolViolation> {
    let mut next = state.clone();
    let EnginePhase::Decided {
        slot,
        redone,
        is_dropped,
    } = state.phase
    else {
        return Ok(next);
    };
    if !rules.has(Planted::NotWrittenAgain) {
        write_again(&mut next, slot);
    }
    if !rules.has(Planted::VerifiedOnce) {
        let is_record_seen = rules.has(Planted::RecordVerifiedOnce);
        let record = state.cached_record(slot);
        let is_still_so = record.is_some_and(|record| is_whole(state, record, rules));
        if !is_still_so || is_dropped && !is_record_seen {
            next.phase = decided_again(redone);
            return Ok(next);
        }
    }
    let readable = readable(state);
    let newer = readable.iter().take_while(|(read, _)| *read != slot);
    let losers = match rules.has(Planted::LosersLeft) {
        true => 0,
        false => newer.fold(0, |losers, (loser, _)| losers | 1 << loser),
    };
    next.phase = EnginePhase::Settling {
        slot,
        losers,
        is_dropped,
    };
    if !rules.has(Planted::UnreadableLeft) {
        erase_unreadable(&mut next);
    }
    Ok(next)
}

/// The phase after some pages became incomplete.
const fn decided_again(redone: Option<CommitIndex>) -> EnginePhase {
    match redone {
        None => EnginePhase::Down,
        Some(redone) => EnginePhase::Redoing {
            pages: 0,
            is_recorded: false,
            redone,
            whole: None,
        },
    }
}

fn write_again(next: &mut ProtocolState, slot: u8) {
    let Some(record) = next.cached_record(slot).copied() else {
        return;
    };
    let tree = next.commit(record.commit).tree;
    let young = tree.into_iter().flatten();
    for reference in young.filter(|reference| reference.birth > record.known_durable) {
        let content = next.pages[usize::from(reference.page)].cache;
        next.write_page(reference.page, content);
    }
    let content = next.slots[usize::from(slot)].cache;
    next.write_slot(slot, content);
}

/// In the cache this changes nothing, so it is no step of its own.
fn erase_unreadable(next: &mut ProtocolState) {
    for slot in 0..SLOT_COUNT as u8 {
        if next.cached_record(slot).is_none() {
            next.write_slot(slot, 0);
        }
    }
}

/// All possible next steps of recovery after its decision: it erases the losers, the newest first,
/// and flushes.
pub(super) fn settling(state: &ProtocolState, rules: &Rules, steps: &mut Steps) {
    let EnginePhase::Settling {
        slot,
        losers,
        is_dropped,
    } = state.phase
    else {
        return;
    };
    let is_loser = |loser: &u8| losers & (1 << loser) != 0;
    let sequence = |slot: &u8| state.cached_record(*slot).map(|record| record.sequence);
    let newest = (0..SLOT_COUNT as u8).filter(is_loser).max_by_key(sequence);
    if let Some(loser) = newest {
        let mut next = state.clone();
        next.write_slot(loser, 0);
        next.phase = EnginePhase::Settling {
            slot,
            losers: losers & !(1 << loser),
            is_dropped,
        };
        steps.push(Action::EraseLoser(loser), Ok(next));
        return;
    }
    let mut flushed = state.clone();
    if !rules.has(Planted::RecoveredUnflushed) {
        flushed.flush();
    }
    if is_dropped && !rules.has(Planted::VerifiedOnce) {
        steps.push(
            Action::CompleteRecovery,
            Err(ProtocolViolation::RecordNotOnDisk(slot)),
        );
    } else if let Some(record) = state.cached_record(slot) {
        let result = opened(&flushed, record.commit, slot, slot);
        steps.push(Action::CompleteRecovery, result);
    }
}

/// An engine that continues from a commit. This is a promise: no other commit may reappear later.
fn opened(
    state: &ProtocolState,
    commit: CommitIndex,
    slot: u8,
    flushed_slot: u8,
) -> Result<ProtocolState, ProtocolViolation> {
    for reference in state.commit(commit).tree.iter().flatten() {
        if !state.pages[usize::from(reference.page)].is_certainly(reference.content) {
            return Err(ProtocolViolation::PageNotOnDisk(reference.page));
        }
    }
    let flushed = state.slots[usize::from(flushed_slot)];
    if flushed.possible() != only(flushed.cache) {
        return Err(ProtocolViolation::RecordNotOnDisk(flushed_slot));
    }
    let mut next = state.clone();
    for (known, index) in next.commits.iter_mut().zip(0..) {
        known.is_abandoned |= index != commit;
    }
    next.promised = commit;
    next.kept = None;
    next.phase = EnginePhase::Running(EngineMemory::opened(state, commit, slot, flushed_slot));
    Ok(next)
}
