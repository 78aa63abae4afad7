//! The handles that C has: numbers that look like pointers and stand for an object until it ends.
//! A handle that has ended is refused, and the memory of its object is not accessed.
//!
//! A handle consists of a slot, the generation of the slot, and the kind of the object. Slots are
//! never freed. A slot whose generations are used up is not used until there is no other free slot.
//! Then it starts with the first generation again.
//!
//! Handles are below 2^47 and multiples of 16, since clients keep pointers in numbers of their
//! language. Handles of different kinds differ, since clients keep objects in maps by their
//! pointers, and a handle of another kind is refused.

use crate::codes::{CallResult, Code};
use std::{
    ptr,
    sync::{
        OnceLock,
        atomic::{
            AtomicPtr, AtomicU32, AtomicU64,
            Ordering::{self, AcqRel, Relaxed},
        },
    },
};

const ALIGNMENT_BITS: u32 = 4;
const SLOT_BITS: u32 = 20;
const KIND_BITS: u32 = 2;
const GENERATION_BITS: u32 = 47 - ALIGNMENT_BITS - SLOT_BITS - KIND_BITS;
/// The step from one generation to the next: the kind is in the bits below.
const GENERATION: u32 = 1 << KIND_BITS;
const LAST_GENERATION: u32 = ((1 << GENERATION_BITS) - 1) << KIND_BITS;
/// The length of the first array of slots. Each further array is twice as long.
const FIRST_LEN: usize = 64;
const ARRAYS: usize = SLOT_BITS as usize - FIRST_LEN.ilog2() as usize;
/// The maximum number of slots.
const SLOTS: u32 = ((FIRST_LEN << ARRAYS) - FIRST_LEN) as u32;
/// No slot.
const NONE: u32 = u32::MAX;

/// The kind of the object that a handle stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HandleKind {
    Environment,
    Transaction,
    Cursor,
}

/// All handles of one kind.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    kind: HandleKind,
    arrays: [OnceLock<Box<[Slot<T>]>>; ARRAYS],
    /// The first free slot in the low half, and a count of changes in the high half.
    free: AtomicU64,
    /// The first slot that was never used.
    unused: AtomicU32,
}

#[derive(Debug)]
struct Slot<T> {
    /// Null if the slot is free.
    object: AtomicPtr<T>,
    /// The generation and the kind, as in the handle.
    generation: AtomicU32,
    /// The next free slot.
    next: AtomicU32,
}

/// A type whose objects C has handles of.
pub(crate) trait HasRegistry: Sized + 'static {
    /// All handles of this kind.
    fn registry() -> &'static Registry<Self>;
}

/// The array of a slot, and the slot's index there.
fn locate(slot: u32) -> (usize, usize) {
    let shifted = slot as usize + FIRST_LEN;
    let array = (shifted.ilog2() - FIRST_LEN.ilog2()) as usize;
    (array, shifted - (FIRST_LEN << array))
}

fn handle<T>(slot: u32, generation: u32) -> *mut T {
    let number = (generation as usize) << SLOT_BITS | slot as usize;
    ptr::without_provenance_mut(number << ALIGNMENT_BITS)
}

impl<T> Registry<T> {
    pub(crate) const fn new(kind: HandleKind) -> Self {
        Self {
            kind,
            arrays: [const { OnceLock::new() }; ARRAYS],
            free: AtomicU64::new(NONE as u64),
            unused: AtomicU32::new(0),
        }
    }

    /// Returns a handle for an object that does not move until [`Self::end`].
    pub(crate) fn insert(&self, object: *mut T) -> CallResult<*mut T> {
        let index = match self.pop() {
            Some(index) => index,
            None => (self.take_unused())
                .or_else(|| self.revive())
                .ok_or(Code(libc::ENOMEM))?,
        };
        let (array, offset) = locate(index);
        let slots = self.arrays[array].get_or_init(|| {
            let len = FIRST_LEN << locate(index).0;
            let new = || Slot {
                object: AtomicPtr::default(),
                generation: AtomicU32::new(self.first_generation()),
                next: AtomicU32::new(NONE),
            };
            (0..len).map(|_| new()).collect()
        });
        let slot = &slots[offset];
        slot.object.store(object, Ordering::Release);
        Ok(handle(index, slot.generation.load(Ordering::Relaxed)))
    }

