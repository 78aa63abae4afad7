//! Readers: beginning, parking, resetting and ending a read of one state.

use crate::{Error, Result, TransactionId, btree::PageSource};
use crate::{
    instance::engine::Engine,
    read::{
        cached_slots::{put_cached, take_cached},
        reader_hold::ReaderHold,
        snapshot::{PinnedSnapshot, Snapshot},
        state_key::StateKey,
        verified_bitmap::Trust,
    },
};
use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{Ordering::Acquire, fence},
    },
};

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
            None => Arc::new(ReaderHold::new(engine)?),
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
            hold.snapshot.verified.distrust();
        }
        Ok(Self { hold: Some(hold) })
    }

    /// Begins to read a state that the newest one lists, with page verification according to
    /// `trust`.
    pub(crate) fn begin_at(engine: &Arc<Engine>, key: &StateKey, trust: Trust) -> Result<Self> {
        let mut newest = Self::begin(engine)?;
        loop {
            let named = newest.named(key)?;
            let mut hold = ReaderHold::new(engine)?;
            hold.snapshot = Arc::new(newest.past(&named, trust)?);
            hold.note();
            (engine.readers.table).pin_state(hold.slot, named.transaction.0);
            // A thread that drops the snapshot after this check scans the slots later, and finds
            // the pin.
            newest = Self::begin(engine)?;
            if newest.named(key)? == named {
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
        self.show_memtable()?;
        Reader::begin(self)
    }

    /// Begins to read the state of a prepared transaction.
    pub(crate) fn begin_read_prepared(self: &Arc<Self>, name: &[u8]) -> Result<Reader> {
        self.refuse_closed()?;
        self.show_memtable()?;
        Reader::begin_at(self, &StateKey::prepared(name), Trust::Own)
    }

    /// Begins to read the state of a named snapshot.
    pub(crate) fn begin_read_at(self: &Arc<Self>, name: &[u8]) -> Result<Reader> {
        self.refuse_closed()?;
        self.show_memtable()?;
        Reader::begin_at(self, &StateKey::snapshot(name), Trust::Own)
    }
}

/// A reader slot that is taken before the state to read exists.
#[derive(Debug)]
pub(crate) struct ReservedSlot(ReaderHold);

impl ReservedSlot {
    pub(crate) fn take(engine: &Arc<Engine>) -> Result<Self> {
        ReaderHold::new(engine).map(Self)
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
pub(crate) struct Reset(ResetHold);

#[derive(Debug)]
enum ResetHold {
    Kept(Arc<ReaderHold>),
    /// A clone has the hold too, or the hold is for a state other than the newest.
    None(Arc<Engine>),
}

impl Reader {
    /// Ends the reader. Its hold can begin another one.
    #[inline]
    pub(crate) fn reset(mut self) -> Reset {
        match self.end() {
            Some(hold) => Reset(ResetHold::Kept(hold)),
            None => Reset(ResetHold::None(Arc::clone(self.engine()))),
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
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        match &self.0 {
            ResetHold::Kept(hold) => &hold.engine,
            ResetHold::None(engine) => engine,
        }
    }

    /// Leaves its slot to the next reader of this thread.
    pub(crate) fn release(self) {
        if let ResetHold::Kept(hold) = self.0 {
            put_cached(hold);
        }
    }

    /// Begins to read the visible state.
    #[inline]
    pub(crate) fn begin(self) -> Result<Reader> {
        match self.0 {
            ResetHold::Kept(hold) => {
                hold.engine.refuse_closed()?;
                hold.engine.show_memtable()?;
                prepare(&hold.engine)?;
                Reader::begin_with(hold)
            }
            ResetHold::None(engine) => engine.begin_read(),
        }
    }
}

impl Deref for Reader {
    type Target = PinnedSnapshot;

    #[inline]
    fn deref(&self) -> &PinnedSnapshot {
        self.hold().state()
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

/// Takes a reference to the pinned state. If another state is visible by now, pins that one
/// instead.
#[cold]
fn refresh(hold: &mut Arc<ReaderHold>, mut state: u64) -> Result<()> {
    loop {
        let engine = &hold.engine;
        let visible = engine.named(engine.committer.published.newest())?;
        if visible.transaction().0 == state {
            let hold = Arc::get_mut(hold).expect("a hold taken from the cache has one owner");
            hold.snapshot = visible;
            return Ok(());
        }
        state = hold.engine.readers.table.pin(hold.slot);
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
