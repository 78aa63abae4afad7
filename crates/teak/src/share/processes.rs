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
const ENTRY_INDEX_BITS: u32 = 13;
/// A token leaves the highest bit of a 32-bit word free.
const TOKEN_MASK: u32 = u32::MAX >> 1;

const _: () = assert!(
    PROCESSES_MAX < (1 << ENTRY_INDEX_BITS) - 1,
    "a token has bits for each entry counted from 1, and no token has all bits of it set"
);

/// A process at its entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Membership {
    index: u32,
    entry: u64,
}

impl Membership {
    pub(crate) fn entry_index(self) -> u32 {
        self.index
    }

    /// The token that marks locks and slots of this process; never 0.
    pub(crate) fn token(self) -> u32 {
        token(self.index, self.entry)
    }
}

/// The entry's index in a token, if it is valid.
pub(crate) fn entry_index_of(token: u32) -> Option<u32> {
    let index = token & ((1 << ENTRY_INDEX_BITS) - 1);
    index.checked_sub(1).filter(|index| *index < PROCESSES_MAX)
}

fn token(index: u32, entry: u64) -> u32 {
    let incarnation = (entry >> 32) as u32;
    (incarnation << ENTRY_INDEX_BITS | (index + 1)) & TOKEN_MASK
}

/// The content of an entry before its process was checked for being alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspect {
    index: u32,
    entry: u64,
}

impl Suspect {
    pub(crate) fn entry_index(self) -> u32 {
        self.index
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
    pub(crate) fn enter(&self, index: u32, process: u32, namespace: u64) -> Membership {
        assert!(index < PROCESSES_MAX, "the table has an entry at the index");
        assert_ne!(process, 0, "an entry without process id is empty");
        self.word(index, 1).store(namespace, Relaxed);
        let entry = next_incarnation(self.word(index, 0).load(Relaxed)) | u64::from(process);
        self.word(index, 0).store(entry, Release);
        let membership = Membership { index, entry };
        assert_eq!(
            entry_index_of(membership.token()),
            Some(index),
            "a token leads back to the entry of its process"
        );
        membership
    }

    /// Whether this process was not declared dead.
    #[inline]
    pub(crate) fn is_current(&self, membership: Membership) -> bool {
        self.word(membership.index, 0).load(Relaxed) == membership.entry
    }

    /// Releases the entry of a process.
    pub(crate) fn leave(&self, membership: Membership) {
        let (word, entry) = (self.word(membership.index, 0), membership.entry);
        let _ = word.compare_exchange(entry, next_incarnation(entry), AcqRel, Relaxed);
    }

    /// The process of a token; `None` if it has left, was declared dead, or never existed.
    pub(crate) fn suspect(&self, suspected: u32) -> Option<Suspect> {
        let index = entry_index_of(suspected)?;
        let entry = self.word(index, 0).load(Acquire);
        let is_same = entry as u32 != 0 && token(index, entry) == suspected;
        is_same.then_some(Suspect { index, entry })
    }

    /// Declares a process dead whose lock was found free. Returns `false` if its entry belongs to
    /// another process by now, or to none.
    pub(crate) fn declare_dead(&self, suspect: Suspect) -> bool {
        let (word, entry) = (self.word(suspect.index, 0), suspect.entry);
        let declared = word.compare_exchange(entry, next_incarnation(entry), AcqRel, Relaxed);
        declared.is_ok()
    }

    /// The id of the process of a token, if it is in this PID namespace.
    pub(crate) fn process(&self, of: u32, namespace: u64) -> Option<u32> {
        let suspect = self.suspect(of)?;
        let is_here = self.word(suspect.index, 1).load(Relaxed) == namespace;
        (is_here && self.suspect(of).is_some()).then_some(suspect.entry as u32)
    }

    /// The bytes of the table in the memory.
    pub(crate) fn bytes(&self) -> Range<usize> {
        self.entry_bytes(0).start..self.entry_bytes(PROCESSES_MAX - 1).end
    }

    /// The bytes of an entry in the memory.
    pub(crate) fn entry_bytes(&self, index: u32) -> Range<usize> {
        assert!(index < PROCESSES_MAX, "the table has an entry at the index");
        let start = self.start + index as usize * ENTRY_WORDS;
        start * size_of::<u64>()..(start + ENTRY_WORDS) * size_of::<u64>()
    }

    #[inline]
    fn word(&self, index: u32, word: usize) -> &AtomicU64 {
        &self.memory.words()[self.start + index as usize * ENTRY_WORDS + word]
    }
}

/// An empty entry of the next incarnation.
fn next_incarnation(entry: u64) -> u64 {
    (entry >> 32).wrapping_add(1) << 32
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;
