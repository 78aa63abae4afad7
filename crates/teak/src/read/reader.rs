//! Reader holds, and how a thread that reads often begins and ends reads without touching shared
//! cache lines.
//!
//! A *hold* consists of a slot in the reader table, the state that it pins, and the database. When
//! a reader ends, its hold stays in a *cached reader slot* of the thread that ended it, and the
//! slot pins nothing. The next reader of that thread takes it from there. If no other state is
//! visible by then, the reader only has to pin. After a commit it also takes a reference to the new
//! state, which the committing thread created.
//!
//! Cached slots must not keep a database open. The last handle empties them when it is dropped:
//! from then on no thread can begin to read, and a reader that ends later does not cache its hold.
//! Either side may come first. All accesses are sequentially consistent, so one of the two sees the
//! other.

use crate::{
    Checksum, Error, PageNumber, Result, TransactionId,
    btree::{
        PageSource,
        reading::{Faults, IoWaitEstimator},
    },
    io::{ArcCell, thread_id, uptime_ms},
    page::value::ValueExtent,
    share::ReaderSlot,
};
use crate::{
    instance::engine::Engine,
    read::{readers::HoldsSlot, snapshot::Snapshot, verified_bitmap::Trust},
    sync::lock,
};
use std::{
    cell::RefCell,
    ops::Deref,
    sync::{
        Arc, Weak,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, SeqCst},
            fence,
        },
    },
};

/// Cached slots of a thread, for all databases together. Enough for nested readers of a few
/// databases.
const CACHED_SLOTS_MAX: usize = 16;

/// A slot and the state that it pins while a [`Reader`] has this hold. Pages can be read through it
/// until the reader is cancelled.
#[derive(Debug)]
pub(crate) struct ReaderHold {
    pub(crate) slot: ReaderSlot,
    /// Number of the last reader that had this hold.
    number: AtomicU64,
    // Declared in this order: the state is dropped before the engine.
    snapshot: Arc<Snapshot>,
    engine: Arc<Engine>,
}

impl Drop for ReaderHold {
    fn drop(&mut self) {
        if self.engine.generation.is_past() {
            return;
        }
        self.unpin();
        lock(&self.engine.readers.free).push(self.slot);
    }
}

impl ReaderHold {
    /// Notes in the slot which thread is about to pin, and when.
    #[inline]
    fn note(&self) {
        let table = &self.engine.readers.table;
        let number = table.note(self.slot, thread_id(), uptime_ms());
        self.number.store(number, Relaxed);
    }

    /// Ends the pin, unless the slot belongs to another process by now, which took this one for
    /// dead.
    #[inline]
    fn unpin(&self) {
        let table = &self.engine.readers.table;
        table.unpin_own(self.slot, self.number.load(Relaxed));
    }
}

impl PageSource for ReaderHold {
    #[inline]
    fn page_size(&self) -> usize {
        PageSource::page_size(&*self.snapshot)
    }

    fn page_limit(&self) -> u64 {
        self.snapshot.page_limit()
    }

    #[inline]
    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        PageSource::page(&*self.snapshot, number)
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        self.snapshot.value(extent)
    }

    #[inline]
    fn prefetch(&self, number: PageNumber, offset: usize, lines: usize) {
        self.snapshot.prefetch(number, offset, lines);
    }

    #[inline]
    fn io_wait(&self) -> &IoWaitEstimator {
        self.snapshot.io_wait()
    }

    fn announce(&self, pages: &mut [PageNumber]) {
        PageSource::announce(&*self.snapshot, pages);
    }

    #[inline]
    fn faults(&self) -> &'static Faults {
        self.snapshot.faults()
    }

    #[inline]
    fn refuse_cancelled(&self) -> Result<()> {
        let number = self.number.load(Relaxed);
        match self.engine.readers.table.is_cancelled(self.slot, number) {
            true => Err(Error::SnapshotLost),
            false => Ok(()),
        }
    }

    #[inline]
    fn needs_check(&self, number: PageNumber) -> bool {
        self.snapshot.needs_check(number)
    }

    #[cold]
    fn check_page(
        &self,
        number: PageNumber,
        checksum: Checksum,
        written: TransactionId,
        operation: &'static str,
    ) -> Result<()> {
        let checked = self
            .snapshot
            .check_page(number, checksum, written, operation);
        checked.map_err(|error| self.engine.lost_or(error, &self.snapshot))
    }

    #[cold]
    fn check_value(&self, extent: &ValueExtent) -> Result<()> {
        let checked = self.snapshot.check_value(extent);
        checked.map_err(|error| self.engine.lost_or(error, &self.snapshot))
    }
}

