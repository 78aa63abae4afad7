//! The reader slots that clients see. An environment has as many as the client asked for. A thread
//! has one of them, unless the environment's flags give slots to transactions.
//!
//! Taking and releasing a slot takes no lock: each slot is a cache line, and a thread first tries
//! the slot that it had last. A transaction that ends leaves its object at its slot as a *spare*,
//! for the next transaction that takes the slot. This module stores spares and drops them; it does
//! not know their type.
//!
//! A slot of a thread is freed when the thread ends, as in LMDB, even if its transaction goes on.
//! That transaction keeps its snapshot until it ends. By then the slot may belong to another
//! thread, so a transaction compares the thread before it releases the slot.

use crate::{
    codes::{self, CallResult, Code},
    system,
};
use std::{
    any::Any,
    cell::{Cell, RefCell, UnsafeCell},
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// The use of a slot. Values from `READING` on are a state that is read, plus `READING`.
const FREE: u64 = 0;
/// Taken, and nothing is read: the transaction was reset.
const KEPT: u64 = 1;
const READING: u64 = 2;

/// Slots are allocated in chunks of this many.
const CHUNK: usize = 64;

/// The object of an ended transaction.
pub(crate) type SpareObject = Box<dyn Any + Send>;

#[derive(Default)]
#[repr(align(64))]
struct ReaderSlot {
    used: AtomicU64,
    /// The thread that has taken the slot: 0 while it is free.
    thread: AtomicUsize,
    /// Only the owner of the slot accesses it.
    spare: UnsafeCell<Option<SpareObject>>,
}

// SAFETY: only the owner of a slot accesses its spare. `used` makes sure that there is one owner,
// and orders the accesses of one owner before those of the next. Spares are `Send`.
unsafe impl Sync for ReaderSlot {}

impl fmt::Debug for ReaderSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReaderSlot")
            .field("used", &self.used)
            .field("thread", &self.thread)
            .finish_non_exhaustive()
    }
}

/// A slot to list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ListedReader {
    /// The system's number of the thread that has taken the slot.
    pub(crate) thread: usize,
    /// The state that it reads, unless it was reset.
    pub(crate) state: Option<u64>,
}

/// The low bits of a thread number are the system's number, which a later thread may get too. The
/// bits above count the threads.
const THREAD_BITS: u32 = 48;

/// A number of this thread. No other thread of the process has or had it: a thread that ended while
/// it was reading has left its number at its slot.
pub(crate) fn this_thread() -> usize {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static THREAD: Cell<usize> = const { Cell::new(0) };
    }
    let this = THREAD.get();
    if this != 0 {
        return this;
    }
    let listed = system::thread_number();
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
    /// The thread whose end frees the slot; 0 if the slot belongs to its transaction.
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
    /// Runs when the thread ends.
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
    /// No other environment of this process has or had this number.
    number: u64,
    max: usize,
    chunks: Box<[OnceLock<Box<[ReaderSlot; CHUNK]>>]>,
    high_water: AtomicUsize,
}

thread_local! {
    /// The number of the environment in which this thread last had a slot, and the slot's index.
    static LAST: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
    static OWN: OwnSlots = OwnSlots::default();
}

impl ReaderSlots {
    /// At most `max` slots.
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

    /// Takes a slot for `thread`, which is the calling thread. With `is_for_thread` it must not
    /// have a slot yet.
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
                // A thread that is ending has dropped its list. The slot it takes stays taken.
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

    /// Notes which state is read at a taken slot.
    pub(crate) fn read(&self, taken: TakenSlot, state: u64) {
        let used = state.saturating_add(READING);
        self.slot(taken.index).used.store(used, Ordering::Release);
    }

    /// Notes that nothing is read at a slot, which stays taken.
    pub(crate) fn retain(&self, taken: TakenSlot) {
        self.slot(taken.index).used.store(KEPT, Ordering::Release);
    }

    /// Releases a slot, unless it was freed with its thread.
    pub(crate) fn release(&self, taken: TakenSlot) {
        match taken.thread {
            0 => self.free(taken.index),
            thread => self.release_of(taken.index, thread),
        }
    }

    /// Releases a slot if it belongs to this thread. Another thread may be doing this too.
    fn release_of(&self, index: usize, thread: usize) {
        let slot = self.slot(index);
        let owner = &slot.thread;
        if (owner.compare_exchange(thread, 0, Ordering::AcqRel, Ordering::Relaxed)).is_ok() {
            slot.used.store(FREE, Ordering::Release);
        }
    }

    /// Whether a taken slot is certain to stay taken until it is released. False in a thread other
    /// than the one that has taken a slot of its own, which may end at any time.
    fn is_held(&self, taken: TakenSlot) -> bool {
        let owner = self.slot(taken.index).thread.load(Ordering::Relaxed);
        taken.thread == 0 || taken.thread == owner && owner == this_thread()
    }

