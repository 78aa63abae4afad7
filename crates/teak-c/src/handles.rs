//! Handles: numbers that identify objects. A handle whose object has ended is detected.
//!
//! Objects are in slots, and slots in arrays that are never freed. A slot has a state word: its
//! generation, which is odd while there is an object and grows whenever an object is added or
//! removed, and in the low bits the users of the object: one writer, or a count of readers. A
//! handle consists of the kind of object, the generation and the slot number. Invariants:
//!
//! - Only code that has counted itself in the state, under the generation of its handle, accesses
//!   an object.
//! - A generation is never reused: a slot whose generations are used up stays empty.

use crate::failure::Failure;
use std::{
    cell::UnsafeCell,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

const SLOT_BITS: u32 = 28;
const GENERATION_BITS: u32 = 32;
const GENERATION_SHIFT: u32 = 32;
/// State bit: a call may be changing the object.
const IS_CHANGED: u64 = 1 << 31;
/// The length of the first array of slots. Each further array is twice as long.
const FIRST_LEN: usize = 64;
const ARRAYS: usize = (SLOT_BITS as usize) - 5;

/// All objects of one kind.
pub(crate) struct HandleTable<T> {
    kind: u64,
    /// The noun for the objects in messages.
    noun: &'static str,
    arrays: [OnceLock<Box<[HandleSlot<T>]>>; ARRAYS],
    free: Mutex<FreeSlots>,
}

struct HandleSlot<T> {
    state: AtomicU64,
    object: UnsafeCell<MaybeUninit<T>>,
}

struct FreeSlots {
    /// Slots that have no object.
    slots: Vec<usize>,
    /// The first slot that never had one.
    next: usize,
}

// SAFETY: several threads get `&` to an object, or one thread gets `&mut` or the value. `state`
// makes sure of that.
unsafe impl<T: Send + Sync> Sync for HandleTable<T> {}

/// Shared access to an object.
pub(crate) struct SharedObject<'o, T> {
    slot: &'o HandleSlot<T>,
}

/// Exclusive access to an object.
pub(crate) struct ExclusiveObject<'o, T> {
    slot: &'o HandleSlot<T>,
    generation: u64,
}

/// The array of a slot, and the slot's index there.
fn locate(slot: usize) -> (usize, usize) {
    let shifted = slot + FIRST_LEN;
    let array = (shifted.ilog2() - FIRST_LEN.ilog2()) as usize;
    (array, shifted - (FIRST_LEN << array))
}

impl<T> HandleTable<T> {
    /// An empty table. `kind` is from 1 to 15.
    pub(crate) const fn new(kind: u64, noun: &'static str) -> Self {
        assert!(kind > 0 && kind < 16);
        Self {
            kind,
            noun,
            arrays: [const { OnceLock::new() }; ARRAYS],
            free: Mutex::new(FreeSlots {
                slots: Vec::new(),
                next: 0,
            }),
        }
    }

    fn free(&self) -> MutexGuard<'_, FreeSlots> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an object and returns its handle.
    pub(crate) fn insert(&self, object: T) -> Result<u64, Failure> {
        let index = {
            let mut free = self.free();
            match free.slots.pop() {
                Some(slot) => slot,
                None if free.next >> SLOT_BITS == 0 => {
                    free.next += 1;
                    free.next - 1
                }
                None => return Err(Failure::too_many(self.noun)),
            }
        };
        let (array, offset) = locate(index);
        let array = self.arrays[array].get_or_init(|| {
            let slots = (0..FIRST_LEN << array).map(|_| HandleSlot {
                state: AtomicU64::new(0),
                object: UnsafeCell::new(MaybeUninit::uninit()),
            });
            slots.collect()
        });
        let slot = &array[offset];
        let generation = (slot.state.load(Ordering::Relaxed) >> GENERATION_SHIFT) + 1;
        debug_assert!(generation % 2 == 1, "a slot without an object");
        // SAFETY: the slot was free, so no handle has this generation, and no other thread took the
        // slot from the list.
        unsafe { (*slot.object.get()).write(object) };
        slot.state
            .store(generation << GENERATION_SHIFT, Ordering::Release);
        Ok(self.kind << (SLOT_BITS + GENERATION_BITS) | generation << SLOT_BITS | index as u64)
    }

