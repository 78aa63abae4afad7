//! Words in shared memory, and their operations. A model of the code built on them replaces this
//! file.

pub(crate) use crate::io::{LINE, Memory, sleep_on, wake_all, wake_one};
pub(super) use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
    fence,
};

/// Overwrites a word that other threads compare and exchange. Their previous value is lost.
#[inline]
pub(super) fn overwrite(word: &AtomicU64, value: u64) {
    word.store(value, Release);
}

/// Words of a system page.
pub(super) const PAGE: usize = 512;
/// Slots that a process takes at once: one system page, with a cache line for each slot.
pub(super) const SLOTS_PER_BLOCK: usize = 64;

const _: () = assert!(
    SLOTS_PER_BLOCK * LINE == PAGE,
    "a block of reader slots is one system page, and no two slots share a cache line"
);