    fn free(&self, index: usize) {
        let slot = self.slot(index);
        slot.thread.store(0, Ordering::Release);
        slot.used.store(FREE, Ordering::Release);
    }

    /// Takes the spare at a slot that the caller has just taken.
    pub(crate) fn take_spare(&self, taken: TakenSlot) -> Option<SpareObject> {
        self.take_spare_at(taken.index)
    }

    /// Takes the spare of a slot. The caller has just taken the slot, in this thread.
    fn take_spare_at(&self, index: usize) -> Option<SpareObject> {
        // SAFETY: this thread has the slot, so nobody else accesses the spare.
        unsafe { (*self.slot(index).spare.get()).take() }
    }

    /// Releases a slot and leaves a spare there. The spare must not use the slot.
    pub(crate) fn release_with_spare(&self, taken: TakenSlot, spare: SpareObject) {
        if !self.is_held(taken) {
            self.release(taken);
            return;
        }
        // SAFETY: the slot is taken until it is freed below, so nobody else accesses the spare.
        unsafe { *self.slot(taken.index).spare.get() = Some(spare) };
        self.free(taken.index);
    }

    /// Drops the spares at all free slots.
    pub(crate) fn drop_spares(&self) {
        for index in 0..self.high_water() {
            if self.try_take(index, 0) {
                drop(self.take_spare_at(index));
                self.free(index);
            }
        }
    }

    /// The largest number of slots that were in use at once.
    pub(crate) fn high_water(&self) -> usize {
        self.high_water.load(Ordering::Acquire)
    }

    /// The slots that are taken.
    pub(crate) fn listed(&self) -> impl Iterator<Item = ListedReader> {
        let slots = (0..self.high_water()).map(|index| self.slot(index));
        slots.filter_map(|slot| {
            let thread = listed_thread(slot.thread.load(Ordering::Acquire));
            let state = match slot.used.load(Ordering::Acquire) {
                FREE => return None,
                KEPT => None,
                used => Some(used - READING),
            };
            Some(ListedReader { thread, state })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Code, ListedReader, ReaderSlots, TakenSlot, codes, this_thread};
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
    fn a_thread_has_one_slot_and_the_number_of_slots_is_limited() {
        let slots = slots(2);
        assert_eq!(slots.take(7, true), Ok(bound(0, 7)));
        assert_eq!(slots.take(7, true), Err(Code(codes::BAD_RSLOT)));
        assert_eq!(slots.take(8, false), Ok(bound(1, 0)));
        assert_eq!(slots.take(9, false), Err(Code(codes::READERS_FULL)));
        slots.read(bound(1, 0), 12);
        slots.release(bound(0, 7));
        let listed = |state| [ListedReader { thread: 8, state }];
        assert!(slots.listed().eq(listed(Some(12))));
        slots.retain(bound(1, 0));
        assert!(slots.listed().eq(listed(None)));
        assert_eq!(slots.take(7, false), Ok(bound(0, 0)));
        assert_eq!(slots.high_water(), 2);
    }

    #[test]
    fn slots_of_two_environments_are_independent() {
        let (one, other) = (slots(4), slots(4));
        assert_eq!(one.take(7, true), Ok(bound(0, 7)));
        assert_eq!(other.take(7, true), Ok(bound(0, 7)));
        assert_eq!(one.take(7, true), Err(Code(codes::BAD_RSLOT)));
        one.release(bound(0, 7));
        assert_eq!(one.take(7, true), Ok(bound(0, 7)));
    }

    #[test]
    fn the_end_of_a_thread_frees_its_slot_and_a_later_release_does_nothing() {
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
    fn a_slot_of_a_transaction_stays_taken_when_the_thread_ends() {
        let slots = slots(1);
        let take = || slots.take(this_thread(), false);
        let taken = thread::scope(|scope| scope.spawn(take).join().unwrap()).unwrap();
        assert_eq!(take(), Err(Code(codes::READERS_FULL)));
        slots.release(taken);
        assert!(take().is_ok());
    }

    #[test]
    fn a_spare_waits_at_its_slot_until_it_is_taken_or_dropped() {
        let slots = slots(1);
        let spare = Arc::new(5);
        let take = || slots.take(this_thread(), false).unwrap();
        let leave = || slots.release_with_spare(take(), Box::new(Arc::clone(&spare)));
        leave();
        let taken = take();
        let found = slots.take_spare(taken).unwrap();
        assert_eq!(found.downcast_ref(), Some(&spare));
        assert!(slots.take_spare(taken).is_none());
        slots.release(taken);
        drop(found);
        leave();
        slots.drop_spares();
        assert_eq!(Arc::strong_count(&spare), 1);
    }

    #[test]
    fn concurrent_threads_get_different_slots() {
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