    /// The slot of a handle and the slot's number, if the handle has not ended.
    #[inline]
    fn slot(&self, handle: *mut T) -> Option<(&Slot<T>, u32)> {
        let number = handle.addr() >> ALIGNMENT_BITS;
        let index = (number & ((1 << SLOT_BITS) - 1)) as u32;
        let (array, offset) = locate(index);
        let slot = self.arrays.get(array)?.get()?.get(offset)?;
        let generation = slot.generation.load(Ordering::Acquire);
        (generation as usize == number >> SLOT_BITS).then_some((slot, index))
    }

    /// The object of a handle, if the handle has not ended.
    #[inline]
    pub(crate) fn find(&self, handle: *mut T) -> Option<*mut T> {
        let object = self.slot(handle)?.0.object.load(Ordering::Acquire);
        (!object.is_null()).then_some(object)
    }

    /// Ends a handle.
    pub(crate) fn end(&self, handle: *mut T) {
        let Some((slot, index)) = self.slot(handle) else {
            return;
        };
        slot.object.store(ptr::null_mut(), Ordering::Release);
        if slot.generation.fetch_add(GENERATION, Ordering::AcqRel) < LAST_GENERATION {
            self.push(slot, index);
        }
    }

    /// Ends a handle and returns another one for its object. `None` if the slot has no generation
    /// left.
    #[inline]
    pub(crate) fn replace(&self, ended: *mut T) -> Option<*mut T> {
        let (slot, index) = self.slot(ended)?;
        match slot.generation.load(Ordering::Relaxed) {
            LAST_GENERATION.. => None,
            generation => {
                let next = generation + GENERATION;
                slot.generation.store(next, Ordering::Release);
                Some(handle(index, next))
            }
        }
    }

    fn take_unused(&self) -> Option<u32> {
        let next = |unused| (unused < SLOTS).then_some(unused + 1);
        let taken = (self.unused).fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        taken.ok()
    }

    fn first_generation(&self) -> u32 {
        GENERATION | self.kind as u32
    }

    /// Takes a slot whose generations are used up. About 2^41 handles were made since its first
    /// one.
    fn revive(&self) -> Option<u32> {
        let used_up = LAST_GENERATION + self.first_generation();
        (0..SLOTS).find(|index| {
            let (array, offset) = locate(*index);
            let slot = self.arrays[array].get().map(|slots| &slots[offset]);
            slot.is_some_and(|slot| {
                (slot.generation)
                    .compare_exchange(used_up, self.first_generation(), AcqRel, Relaxed)
                    .is_ok()
            })
        })
    }

    fn pop(&self) -> Option<u32> {
        let mut free = self.free.load(Ordering::Acquire);
        loop {
            let index = free as u32;
            let (array, offset) = locate(index);
            let slot = &self.arrays.get(array)?.get()?[offset];
            let next = slot.next.load(Ordering::Relaxed);
            match self.exchange(free, next) {
                Ok(_) => return Some(index),
                Err(now) => free = now,
            }
        }
    }

    fn push(&self, slot: &Slot<T>, index: u32) {
        let mut free = self.free.load(Ordering::Relaxed);
        loop {
            slot.next.store(free as u32, Ordering::Relaxed);
            match self.exchange(free, index) {
                Ok(_) => return,
                Err(now) => free = now,
            }
        }
    }

