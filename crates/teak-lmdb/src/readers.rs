//! The slots of readers that clients see: as many as were asked for, and one for a thread unless readers belong to transactions.
//!
//! Taking a slot and giving it back takes no lock: a slot is a cache line of its own, and a thread looks first at the one that it had last.
//! There it finds the handle of the transaction that was there last, which is the next one's.
//!
//! A slot of a thread is freed when the thread ends, as in LMDB, also if its transaction goes on. That
//! transaction keeps its snapshot until it ends. Then the slot may be another thread's, so a transaction
//! compares the thread before it gives the slot back.

use crate::{
    codes::{self, CallResult, Code},
    transaction::Transaction,
};
use std::{
    cell::{Cell, RefCell},
    ptr,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering},
    },
};

/// The use of a slot: nothing, a transaction that was reset, or, above these, reading a state.
const FREE: u64 = 0;
const KEPT: u64 = 1;
const READING: u64 = 2;

/// Places are made so many at a time.
const CHUNK: usize = 64;

/// A slot, and the thread that has taken it: 0 while it is free.
#[derive(Debug, Default)]
#[repr(align(64))]
struct ReaderSlot {
    used: AtomicU64,
    thread: AtomicUsize,
    /// A handle without a transaction, of a `Box`, or null. Who has taken the slot may take it.
    handle: AtomicPtr<Transaction>,
}

/// A slot that was shown: its thread, and the state that is read there.
pub(crate) type ListedReader = (usize, Option<u64>);

/// So many bits of a thread are the system's number of it, which the next thread may have; above them is a count of threads.
const THREAD_BITS: u32 = 48;

/// This thread, and no other one: one that has ended leaves its slot where it is, if it is still reading.
pub(crate) fn this_thread() -> usize {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static THREAD: Cell<usize> = const { Cell::new(0) };
    }
    let this = THREAD.get();
    if this != 0 {
        return this;
    }
    // SAFETY: it takes nothing and cannot fail.
    let listed = unsafe { libc::pthread_self() as u64 };
    let made = (listed | THREADS.fetch_add(1, Ordering::Relaxed) << THREAD_BITS) as usize;
    THREAD.set(made);
    made
}

/// The system's number of a thread.
fn listed_thread(thread: usize) -> usize {
    (thread as u64 & ((1 << THREAD_BITS) - 1)) as usize
}

/// A slot that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TakenSlot {
    index: usize,
    /// The thread with whose end the slot is freed; 0 if it belongs to its transaction.
    thread: usize,
}

/// The environments in which a thread has or had a slot of its own.
#[derive(Default)]
struct OwnSlots(RefCell<Vec<Weak<ReaderSlots>>>);

impl OwnSlots {
    fn note(&self, slots: &Arc<ReaderSlots>) {
        let slots = Arc::downgrade(slots);
        let mut noted = self.0.borrow_mut();
        if !noted.iter().any(|other| other.ptr_eq(&slots)) {
            noted.retain(|other| other.strong_count() > 0);
            noted.push(slots);
        }
    }
}

impl Drop for OwnSlots {
    /// The thread ends.
    fn drop(&mut self) {
        let thread = this_thread();
        for slots in self.0.get_mut().iter().filter_map(Weak::upgrade) {
            for index in 0..slots.high_water() {
                slots.release_of(index, thread);
            }
        }
    }
}

/// The slots of an environment.
#[derive(Debug)]
pub(crate) struct ReaderSlots {
    /// No other environment of this process has or had it.
    number: u64,
    max: usize,
    chunks: Box<[OnceLock<Box<[ReaderSlot; CHUNK]>>]>,
    high_water: AtomicUsize,
}

thread_local! {
    /// The environment in which this thread had a slot last, and which that was.
    static LAST: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
    static OWN: OwnSlots = OwnSlots::default();
}

