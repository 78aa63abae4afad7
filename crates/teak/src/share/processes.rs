//! The table of processes: which process has which entry, and whether others have declared it dead.
//!
//! A process is known to live by a lock of the system (see `io/lock_file.rs`). A process that finds
//! this lock free *declares the other dead* before it takes anything from it: it changes the entry
//! by compare-and-exchange. If the other process lives nevertheless, because its lock was lost, its
//! entry shows that it has lost everything, and it stops writing.
//!
//! Each process that takes an entry begins a new *incarnation* of it. The entry's index and
//! incarnation form a *token*. Locks and blocks of reader slots are marked with tokens, so that
//! holdings of a dead process are not attributed to its successor.

use super::words::{AcqRel, Acquire, AtomicU64, Memory, Relaxed, Release};
use crate::io::PROCESSES_MAX;
use std::{ops::Range, sync::Arc};

/// Words of an entry: incarnation and process id, and the PID namespace.
const ENTRY_WORDS: usize = 2;
/// Words of the table.
pub(super) const TABLE_WORDS: usize = PROCESSES_MAX as usize * ENTRY_WORDS;
/// Bits of a token for the entry's index, counted from 1. The other bits are the low bits of the
/// incarnation.
const PLACE_BITS: u32 = 13;
/// A token leaves the highest bit of a 32-bit word free.
const TOKEN_MASK: u32 = u32::MAX >> 1;

const _: () = assert!(
    PROCESSES_MAX < (1 << PLACE_BITS) - 1,
    "a token has bits for each entry counted from 1, and no token has all bits of it set"
);

/// A process at its entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Membership {
    place: u32,
    entry: u64,
}

impl Membership {
    pub(crate) fn place(self) -> u32 {
        self.place
    }

    /// The token that marks locks and slots of this process; never 0.
    pub(crate) fn token(self) -> u32 {
        token(self.place, self.entry)
    }
}

/// The entry's index in a token, if it is valid.
pub(crate) fn place_of(token: u32) -> Option<u32> {
    let place = token & ((1 << PLACE_BITS) - 1);
    place.checked_sub(1).filter(|place| *place < PROCESSES_MAX)
}

fn token(place: u32, entry: u64) -> u32 {
    let incarnation = (entry >> 32) as u32;
    (incarnation << PLACE_BITS | (place + 1)) & TOKEN_MASK
}

/// The content of an entry before its process was checked for being alive.
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
    /// Index of its first word.
    start: usize,
}

impl ProcessTable {
    pub(crate) fn new(memory: Arc<Memory>, start: usize) -> Self {
        Self { memory, start }
    }

    /// Begins a new incarnation at an entry whose lock this process holds.
    pub(crate) fn enter(&self, place: u32, process: u32, namespace: u64) -> Membership {
        assert!(place < PROCESSES_MAX, "the table has an entry at the index");
        assert_ne!(process, 0, "an entry without process id is empty");
        self.word(place, 1).store(namespace, Relaxed);
        let entry = next_incarnation(self.word(place, 0).load(Relaxed)) | u64::from(process);
        self.word(place, 0).store(entry, Release);
        let membership = Membership { place, entry };
        assert_eq!(
            place_of(membership.token()),
            Some(place),
            "a token leads back to the entry of its process"
        );
        membership
    }

    /// Whether this process was not declared dead.
    #[inline]
    pub(crate) fn is_current(&self, membership: Membership) -> bool {
        self.word(membership.place, 0).load(Relaxed) == membership.entry
    }

    /// Releases the entry of a process.
    pub(crate) fn leave(&self, membership: Membership) {
        let (word, entry) = (self.word(membership.place, 0), membership.entry);
        let _ = word.compare_exchange(entry, next_incarnation(entry), AcqRel, Relaxed);
    }

    /// The process of a token; `None` if it has left, was declared dead, or never existed.
    pub(crate) fn suspect(&self, suspected: u32) -> Option<Suspect> {
        let place = place_of(suspected)?;
        let entry = self.word(place, 0).load(Acquire);
        let is_same = entry as u32 != 0 && token(place, entry) == suspected;
        is_same.then_some(Suspect { place, entry })
    }

    /// Declares a process dead whose lock was found free. Returns `false` if its entry belongs to
    /// another process by now, or to none.
    pub(crate) fn declare_dead(&self, suspect: Suspect) -> bool {
        let (word, entry) = (self.word(suspect.place, 0), suspect.entry);
        let declared = word.compare_exchange(entry, next_incarnation(entry), AcqRel, Relaxed);
        declared.is_ok()
    }

    /// The id of the process of a token, if it is in this PID namespace.
    pub(crate) fn process(&self, of: u32, namespace: u64) -> Option<u32> {
        let suspect = self.suspect(of)?;
        let is_here = self.word(suspect.place, 1).load(Relaxed) == namespace;
        (is_here && self.suspect(of).is_some()).then_some(suspect.entry as u32)
    }

    /// The bytes of an entry in the memory.
    pub(crate) fn entry_bytes(&self, place: u32) -> Range<usize> {
        assert!(place < PROCESSES_MAX, "the table has an entry at the index");
        let start = self.start + place as usize * ENTRY_WORDS;
        start * size_of::<u64>()..(start + ENTRY_WORDS) * size_of::<u64>()
    }

    #[inline]
    fn word(&self, place: u32, index: usize) -> &AtomicU64 {
        &self.memory.words()[self.start + place as usize * ENTRY_WORDS + index]
    }
}

/// An empty entry of the next incarnation.
fn next_incarnation(entry: u64) -> u64 {
    (entry >> 32).wrapping_add(1) << 32
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;