/// A state that stays while this reader or a clone of it lives.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    /// `None` only while the reader ends.
    hold: Option<Arc<ReaderHold>>,
}

impl Reader {
    /// Begins to read the visible state.
    #[inline]
    pub(crate) fn begin(engine: &Arc<Engine>) -> Result<Self> {
        prepare(engine)?;
        let hold = match take_cached(engine.id()) {
            Some(hold) => hold,
            None => Arc::new(new_hold(engine)?),
        };
        Self::begin_with(hold)
    }

    /// Begins to read the visible state with a hold that pins nothing and has no other owner.
    #[inline]
    fn begin_with(mut hold: Arc<ReaderHold>) -> Result<Self> {
        hold.note();
        let state = hold.engine.readers.table.pin(hold.slot);
        if hold.snapshot.transaction().0 != state {
            refresh(&mut hold, state)?;
        }
        if let Some(shared) = hold.engine.readers.shared.as_ref()
            && shared.is_distrusted()
        {
            hold.snapshot.checked.distrust();
        }
        Ok(Self { hold: Some(hold) })
    }

    /// Begins to read the state of a named snapshot, with page verification according to `trust`.
    pub(crate) fn begin_at(engine: &Arc<Engine>, name: &[u8], trust: Trust) -> Result<Self> {
        let mut newest = Self::begin(engine)?;
        loop {
            let named = newest.named(name)?;
            let mut hold = new_hold(engine)?;
            hold.snapshot = Arc::new(newest.past(&named, trust)?);
            hold.note();
            (engine.readers.table).pin_state(hold.slot, named.transaction.0);
            // A thread that drops the snapshot after this check scans the slots later, and finds
            // the pin.
            newest = Self::begin(engine)?;
            if newest.named(name)? == named {
                return Ok(Self {
                    hold: Some(Arc::new(hold)),
                });
            }
        }
    }

    /// The pages of the state, and the cancellation flag of this reader.
    #[inline]
    pub(crate) fn hold(&self) -> &ReaderHold {
        self.hold
            .as_ref()
            .expect("a reader has its hold until it ends")
    }

    #[inline]
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.hold().engine
    }
}

impl Engine {
    /// Begins to read the newest state that readers see.
    #[inline]
    pub(crate) fn begin_read(self: &Arc<Self>) -> Result<Reader> {
        self.refuse_closed()?;
        Reader::begin(self)
    }

    /// Begins to read the state of a named snapshot.
    pub(crate) fn begin_read_at(self: &Arc<Self>, name: &[u8]) -> Result<Reader> {
        self.refuse_closed()?;
        Reader::begin_at(self, name, Trust::Own)
    }
}

/// A reader slot that is taken before the state to read exists.
#[derive(Debug)]
pub(crate) struct ReservedSlot(ReaderHold);

impl ReservedSlot {
    pub(crate) fn take(engine: &Arc<Engine>) -> Result<Self> {
        new_hold(engine).map(Self)
    }

    /// Pins the newest state, whether or not readers see it yet. The caller holds the writer lock,
    /// so no writer has collected pins since that state exists. All pages of the state are in the
    /// file.
    pub(crate) fn pin(&mut self, state: Arc<Snapshot>) {
        let Self(hold) = self;
        hold.snapshot = state;
        hold.note();
        let table = &hold.engine.readers.table;
        table.pin_state(hold.slot, hold.snapshot.transaction().0);
    }

    /// Begins to read the pinned state. Readers must be able to see it by now: a state that a
    /// failure takes back must not be left in a cached slot.
    pub(crate) fn begin(self) -> Reader {
        Reader {
            hold: Some(Arc::new(self.0)),
        }
    }
}

/// A reader that does not use its state for now, and may lose it.
#[derive(Debug)]
pub(crate) struct ParkedReader(Reader);

