//! The table of processes: who is at which place, and whether others have declared it dead.
//!
//! That a process lives is known by a lock of the system's (see `io/lock_file.rs`). Whoever finds
//! that lock free *declares the process dead* before taking anything from it: it changes the entry of
//! the place, by comparing and exchanging. A process that lives all the same, since something has
//! taken its lock away, sees by its entry that it has lost everything, and writes no more.
//!
//! Each process that comes to a place gets another *incarnation* there. A place and its incarnation
//! are a *token*, which is what locks and blocks of reader slots are marked with. So what a dead
//! process held is not taken for its successor's.

use super::words::{AcqRel, Acquire, AtomicU64, Memory, Relaxed, Release};
use crate::io::PROCESSES_MAX;
use std::{ops::Range, sync::Arc};

/// Words of an entry: incarnation and process id, and the PID namespace.
const ENTRY_WORDS: usize = 2;
/// Words of the table.
pub(super) const TABLE_WORDS: usize = PROCESSES_MAX as usize * ENTRY_WORDS;
/// Bits of a token that say which place it is of, counted from 1; the rest are the low bits of the incarnation.
const PLACE_BITS: u32 = 13;
/// A token fits beside the highest bit of a word of 32 bits.
const TOKEN_MASK: u32 = u32::MAX >> 1;

/// A process at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Membership {
    place: u32,
    entry: u64,
}

impl Membership {
    pub(crate) fn place(self) -> u32 {
        self.place
    }

    /// What locks and slots of this process are marked with; never 0.
    pub(crate) fn token(self) -> u32 {
        token(self.place, self.entry)
    }
}

/// The place of a token, if it is one.
pub(crate) fn place_of(token: u32) -> Option<u32> {
    let place = token & ((1 << PLACE_BITS) - 1);
    place.checked_sub(1).filter(|place| *place < PROCESSES_MAX)
}

fn token(place: u32, entry: u64) -> u32 {
    let incarnation = (entry >> 32) as u32;
    (incarnation << PLACE_BITS | (place + 1)) & TOKEN_MASK
}

/// What an entry said before it was asked whether the process lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspect {
    place: u32,
    entry: u64,
}

impl Suspect {
    pub(crate) fn place(self) -> u32 {
        self.place
    }
}

/// The table, in memory that all processes share.
#[derive(Clone, Debug)]
pub(crate) struct ProcessTable {
    memory: Arc<Memory>,
    /// The first word.
    start: usize,
}

impl ProcessTable {
    pub(crate) fn new(memory: Arc<Memory>, start: usize) -> Self {
        Self { memory, start }
    }

    /// Begins a new incarnation at a place that this process has the lock of.
    pub(crate) fn enter(&self, place: u32, process: u32, namespace: u64) -> Membership {
        self.word(place, 1).store(namespace, Relaxed);
        let entry = next_incarnation(self.word(place, 0).load(Relaxed)) | u64::from(process);
        self.word(place, 0).store(entry, Release);
        Membership { place, entry }
    }

    /// Whether nobody has declared this process dead.
    #[inline]
    pub(crate) fn is_current(&self, membership: Membership) -> bool {
        self.word(membership.place, 0).load(Relaxed) == membership.entry
    }

    /// The process gives its place up.
    pub(crate) fn leave(&self, membership: Membership) {
        let (word, entry) = (self.word(membership.place, 0), membership.entry);
        let _ = word.compare_exchange(entry, next_incarnation(entry), AcqRel, Relaxed);
    }

    /// The process that a token is of; `None` if that has gone, been declared dead, or never was.
    pub(crate) fn suspect(&self, suspected: u32) -> Option<Suspect> {
        let place = place_of(suspected)?;
        let entry = self.word(place, 0).load(Acquire);
        let is_same = entry as u32 != 0 && token(place, entry) == suspected;
        is_same.then_some(Suspect { place, entry })
    }

    /// Declares a process dead whose lock was found free. Says `false` if its place has another one by now, or none.
    pub(crate) fn declare_dead(&self, suspect: Suspect) -> bool {
        let (word, entry) = (self.word(suspect.place, 0), suspect.entry);
        let declared = word.compare_exchange(entry, next_incarnation(entry), AcqRel, Relaxed);
        declared.is_ok()
    }

    /// The id of the process that a token is of, if that is one of this namespace.
    pub(crate) fn process(&self, of: u32, namespace: u64) -> Option<u32> {
        let suspect = self.suspect(of)?;
        let is_here = self.word(suspect.place, 1).load(Relaxed) == namespace;
        (is_here && self.suspect(of).is_some()).then_some(suspect.entry as u32)
    }

    /// The bytes of the entry of a place in the memory.
    pub(crate) fn entry_bytes(&self, place: u32) -> Range<usize> {
        let start = self.start + place as usize * ENTRY_WORDS;
        start * size_of::<u64>()..(start + ENTRY_WORDS) * size_of::<u64>()
    }

    #[inline]
    fn word(&self, place: u32, index: usize) -> &AtomicU64 {
        &self.memory.words()[self.start + place as usize * ENTRY_WORDS + index]
    }
}

/// An entry without a process, of the incarnation that follows.
fn next_incarnation(entry: u64) -> u64 {
    (entry >> 32).wrapping_add(1) << 32
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;
