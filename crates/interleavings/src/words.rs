//! What stands in the place of the engine's shared words.

pub(super) use loom::sync::atomic::{
    AtomicU64,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
};
use std::cell::Cell;

pub(super) const LINE: usize = 1;
pub(super) const PAGE: usize = 2;
pub(super) const SLOTS_PER_BLOCK: usize = 1;

/// Words that begin as zero.
#[derive(Debug)]
pub(crate) struct Memory(Vec<AtomicU64>);

impl Memory {
    pub(crate) fn new(len_bytes: usize) -> Self {
        let len = len_bytes / size_of::<u64>();
        Self((0..len).map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        &self.0
    }
}

thread_local! {
    static HAS_FENCES: Cell<bool> = const { Cell::new(true) };
}

pub(super) fn fence(ordering: Ordering) {
    if HAS_FENCES.get() {
        loom::sync::atomic::fence(ordering);
    }
}

/// Runs `test` as if there were no fences, to see that they are missed. All threads of a model are one
/// to the system.
pub(super) fn without_fences(test: impl FnOnce()) {
    HAS_FENCES.set(false);
    test();
}
