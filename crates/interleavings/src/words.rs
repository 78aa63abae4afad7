//! Replacements for the engine's shared words.

pub(super) use loom::sync::atomic::{
    AtomicU64,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
};
use loom::sync::{Condvar, Mutex, atomic};
use std::{cell::Cell, io, time::Duration};

pub(super) const LINE: usize = 5;
pub(super) const PAGE: usize = 8;
pub(super) const SLOTS_PER_BLOCK: usize = 1;

/// A store in the engine. A read-modify-write operation reads the value immediately before its own
/// in the modification order, so a store after the value it read is also after its own write.
/// `loom` guarantees this only for a swap.
pub(super) fn overwrite(word: &AtomicU64, value: u64) {
    word.swap(value, Release);
}

/// Words that begin as zero.
#[derive(Debug)]
pub(crate) struct Memory(Vec<AtomicU64>, Vec<AtomicU32>);

/// The number of 32-bit words, in addition to the others.
const HALF_WORDS: usize = 4;

impl Memory {
    pub(crate) fn new(len_bytes: usize) -> Self {
        let len = len_bytes / size_of::<u64>();
        let words = (0..len).map(|_| AtomicU64::new(0)).collect();
        let half_words = (0..HALF_WORDS).map(|_| AtomicU32::new()).collect();
        Self(words, half_words)
    }

    pub(crate) fn word(&self, index: usize) -> &AtomicU64 {
        &self.0[index]
    }

    pub(crate) fn line(&self, index: usize) -> &[AtomicU64; LINE] {
        self.0[index..][..LINE].try_into().unwrap()
    }

    pub(crate) fn provide(&self, _end: usize) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn half_words(&self) -> &[AtomicU32] {
        &self.1
    }
}

/// A word to sleep on, like a futex: checking the word and going to sleep are one atomic step.
#[derive(Debug)]
pub(crate) struct AtomicU32 {
    word: atomic::AtomicU32,
    /// How many threads sleep.
    sleepers: Mutex<u32>,
    woken: Condvar,
}

impl AtomicU32 {
    fn new() -> Self {
        Self {
            word: atomic::AtomicU32::new(0),
            sleepers: Mutex::new(0),
            woken: Condvar::new(),
        }
    }

    pub(crate) fn load(&self, ordering: Ordering) -> u32 {
        self.word.load(ordering)
    }

    pub(crate) fn store(&self, value: u32, ordering: Ordering) {
        self.word.store(value, ordering);
    }

    pub(crate) fn compare_exchange(
        &self,
        expected: u32,
        new: u32,
        set: Ordering,
        fetch: Ordering,
    ) -> Result<u32, u32> {
        self.word.compare_exchange(expected, new, set, fetch)
    }

    pub(crate) fn compare_exchange_weak(
        &self,
        expected: u32,
        new: u32,
        set: Ordering,
        fetch: Ordering,
    ) -> Result<u32, u32> {
        self.word.compare_exchange_weak(expected, new, set, fetch)
    }

    pub(crate) fn fetch_or(&self, bits: u32, ordering: Ordering) -> u32 {
        self.word.fetch_or(bits, ordering)
    }

    pub(crate) fn fetch_update(
        &self,
        set: Ordering,
        fetch: Ordering,
        update: impl FnMut(u32) -> Option<u32>,
    ) -> Result<u32, u32> {
        self.word.fetch_update(set, fetch, update)
    }
}

/// Sleeps until it is woken, without a time limit, so that a missing wake-up is found.
pub(super) fn sleep_on(word: &AtomicU32, expected: u32, _limit: Duration) {
    let mut sleepers = word.sleepers.lock().expect("no panic");
    if word.load(Relaxed) == expected {
        *sleepers += 1;
        drop(word.woken.wait(sleepers));
    }
}

pub(super) fn wake_all(word: &AtomicU32) {
    let mut sleepers = word.sleepers.lock().expect("no panic");
    *sleepers = 0;
    word.woken.notify_all();
}

pub(super) fn wake_one(word: &AtomicU32) -> bool {
    let mut sleepers = word.sleepers.lock().expect("no panic");
    let is_asleep = *sleepers > 0;
    *sleepers -= u32::from(is_asleep);
    word.woken.notify_one();
    is_asleep
}

thread_local! {
    static HAS_FENCES: Cell<bool> = const { Cell::new(true) };
}

pub(super) fn fence(ordering: Ordering) {
    if HAS_FENCES.get() {
        loom::sync::atomic::fence(ordering);
    }
}

/// Runs `test` without fences, to show that they are needed. All threads of a model are one thread
/// to the system.
pub(super) fn without_fences(test: impl FnOnce()) {
    HAS_FENCES.set(false);
    test();
}