impl ReaderSlots {
    /// Room for at most `max`.
    pub(crate) fn new(max: usize) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            max,
            chunks: (0..max.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect(),
            high_water: AtomicUsize::new(0),
        }
    }

    fn slot(&self, index: usize) -> &ReaderSlot {
        let made = || Box::new(std::array::from_fn(|_| ReaderSlot::default()));
        &self.chunks[index / CHUNK].get_or_init(made)[index % CHUNK]
    }

    /// Takes a slot for `thread`, which is this one. With `is_for_thread` it must not have one yet.
    pub(crate) fn take(
        self: &Arc<Self>,
        thread: usize,
        is_for_thread: bool,
    ) -> CallResult<TakenSlot> {
        let high_water = self.high_water.load(Ordering::Acquire);
        let last = match LAST.get() {
            (number, index) if number == self.number => Some(index),
            _ => None,
        };
        let is_own = |index: usize| {
            let slot = self.slot(index);
            slot.thread.load(Ordering::Acquire) == thread
        };
        let has_one = match last {
            Some(last) => is_own(last),
            None => (0..high_water).any(is_own),
        };
        if is_for_thread && has_one {
            return Err(Code(codes::BAD_RSLOT));
        }
        let mut wanted = last.into_iter().chain(0..self.max);
        let taken = wanted.find(|index| self.try_take(*index, thread));
        let taken = taken.ok_or(Code(codes::READERS_FULL))?;
        if last != Some(taken) {
            LAST.set((self.number, taken));
            if is_for_thread {
                // A thread that ends has no such list any more. What it takes then stays taken.
                let _ = OWN.try_with(|own| own.note(self));
            }
        }
        if taken >= high_water {
            self.high_water.fetch_max(taken + 1, Ordering::AcqRel);
        }
        let thread = if is_for_thread { thread } else { 0 };
        Ok(TakenSlot {
            index: taken,
            thread,
        })
    }

    fn try_take(&self, index: usize, thread: usize) -> bool {
        let slot = self.slot(index);
        let is_free = slot.used.load(Ordering::Relaxed) == FREE;
        let taken = is_free
            && (slot.used)
                .compare_exchange(FREE, KEPT, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        if taken {
            slot.thread.store(thread, Ordering::Release);
        }
        taken
    }

    /// Notes which state is read at a slot that was taken.
    pub(crate) fn read(&self, taken: TakenSlot, state: u64) {
        let used = state.saturating_add(READING);
        self.slot(taken.index).used.store(used, Ordering::Release);
    }

    /// Notes that nothing is read at a slot, which stays taken.
    pub(crate) fn retain(&self, taken: TakenSlot) {
        self.slot(taken.index).used.store(KEPT, Ordering::Release);
    }

    /// Gives a slot back, unless it was freed with its thread.
    pub(crate) fn release(&self, taken: TakenSlot) {
        match taken.thread {
            0 => self.free(taken.index),
            thread => self.release_of(taken.index, thread),
        }
    }

    /// Gives a slot back if it is this thread's. Another thread may be doing the same.
    fn release_of(&self, index: usize, thread: usize) {
        let slot = self.slot(index);
        let owner = &slot.thread;
        if (owner.compare_exchange(thread, 0, Ordering::AcqRel, Ordering::Relaxed)).is_ok() {
            slot.used.store(FREE, Ordering::Release);
        }
    }

    /// Whether a slot that was taken is not freed before it is released. That may be so without this
    /// being true, in another thread than that which has taken it.
    fn is_held(&self, taken: TakenSlot) -> bool {
        let owner = self.slot(taken.index).thread.load(Ordering::Relaxed);
        taken.thread == 0 || taken.thread == owner && owner == this_thread()
    }

    fn free(&self, index: usize) {
        let slot = self.slot(index);
        slot.thread.store(0, Ordering::Release);
        slot.used.store(FREE, Ordering::Release);
    }

    /// The handle that was left at a slot that was taken.
    pub(crate) fn handle(&self, taken: TakenSlot) -> Option<Box<Transaction>> {
        self.handle_at(taken.index)
    }

    fn handle_at(&self, index: usize) -> Option<Box<Transaction>> {
        // Whoever had the slot before gave it back behind leaving the handle, and nobody else has it now.
        let slot = self.slot(index);
        let handle = slot.handle.load(Ordering::Relaxed);
        if handle.is_null() {
            return None;
        }
        slot.handle.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: it is of a box that `release_with_handle` has taken apart, and nobody finds it any more.
        Some(unsafe { Box::from_raw(handle) })
    }

    /// Gives a slot back, and leaves a handle there that has no transaction and no slot.
    pub(crate) fn release_with_handle(&self, taken: TakenSlot, handle: Box<Transaction>) {
        if !self.is_held(taken) {
            self.release(taken);
            return;
        }
        let handle = Box::into_raw(handle);
        let slot = self.slot(taken.index);
        slot.handle.store(handle, Ordering::Relaxed);
        self.free(taken.index);
    }

    /// Frees the handles that were left.
    pub(crate) fn forget_handles(&self) {
        for index in 0..self.high_water() {
            if self.try_take(index, 0) {
                drop(self.handle_at(index));
                self.free(index);
            }
        }
    }

    /// As many slots as were ever needed at once.
    pub(crate) fn high_water(&self) -> usize {
        self.high_water.load(Ordering::Acquire)
    }

    /// The slots that are taken.
    pub(crate) fn listed(&self) -> impl Iterator<Item = ListedReader> {
        let slots = (0..self.high_water()).map(|index| self.slot(index));
        slots.filter_map(|slot| {
            let thread = listed_thread(slot.thread.load(Ordering::Acquire));
            match slot.used.load(Ordering::Acquire) {
                FREE => None,
                KEPT => Some((thread, None)),
                state => Some((thread, Some(state - READING))),
            }
        })
    }
}

