//! Reader holds: a slot in the reader table, the state that it pins, and the database.

use crate::{
    Checksum, Error, PageNumber, Result, TransactionId,
    btree::{
        PageSource,
        reading::{Faults, IoWaitEstimator},
    },
    clock::TransactionTime,
    io::{Pinned, thread_id, uptime_ms},
    page::value::ValueExtent,
    share::{ReaderId, ReaderSlot},
};
use crate::{
    instance::engine::Engine,
    read::{
        frame_eviction::Borrower,
        snapshot::{PinnedSnapshot, Snapshot},
    },
    sync::lock,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// A slot and the state that it pins while a reader has this hold. Pages can be read through it
/// until the reader is cancelled.
#[derive(Debug)]
pub(crate) struct ReaderHold {
    pub(crate) slot: ReaderSlot,
    /// Number of the last reader that had this hold.
    number: AtomicU64,
    /// The moment of that reader, if it has read an expiring table.
    time: TransactionTime,
    // Declared in this order: the state is dropped before the engine.
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) engine: Arc<Engine>,
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
    /// A hold that pins nothing, with a slot of its own.
    #[cold]
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self> {
        let slot = engine.readers.take_slot()?;
        Ok(Self {
            slot,
            number: AtomicU64::new(engine.readers.table.number(slot)),
            time: TransactionTime::default(),
            snapshot: engine.committer.published.newest_here(),
            engine: Arc::clone(engine),
        })
    }

    /// Notes in the slot which thread is about to pin, and when.
    #[inline]
    pub(super) fn note(&self) {
        let table = &self.engine.readers.table;
        let number = table.note(self.slot, thread_id(), uptime_ms());
        self.number.store(number, Relaxed);
    }

    /// The moment at which the reader looks for expired records.
    pub(crate) fn now_ms(&self) -> u64 {
        // The number of a reader is even: the lowest bit marks cancellations.
        let owner = self.number.load(Relaxed) | 1;
        self.time.of(owner, || self.engine.expiry.take())
    }

    /// The reader as a borrower of pages, unless the database is plain.
    pub(crate) fn borrower(&self) -> Option<Borrower> {
        let is_coded = self.snapshot.mapping.is_coded();
        is_coded.then(|| Borrower::Reader(ReaderId::new(self.slot, self.number.load(Relaxed))))
    }

    /// Ends the pin, unless the slot belongs to another process by now, which took this one for
    /// dead.
    #[inline]
    pub(super) fn unpin(&self) {
        let table = &self.engine.readers.table;
        table.unpin_own(self.slot, self.number.load(Relaxed));
    }

    /// The state, whose pages the slot pins.
    #[inline]
    pub(super) fn state(&self) -> &PinnedSnapshot {
        // SAFETY: reason 1 of `io/pinned.rs`. Holds that pin nothing do not leave `reader.rs` and
        // `cached_slots.rs`, which read no page through them. Others get a hold from
        // `Reader::hold`. A `Reader` is made after its state was pinned, and ends before it is
        // unpinned. Without a lock file beside writers, reason 5.
        unsafe { Pinned::assume(&*self.snapshot) }
    }
}

impl PageSource for ReaderHold {
    #[inline]
    fn page_size(&self) -> usize {
        PageSource::page_size(self.state())
    }

    fn page_limit(&self) -> u64 {
        self.state().page_limit()
    }

    #[inline]
    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        PageSource::page(self.state(), number)
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        self.state().value(extent)
    }

    #[inline]
    fn prefetch(&self, number: PageNumber, offset: usize, lines: usize) {
        self.state().prefetch(number, offset, lines);
    }

    #[inline]
    fn io_wait(&self) -> &IoWaitEstimator {
        self.state().io_wait()
    }

    fn announce(&self, pages: &mut [PageNumber]) {
        PageSource::announce(self.state(), pages);
    }

    #[inline]
    fn faults(&self) -> &'static Faults {
        self.state().faults()
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
        self.state().needs_check(number)
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
            .state()
            .check_page(number, checksum, written, operation);
        self.engine.committer.evict_frames(&self.snapshot);
        checked.map_err(|error| self.engine.lost_or(error, &self.snapshot))
    }

    #[cold]
    fn check_value(&self, extent: &ValueExtent) -> Result<()> {
        let checked = self.state().check_value(extent);
        self.engine.committer.evict_frames(&self.snapshot);
        checked.map_err(|error| self.engine.lost_or(error, &self.snapshot))
    }
}
