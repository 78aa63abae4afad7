//! Words that are shared, and what goes with them. A model of what is built on them has its own in the
//! place of these.

pub(crate) use crate::io::{LINE, Memory, sleep_on, wake_all};
pub(super) use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
    fence,
};

/// Stores a value over one that others compare and exchange: what they put there before is gone.
#[inline]
pub(super) fn overwrite(word: &AtomicU64, value: u64) {
    word.store(value, Release);
}

/// Words of a page of the system's.
pub(super) const PAGE: usize = 512;
/// Slots that a process takes at once: a page of the system's, of one cache line for each.
pub(super) const SLOTS_PER_BLOCK: usize = 64;