    /// The slot of a handle and its generation, if the slot was ever used.
    #[inline]
    fn slot(&self, handle: u64) -> Result<(&HandleSlot<T>, u64), Failure> {
        if handle >> (SLOT_BITS + GENERATION_BITS) != self.kind {
            return Err(self.none(handle));
        }
        let (array, offset) = locate((handle & ((1 << SLOT_BITS) - 1)) as usize);
        let slot = self.arrays[array].get().map(|array| &array[offset]);
        let generation = handle >> SLOT_BITS & ((1 << GENERATION_BITS) - 1);
        match slot {
            Some(slot) if generation % 2 == 1 => Ok((slot, generation)),
            _ => Err(self.none(handle)),
        }
    }

    #[cold]
    fn none(&self, handle: u64) -> Failure {
        Failure::invalid_handle(self.noun, handle)
    }

    /// Whether a state is of this generation, and why the object cannot be used then.
    #[cold]
    fn refusal(&self, state: u64, generation: u64, handle: u64) -> Failure {
        match state >> GENERATION_SHIFT == generation {
            true => Failure::in_use(self.noun),
            false => self.none(handle),
        }
    }

    /// Gives shared access to an object.
    #[inline]
    pub(crate) fn read(&self, handle: u64) -> Result<SharedObject<'_, T>, Failure> {
        let (slot, generation) = self.slot(handle)?;
        let mut state = slot.state.load(Ordering::Relaxed);
        loop {
            if state >> GENERATION_SHIFT != generation || state & IS_CHANGED != 0 {
                return Err(self.refusal(state, generation, handle));
            }
            let counted = slot.state.compare_exchange_weak(
                state,
                state + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            match counted {
                Ok(_) => return Ok(SharedObject { slot }),
                Err(now) => state = now,
            }
        }
    }

    /// Gives exclusive access to an object.
    #[inline]
    pub(crate) fn change(&self, handle: u64) -> Result<ExclusiveObject<'_, T>, Failure> {
        let (slot, generation) = self.slot(handle)?;
        let unused = generation << GENERATION_SHIFT;
        let taken = slot.state.compare_exchange(
            unused,
            unused | IS_CHANGED,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        match taken {
            Ok(_) => Ok(ExclusiveObject { slot, generation }),
            Err(state) => Err(self.refusal(state, generation, handle)),
        }
    }

    /// Ends a handle and returns its object.
    pub(crate) fn remove(&self, handle: u64) -> Result<T, Failure> {
        self.remove_if(handle, |_| Ok(()))
    }

    /// Like [`Self::remove`], unless `may` refuses.
    pub(crate) fn remove_if(
        &self,
        handle: u64,
        may: impl FnOnce(&T) -> Result<(), Failure>,
    ) -> Result<T, Failure> {
        let changed = self.change(handle)?;
        may(&changed)?;
        let (slot, generation) = (changed.slot, changed.generation);
        std::mem::forget(changed);
        // SAFETY: there is an object, and nothing else uses it. The state is updated at once to say
        // that it is gone.
        let object = unsafe { (*slot.object.get()).assume_init_read() };
        slot.state
            .store((generation + 1) << GENERATION_SHIFT, Ordering::Release);
        if (generation + 2) >> GENERATION_BITS == 0 {
            let index = (handle & ((1 << SLOT_BITS) - 1)) as usize;
            self.free().slots.push(index);
        }
        Ok(object)
    }
}

impl<T> Deref for SharedObject<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the object exists while this user is counted, and nothing changes it.
        unsafe { (*self.slot.object.get()).assume_init_ref() }
    }
}

impl<T> Drop for SharedObject<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.slot.state.fetch_sub(1, Ordering::Release);
    }
}

impl<T> Deref for ExclusiveObject<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the object exists while this user is noted, and nothing else uses it.
        unsafe { (*self.slot.object.get()).assume_init_ref() }
    }
}

impl<T> DerefMut for ExclusiveObject<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the object exists while this user is noted, and nothing else uses it.
        unsafe { (*self.slot.object.get()).assume_init_mut() }
    }
}

impl<T> Drop for ExclusiveObject<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.slot
            .state
            .store(self.generation << GENERATION_SHIFT, Ordering::Release);
    }
}

#[cfg(test)]
#[path = "handles_tests.rs"]
mod tests;