impl Reader {
    /// Parks the reader. Returns it unchanged if it has a clone.
    pub(crate) fn park(self) -> Result<ParkedReader, Self> {
        if Arc::strong_count(
            self.hold
                .as_ref()
                .expect("a reader has its hold until it ends"),
        ) > 1
        {
            return Err(self);
        }
        fence(Acquire);
        let hold = self.hold();
        hold.engine.readers.table.park(hold.slot);
        Ok(ParkedReader(self))
    }
}

impl ParkedReader {
    /// Continues to read the same state, unless it was taken away.
    pub(crate) fn resume(self) -> Result<Reader> {
        let hold = self.0.hold();
        hold.engine.refuse_forked()?;
        if !hold.engine.readers.table.unpark(hold.slot) {
            return Err(Error::SnapshotLost);
        }
        hold.refuse_cancelled()?;
        Ok(self.0)
    }

    /// The state.
    pub(crate) fn transaction(&self) -> TransactionId {
        self.0.transaction()
    }
}

/// A reader that was reset: it pins nothing, and keeps its hold for the next reader.
#[derive(Debug)]
pub(crate) enum Reset {
    ReaderHold(Arc<ReaderHold>),
    /// A clone has the hold too, or the hold is for a state other than the newest.
    Engine(Arc<Engine>),
}

impl Reader {
    /// Ends the reader. Its hold can begin another one.
    #[inline]
    pub(crate) fn reset(mut self) -> Reset {
        match self.end() {
            Some(hold) => Reset::ReaderHold(hold),
            None => Reset::Engine(Arc::clone(self.engine())),
        }
    }

    /// Unpins the state and returns the hold for reuse. Returns `None` and does nothing if a clone
    /// has the hold too, or if it cannot be reused.
    #[inline]
    fn end(&mut self) -> Option<Arc<ReaderHold>> {
        // The last clone has no other owner that could clone it concurrently.
        self.hold.take_if(|hold| {
            let is_reusable = Arc::strong_count(hold) == 1
                && !hold.snapshot.is_past
                && !hold.engine.generation.is_past();
            if is_reusable {
                // Orders reads by a clone on another thread before the unpin.
                fence(Acquire);
                hold.unpin();
            }
            is_reusable
        })
    }
}

impl Reset {
    /// Begins to read the visible state.
    #[inline]
    pub(crate) fn begin(self) -> Result<Reader> {
        match self {
            Self::ReaderHold(hold) => {
                hold.engine.refuse_closed()?;
                prepare(&hold.engine)?;
                Reader::begin_with(hold)
            }
            Self::Engine(engine) => engine.begin_read(),
        }
    }
}

impl Deref for Reader {
    type Target = Snapshot;

    #[inline]
    fn deref(&self) -> &Snapshot {
        &self.hold().snapshot
    }
}

impl Drop for Reader {
    #[inline]
    fn drop(&mut self) {
        // If two clones end at the same time and each sees the other, the hold is dropped instead
        // of cached. That is harmless.
        if let Some(hold) = self.end() {
            put_cached(hold);
        }
    }
}

/// Refuses if no reader can begin. Checks the file for commits if other processes do not announce
/// them.
#[inline]
fn prepare(engine: &Engine) -> Result<()> {
    match &engine.readers.shared {
        Some(shared) if shared.is_evicted() => Err(shared.evicted()),
        None if engine.readers.has_unknown_writers => engine.refresh_from_file(),
        _ => Ok(()),
    }
}

#[cold]
fn new_hold(engine: &Arc<Engine>) -> Result<ReaderHold> {
    let slot = engine.readers.take_slot()?;
    Ok(ReaderHold {
        slot,
        number: AtomicU64::new(engine.readers.table.number(slot)),
        snapshot: engine.flusher.published.newest_here(),
        engine: Arc::clone(engine),
    })
}

/// Takes a reference to the pinned state. If another state is visible by now, pins that one
/// instead.
#[cold]
fn refresh(hold: &mut Arc<ReaderHold>, mut state: u64) -> Result<()> {
    loop {
        let engine = &hold.engine;
        let visible = engine.named(engine.flusher.published.newest())?;
        if visible.transaction().0 == state {
            let hold = Arc::get_mut(hold).expect("a hold that was seated is alone");
            hold.snapshot = visible;
            return Ok(());
        }
        state = hold.engine.readers.table.pin(hold.slot);
    }
}

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
fn take_cached(engine: u64) -> Option<Arc<ReaderHold>> {
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
fn put_cached(hold: Arc<ReaderHold>) {
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

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