    fn exchange(&self, free: u64, first: u32) -> Result<u64, u64> {
        let new = ((free >> 32) + 1) << 32 | u64::from(first);
        (self.free).compare_exchange_weak(free, new, Ordering::AcqRel, Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ARRAYS, Code, FIRST_LEN, HandleKind, LAST_GENERATION, Ordering, Registry, SLOTS, locate,
    };
    use std::{ptr, thread};

    #[test]
    fn an_ended_handle_is_refused_and_never_returned_again() {
        let registry = Registry::new(HandleKind::Cursor);
        let mut objects = [1, 2];
        let [one, other] = objects.each_mut().map(ptr::from_mut);
        let first = registry.insert(one).unwrap();
        assert_eq!(registry.find(first), Some(one));
        assert_eq!(first.addr() % 16, 0);
        assert!(first.addr() < 1 << 47);
        registry.end(first);
        registry.end(first);
        let second = registry.insert(other).unwrap();
        assert_ne!(first, second);
        assert_eq!(registry.find(first), None);
        assert_eq!(registry.find(second), Some(other));
        let third = registry.replace(second).unwrap();
        assert_eq!(registry.find(second), None);
        assert_eq!(registry.find(third), Some(other));
        assert_eq!(registry.find(ptr::null_mut()), None);
        assert_eq!(registry.find(&raw mut objects[0]), None, "no handle at all");
    }

    #[test]
    fn an_exhausted_slot_is_reused_last() {
        let registry = Registry::new(HandleKind::Cursor);
        let object = &raw mut *Box::leak(Box::new(1));
        let mut handle = registry.insert(object).unwrap();
        while let Some(next) = registry.replace(handle) {
            handle = next;
        }
        let last = LAST_GENERATION | HandleKind::Cursor as u32;
        assert_eq!(handle.addr() >> 24, last as usize);
        registry.end(handle);
        let next = registry.insert(object).unwrap();
        assert_eq!(next.addr() >> 4 & 0xfffff, 1, "another slot");
        registry.unused.store(SLOTS, Ordering::Relaxed);
        let revived = registry.insert(object).unwrap();
        assert_eq!(revived.addr() >> 4 & 0xfffff, 0, "no other slot is left");
        assert_eq!(registry.find(revived), Some(object));
        assert_eq!(registry.find(handle), None);
        for _ in 0..2 {
            assert_eq!(registry.insert(object), Err(Code(libc::ENOMEM)));
        }
    }

    #[test]
    fn a_handle_of_another_kind_is_refused() {
        let mut objects = [1, 2, 3];
        let [environment, transaction, cursor] = objects.each_mut().map(ptr::from_mut);
        let environments = Registry::new(HandleKind::Environment);
        let transactions = Registry::new(HandleKind::Transaction);
        let cursors = Registry::new(HandleKind::Cursor);
        let first = environments.insert(environment).unwrap();
        let second = transactions.insert(transaction).unwrap();
        let third = cursors.insert(cursor).unwrap();
        assert!(first != second && second != third && third != first);
        assert_eq!(environments.find(second), None);
        assert_eq!(transactions.find(first), None);
        assert_eq!(transactions.find(third), None);
        assert_eq!(cursors.find(second), None);
    }

    #[test]
    fn each_slot_has_an_array_and_an_index() {
        let mut next = (0, 0);
        for slot in 0..5000 {
            assert_eq!(locate(slot), next);
            next.1 += 1;
            if next.1 == FIRST_LEN << next.0 {
                next = (next.0 + 1, 0);
            }
        }
        assert_eq!(locate(SLOTS - 1).0, ARRAYS - 1);
        assert_eq!(locate(SLOTS), (ARRAYS, 0));
    }

    #[test]
    fn concurrent_threads_get_different_handles() {
        let registry = Registry::new(HandleKind::Cursor);
        thread::scope(|scope| {
            for thread in 1..=4_usize {
                let registry = &registry;
                scope.spawn(move || {
                    for _ in 0..5000 {
                        let object = ptr::without_provenance_mut::<u8>(thread);
                        let handles = [(); 3].map(|()| registry.insert(object).unwrap());
                        for handle in handles {
                            assert_eq!(registry.find(handle), Some(object));
                            registry.end(handle);
                        }
                    }
                });
            }
        });
    }
}
