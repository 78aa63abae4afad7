//! The choice of the record when a database is opened.

use super::{
    actions::ProtocolViolation,
    journal,
    rules::{Planted, Rules},
    state::{CommitIndex, CommitRecord, ENTRIES_MAX, ProtocolState, SLOT_COUNT},
};
use arrayvec::ArrayVec;

/// The decision of recovery.
pub(super) enum Decision {
    /// The database was closed. A record in that slot is certainly on the disk.
    Clean {
        slot: u8,
        flushed_slot: u8,
    },
    Found {
        slot: u8,
    },
    ToRedo(Redo),
}

/// The commit that the entries of the journal lead to.
#[derive(Clone, Debug)]
pub(super) struct Redo {
    /// The record of the last entry, and its slot and content.
    pub(super) record: CommitRecord,
    pub(super) content: u8,
    pub(super) slot: u8,
    pub(super) entries: ArrayVec<u8, ENTRIES_MAX>,
}

impl Redo {
    /// The entries after the first of these records that has entries.
    pub(super) fn read(
        state: &ProtocolState,
        readable: &[(u8, CommitRecord)],
        rules: &Rules,
    ) -> Result<Option<Self>, ProtocolViolation> {
        if rules.has(Planted::NothingRedone) {
            return Ok(None);
        }
        for (slot, _) in readable {
            let entries = journal::chain(state, *slot, rules).ok_or(ProtocolViolation::Nonsense)?;
            let last = entries.last().and_then(|&content| state.entry(content));
            let record = last.and_then(|last| state.record(last.record));
            if let (Some(last), Some(record)) = (last, record) {
                return Ok(Some(Self {
                    record: *record,
                    content: last.record,
                    slot: last.slot,
                    entries,
                }));
            }
        }
        Ok(None)
    }
}

/// Decides without changing anything.
pub(super) fn decide(state: &ProtocolState, rules: &Rules) -> Result<Decision, ProtocolViolation> {
    let readable = readable(state);
    let &(slot, newest) = readable.first().ok_or(ProtocolViolation::NothingReadable)?;
    let redo = Redo::read(state, &readable, rules)?;
    let redo_after = |record: &CommitRecord| {
        let redo = redo.clone();
        redo.filter(|redo| redo.record.sequence > record.sequence)
    };
    if let Some(redo) = redo_after(&newest) {
        return Ok(Decision::ToRedo(redo));
    }
    // While a slot cannot be read, its content on the disk is unknown, even for a closed database.
    let is_settled = readable.len() == SLOT_COUNT || rules.has(Planted::CloseNotSettled);
    if newest.is_clean_close && is_settled {
        let before = readable.get(1).filter(|(_, before)| {
            !before.is_stale
                && state.transaction(before.commit) == state.transaction(newest.commit)
                && !rules.has(Planted::CloseTrusted)
        });
        let flushed_slot = before.map_or(slot, |(slot, _)| *slot);
        check_choice(state, newest.commit)?;
        return Ok(Decision::Clean { slot, flushed_slot });
    }
    let (slot, record) = choose(state, &readable, rules)?;
    if let Some(redo) = redo_after(&record) {
        return Ok(Decision::ToRedo(redo));
    }
    let acknowledged = readable.iter().map(|(_, record)| record.acknowledged).max();
    if acknowledged > Some(state.transaction(record.commit)) {
        return Err(ProtocolViolation::AcknowledgedGone);
    }
    check_choice(state, record.commit)?;
    Ok(Decision::Found { slot })
}

/// The records in the cache, newest first.
pub(super) fn readable(state: &ProtocolState) -> Vec<(u8, CommitRecord)> {
    let mut readable: Vec<(u8, CommitRecord)> = (0..SLOT_COUNT as u8)
        .filter_map(|slot| Some((slot, *state.cached_record(slot)?)))
        .collect();
    readable.sort_by_key(|(_, record)| std::cmp::Reverse(record.sequence));
    readable
}

/// The newest complete record, and its slot.
fn choose(
    state: &ProtocolState,
    readable: &[(u8, CommitRecord)],
    rules: &Rules,
) -> Result<(u8, CommitRecord), ProtocolViolation> {
    if let Some(closed) = readable.first().filter(|(_, newest)| newest.is_clean_close) {
        return Ok(*closed);
    }
    let known_durable = readable
        .iter()
        .map(|(_, record)| record.known_durable)
        .max()
        .unwrap_or(0);
    for &(slot, record) in readable {
        if record.is_stale {
            return Err(ProtocolViolation::PromisedLost);
        }
        let transaction = state.transaction(record.commit);
        if is_whole(state, &record, rules) {
            if transaction < known_durable {
                return Err(ProtocolViolation::DurableGone);
            }
            return Ok((slot, record));
        }
        if transaction <= known_durable {
            return Err(ProtocolViolation::FalseCorruption);
        }
    }
    Err(ProtocolViolation::NothingWhole)
}

/// Whether all pages that a record does not know to be durable are right.
pub(super) fn is_whole(state: &ProtocolState, record: &CommitRecord, rules: &Rules) -> bool {
    if rules.has(Planted::NothingVerified) {
        return true;
    }
    let inspected = match rules.has(Planted::RootVerifiedAlone) {
        true => 1,
        false => 2,
    };
    let tree = state.commit(record.commit).tree.iter().flatten();
    tree.take(inspected)
        .filter(|reference| reference.birth > record.known_durable)
        .all(|reference| state.pages[usize::from(reference.page)].cache == reference.content)
}

/// Checks the choice against the promises.
fn check_choice(state: &ProtocolState, commit: CommitIndex) -> Result<(), ProtocolViolation> {
    if !state.contains(commit, state.promised) || state.commit(commit).is_abandoned {
        return Err(match state.contains(state.promised, commit) {
            true => ProtocolViolation::PromisedLost,
            false => ProtocolViolation::CameBack,
        });
    }
    if state.kept.is_some_and(|kept| !state.contains(commit, kept)) {
        return Err(ProtocolViolation::LostWithoutPowerCut);
    }
    match state.wrong_page(commit) {
        Some(page) => Err(ProtocolViolation::WrongPage(page)),
        None => Ok(()),
    }
}
