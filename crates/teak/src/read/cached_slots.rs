//! Cached reader slots: how a thread that reads often begins and ends reads without touching shared
//! cache lines.
//!
//! When a reader ends, its hold stays in a *cached reader slot* of the thread that ended it, and
//! the slot pins nothing. The next reader of that thread takes it from there. If no other state is
//! visible by then, the reader only has to pin. After a commit it also takes a reference to the new
//! state, which the committing thread created.
//!
//! Cached slots must not keep a database open. The last handle empties them when it is dropped:
//! from then on no thread can begin to read, and a reader that ends later does not cache its hold.
//! Either side may come first. All accesses are sequentially consistent, so one of the two sees the
//! other.

use crate::io::ArcCell;
use crate::read::{reader_hold::ReaderHold, readers::HoldsSlot};
use std::{
    cell::RefCell,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

/// Cached slots of a thread, for all databases together. Enough for nested readers of a few
/// databases.
const CACHED_SLOTS_MAX: usize = 16;

impl HoldsSlot for ArcCell<ReaderHold> {
    fn empty(&self) {
        drop(self.take());
    }
}

/// A cached reader slot of this thread.
struct CachedReaderSlot {
    engine: u64,
    cell: Arc<ArcCell<ReaderHold>>,
    /// The flag of the engine's `Readers`. It may outlive them.
    is_closing: Arc<AtomicBool>,
}

thread_local! {
    static CACHED_SLOTS: RefCell<Vec<CachedReaderSlot>> = const { RefCell::new(Vec::new()) };
}

/// Takes a cached hold on this engine, if this thread has one.
#[inline]
pub(super) fn take_cached(engine: u64) -> Option<Arc<ReaderHold>> {
    // A thread that is ending has no cached slots any more.
    let taken = CACHED_SLOTS.try_with(|cached_slots| {
        let cached_slots = cached_slots.borrow();
        let mut own = cached_slots.iter().filter(|own| own.engine == engine);
        own.find_map(|own| own.cell.take())
    });
    taken.ok().flatten()
}

/// Caches a hold, whose slot pins nothing, for the next reader of this thread.
#[inline]
pub(super) fn put_cached(hold: Arc<ReaderHold>) {
    let engine = hold.engine.id();
    // A hold that is not cached is dropped after the borrow ends: dropping it may close the
    // database.
    let _left = CACHED_SLOTS.try_with(|cached_slots| {
        let mut hold = hold;
        for own in cached_slots
            .borrow()
            .iter()
            .filter(|own| own.engine == engine)
        {
            match own.cell.put(hold) {
                Some(other) => hold = other,
                None if own.is_closing.load(SeqCst) => return own.cell.take(),
                None => return None,
            }
        }
        add_cached_slot(&mut cached_slots.borrow_mut(), hold)
    });
}

/// Caches a hold in a new slot. Returns the hold if there is no room.
#[cold]
fn add_cached_slot(
    cached_slots: &mut Vec<CachedReaderSlot>,
    hold: Arc<ReaderHold>,
) -> Option<Arc<ReaderHold>> {
    cached_slots.retain(|own| !own.is_closing.load(SeqCst));
    if cached_slots.len() >= CACHED_SLOTS_MAX {
        return Some(hold);
    }
    let (engine, is_closing) = (
        hold.engine.id(),
        Arc::clone(&hold.engine.readers.is_closing),
    );
    let cell = Arc::new(ArcCell::default());
    let listed: Weak<ArcCell<ReaderHold>> = Arc::downgrade(&cell);
    hold.engine.readers.add_cached_slot(listed);
    let own = CachedReaderSlot {
        engine,
        cell,
        is_closing,
    };
    let displaced = own.cell.put(hold);
    let left = match own.is_closing.load(SeqCst) {
        true => own.cell.take(),
        false => displaced,
    };
    cached_slots.push(own);
    left
}