/// The line of a reader.
pub(crate) fn line(process: u32, (thread, state): ListedReader) -> String {
    match state {
        Some(state) => format!("{process:>10} {thread:x} {state}\n"),
        None => format!("{process:>10} {thread:x} -\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Code, ReaderSlots, TakenSlot, codes, line, this_thread};
    use std::{
        collections::HashSet,
        sync::{Arc, Mutex},
        thread,
    };

    fn slots(max: usize) -> Arc<ReaderSlots> {
        Arc::new(ReaderSlots::new(max))
    }

    fn bound(index: usize, thread: usize) -> TakenSlot {
        TakenSlot { index, thread }
    }

    #[test]
    fn a_thread_has_one_slot_and_all_have_so_many() {
        let slots = slots(2);
        assert_eq!(slots.take(7, true), Ok(bound(0, 7)));
        assert_eq!(slots.take(7, true), Err(Code(codes::BAD_RSLOT)));
        assert_eq!(slots.take(8, false), Ok(bound(1, 0)));
        assert_eq!(slots.take(9, false), Err(Code(codes::READERS_FULL)));
        slots.read(bound(1, 0), 12);
        slots.release(bound(0, 7));
        assert_eq!(slots.listed().collect::<Vec<_>>(), [(8, Some(12))]);
        slots.retain(bound(1, 0));
        assert_eq!(line(5, slots.listed().next().unwrap()), "         5 8 -\n");
        assert_eq!(slots.take(7, false), Ok(bound(0, 0)));
        assert_eq!(slots.high_water(), 2);
    }

    #[test]
    fn a_slot_in_another_environment_is_none_here() {
        let (one, other) = (slots(4), slots(4));
        assert_eq!(one.take(7, true), Ok(bound(0, 7)));
        assert_eq!(other.take(7, true), Ok(bound(0, 7)));
        assert_eq!(one.take(7, true), Err(Code(codes::BAD_RSLOT)));
        one.release(bound(0, 7));
        assert_eq!(one.take(7, true), Ok(bound(0, 7)));
    }

    #[test]
    fn a_slot_is_freed_when_its_thread_ends_and_is_not_the_threads_to_release_then() {
        let slots = slots(1);
        let take = || slots.take(this_thread(), true);
        let taken = thread::scope(|scope| scope.spawn(take).join().unwrap()).unwrap();
        assert_eq!(slots.listed().count(), 0);
        let own = take().unwrap();
        assert_eq!(own.index, taken.index);
        slots.release(taken);
        assert_eq!(slots.listed().count(), 1);
        slots.release(own);
        assert_eq!(slots.listed().count(), 0);
    }

    #[test]
    fn a_slot_of_a_transaction_outlives_the_thread_that_has_taken_it() {
        let slots = slots(1);
        let take = || slots.take(this_thread(), false);
        let taken = thread::scope(|scope| scope.spawn(take).join().unwrap()).unwrap();
        assert_eq!(take(), Err(Code(codes::READERS_FULL)));
        slots.release(taken);
        assert!(take().is_ok());
    }

    #[test]
    fn threads_that_come_at_once_have_different_slots() {
        let count = CHUNK + 8;
        let (slots, taken) = (slots(count), Mutex::new(HashSet::new()));
        thread::scope(|scope| {
            for thread in 1..=count {
                let (slots, taken) = (&slots, &taken);
                scope.spawn(move || {
                    let index = slots.take(thread, true).unwrap().index;
                    assert!(taken.lock().unwrap().insert(index));
                });
            }
        });
        assert_eq!(slots.take(1000, true), Err(Code(codes::READERS_FULL)));
    }
}
