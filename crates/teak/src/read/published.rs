//! The visible state, with which readers begin, and the states that readers hold.

use crate::{
    Error, Result, TransactionId, alloc,
    io::Storage,
    planted::planted,
    record::Record,
    share::{CommitNotifier, CommitWaiters, PinnedReader, ReaderTable, Region},
};
use crate::{
    read::{
        frame_eviction::{FrameEviction, ProcessReaders},
        roots::KnownRoots,
        snapshot::Snapshot,
    },
    share::lock_file_errors::lock_file_error,
    sync::lock,
};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// How many reader slots may be scanned per commit.
const SLOTS_PER_COMMIT: usize = 1024;

/// The longest time that publishing a state may take. Its record is stored before that.
pub(crate) const PUBLISHING: Duration = Duration::from_secs(1);

/// A reader that waits longer than this for the record sleeps instead of spinning.
const SPINNING: Duration = Duration::from_millis(1);

/// The operation in errors when the system maps no more memory.
const LOOKING: &str = "reading the reader table";

/// The operation in errors when following commits of other processes.
pub(crate) const FOLLOWING: &str = "reading commits of other processes";

/// Stands for counts that are not known.
const UNCOUNTED: [u64; 2] = [u64::MAX; 2];

/// The state that readers see.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) table: ReaderTable,
    /// Notified when another state becomes visible.
    pub(crate) notifier: CommitNotifier,
    /// Futures that wait for another state.
    pub(crate) waiters: Arc<CommitWaiters>,
    /// The newest state that this process knows.
    newest: Mutex<Arc<Snapshot>>,
    /// The visible state whose record did not appear; 0 if there is none.
    unknown: AtomicU64,
    held: Mutex<HeldStates>,
    /// Decoded pages whose memory is given back.
    pub(crate) eviction: FrameEviction,
    storage: Arc<dyn Storage>,
    /// Shared memory with the records of visible states.
    region: Option<Region>,
}

/// States that readers may hold, as of the last scan of the table and the commits since.
#[derive(Default, Debug)]
struct HeldStates {
    states: Vec<TransactionId>,
    /// Number of commits since the last scan.
    age: usize,
    /// The named states at the last scan.
    named: Arc<[TransactionId]>,
}

impl Published {
    /// With a region, `newest` is visible already.
    pub(crate) fn new(
        (table, notifier): (ReaderTable, CommitNotifier),
        newest: Snapshot,
        storage: Arc<dyn Storage>,
        region: Option<Region>,
    ) -> Self {
        if region.is_none() {
            table.publish(newest.transaction().0);
        }
        Self {
            waiters: CommitWaiters::new(table.clone(), notifier.clone()),
            table,
            notifier,
            newest: Mutex::new(Arc::new(newest)),
            unknown: AtomicU64::new(0),
            held: Mutex::default(),
            eviction: FrameEviction::default(),
            storage,
            region,
        }
    }

    /// The state that readers begin with.
    pub(crate) fn visible(&self) -> TransactionId {
        TransactionId(self.table.visible())
    }

    /// The newest state that readers see. It stays only while a reader or writer pins it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] and [`Error::Corrupted`] if another process made the state and it cannot be
    /// read.
    pub(crate) fn newest(&self) -> Result<Arc<Snapshot>> {
        let Some(region) = &self.region else {
            return Ok(self.newest_here());
        };
        let began = Instant::now();
        let mut newest = lock(&self.newest);
        loop {
            let visible = self.visible();
            if newest.transaction() == visible {
                return Ok(Arc::clone(&newest));
            }
            match self.snapshot_in(region, visible, &newest) {
                Ok(Some(snapshot)) => *newest = Arc::new(snapshot),
                Ok(None) => {}
                Err(error) if self.visible() == visible => return Err(error),
                // A newer state is visible meanwhile, and the file may have been truncated since.
                Err(_) => continue,
            }
            // If the record was not there, another state is visible by now or will be soon.
            if newest.transaction() != visible && self.visible() == visible {
                // Meanwhile other threads publish, or read the newest state known here.
                drop(newest);
                self.wait_for_record(visible, began.elapsed())?;
                newest = lock(&self.newest);
            }
        }
    }

    /// Waits briefly for the record of a visible state.
    ///
    /// # Errors
    ///
    /// Fails if this or an earlier reader has waited long enough: the lock file is damaged.
    fn wait_for_record(&self, state: TransactionId, waited: Duration) -> Result<()> {
        if waited > PUBLISHING {
            self.unknown.store(state.0, Relaxed);
        }
        if self.unknown.load(Relaxed) == state.0 {
            return Err(no_record());
        }
        match waited < SPINNING {
            true => std::hint::spin_loop(),
            false => thread::sleep(SPINNING),
        }
        Ok(())
    }

    /// Gives memory of decoded pages back, if they take too much. `small` lists the small
    /// transactions. `owner` has the reader slots of this process.
    #[inline]
    pub(crate) fn evict_frames(&self, state: &Snapshot, owner: u64, small: impl Fn() -> Vec<u64>) {
        let table = &self.table;
        (self.eviction).evict(ProcessReaders { table, owner }, state, small);
    }

    /// The newest state that this process knows.
    pub(crate) fn newest_here(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.newest))
    }

    /// The newest state that readers see, if it is known here or its record is there. Unlike
    /// [`Self::newest`] this never waits. The caller holds the lock of the commit state, so no
    /// other thread is publishing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] and [`Error::Corrupted`] if another process made the state and it cannot be
    /// read.
    pub(crate) fn newest_at_once(&self) -> Result<Option<Arc<Snapshot>>> {
        let mut newest = lock(&self.newest);
        let visible = self.visible();
        if let Some(region) = &self.region
            && newest.transaction() != visible
        {
            match self.snapshot_in(region, visible, &newest)? {
                Some(snapshot) => *newest = Arc::new(snapshot),
                None => return Ok(None),
            }
        }
        Ok(Some(Arc::clone(&newest)))
    }

    /// A visible state, if its record is there.
    fn snapshot_in(
        &self,
        region: &Region,
        state: TransactionId,
        before: &Snapshot,
    ) -> Result<Option<Snapshot>> {
        let Some((bytes, counts)) = region.record(state.0) else {
            return Ok(None);
        };
        let mapping = (self.storage.mapping()).map_err(Error::io("mapping the file"))?;
        let record = record_of_visible(&mapping.opened_record(bytes), state)?;
        let snapshot = foreign_snapshot(&*self.storage, record, before)?;
        let counts = Some(counts).filter(|counts| *counts != UNCOUNTED);
        Ok(Some(snapshot.with_counts(counts)))
    }

    /// Makes `state` visible: readers begin with it from now on.
    pub(crate) fn publish(&self, state: Arc<Snapshot>) {
        let record = match &self.region {
            Some(_) => state.record.encode(state.record.page_size as usize),
            None => Vec::new(),
        };
        self.publish_encoded(state, &record);
    }

    /// Like [`Self::publish`], with the encoded record.
    pub(crate) fn publish_encoded(&self, state: Arc<Snapshot>, record: &[u8]) {
        let mut newest = lock(&self.newest);
        let before = std::mem::replace(&mut *newest, state);
        match &self.region {
            Some(region) => {
                let counts = newest.known_counts().unwrap_or(UNCOUNTED);
                let record = self.storage.sealed_record(record);
                region.publish(newest.transaction().0, &record, counts);
            }
            None => self.table.publish(newest.transaction().0),
        }
        drop(newest);
        self.notifier.notify();
        // It may hold the last reference to a mapping, so it is dropped after the lock is released.
        drop(before);
    }

    /// Like [`Self::publish`], for a state that another process has made.
    pub(crate) fn publish_record(&self, record: &Record) {
        if let Some(region) = &self.region {
            publish_record(&*self.storage, region, record, None);
            self.notifier.notify();
        }
    }

    /// Adds the states that readers pin, one for each reader.
    pub(crate) fn add_pinned(&self, states: &mut Vec<TransactionId>) -> Result<()> {
        let visited = (self.table).for_each_pinned(|state| states.push(TransactionId(state)));
        visited.map_err(Error::io(LOOKING))
    }

    /// All readers.
    pub(crate) fn readers(&self) -> Result<Vec<PinnedReader>> {
        self.table.readers().map_err(Error::io(LOOKING))
    }

    /// Takes the matching states away from parked readers.
    pub(crate) fn take_parked(&self, is_taken: impl Fn(TransactionId) -> bool) -> Result<()> {
        let taken = self
            .table
            .take_parked(|state| is_taken(TransactionId(state)));
        taken.map_err(Error::io(LOOKING))
    }

    /// Adds the states that readers hold to `pins`, except named states. `pins` must contain the
    /// states that readers may begin with already.
    ///
    /// All slots are scanned, but not for each commit if there are many. Until the next scan, the
    /// states held at the last scan count as held, together with all states that readers may have
    /// begun with since. The named states of the last scan stay valid until the list of names
    /// changes.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the whole table cannot be mapped.
    pub(crate) fn add_held(
        &self,
        pins: &mut Vec<TransactionId>,
        named: &Arc<[TransactionId]>,
    ) -> Result<()> {
        planted!(FreeHeld => return Ok(()));
        let mut held = lock(&self.held);
        held.age += 1;
        if held.age * SLOTS_PER_COMMIT > self.table.slots_used() || !Arc::ptr_eq(&held.named, named)
        {
            held.states.clear();
            self.add_pinned(&mut held.states)?;
            held.age = 0;
            held.named = Arc::clone(named);
        }
        // A reader that begins before the next scan begins with one of these states or a named one.
        held.states.extend_from_slice(pins);
        held.states.sort_unstable();
        held.states.dedup();
        pins.clone_from(&held.states);
        Ok(())
    }

    /// Notes that readers may have begun with states that this process does not know.
    pub(crate) fn forget_held(&self) {
        lock(&self.held).age = usize::MAX / SLOTS_PER_COMMIT - 1;
    }
}

/// The record of the visible state `state`, decoded from bytes of the lock file, which may contain
/// anything. The caller must check that it belongs to this database.
pub(crate) fn record_of_visible(bytes: &[u8], state: TransactionId) -> Result<Record> {
    let record = Record::decode(bytes, Record::slot_of(bytes));
    let record = record.map_err(|fault| wrong_record(&fault.to_string()))?;
    match record.transaction == state {
        true => Ok(record),
        false => Err(wrong_record("it is of another transaction")),
    }
}

/// The error for an unusable record of the visible state.
pub(crate) fn wrong_record(reason: &str) -> Error {
    lock_file_error(io::Error::other(format!(
        "the record of the visible state is invalid: {reason}; close the database in all processes"
    )))
}

/// Fails if the file is shorter than a valid commit requires. No process of this database truncates
/// it that far.
pub(crate) fn refuse_shorter(storage: &dyn Storage, record: &Record) -> Result<()> {
    let (is, least) = (
        storage.len(),
        record.page_count * u64::from(record.page_size),
    );
    if is >= least {
        return Ok(());
    }
    let text = format!(
        "another program has truncated the file to {is} of {least} bytes; restore a backup"
    );
    let error = io::Error::new(io::ErrorKind::UnexpectedEof, text);
    Err(Error::io(FOLLOWING)(error))
}

/// The state of another process's record, for this process, which knows an older state.
///
/// # Errors
///
/// [`Error::Io`] if the record does not belong to this database, or the file is shorter than the
/// record says.
pub(crate) fn foreign_snapshot(
    storage: &dyn Storage,
    record: Record,
    before: &Snapshot,
) -> Result<Snapshot> {
    if !record.has_same_file(&before.record) {
        return Err(wrong_record("it is of another database"));
    }
    if storage.len() < record.page_count * u64::from(record.page_size) {
        storage
            .refresh(true)
            .map_err(Error::io("reading the length of the file"))?;
        refuse_shorter(storage, &record)?;
    }
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let verified = before.verified.covering(record.page_count);
    let (log, last) = (&before.record.space_log, before.transaction());
    let taken = match record.space_roots == before.record.space_roots {
        true => alloc::taken_since(log, last, &record.space_log),
        false => None,
    };
    match taken {
        // SAFETY: another process writes only to pages that no reader and no writer of any process
        // pins, and that were free in the state known here.
        Some(taken) => taken.into_iter().for_each(|extent| unsafe {
            verified.forget(extent);
            mapping.forget(extent);
        }),
        None if mapping.is_coded() => {
            // SAFETY: likewise.
            unsafe { mapping.distrust_all(|| verified.forget_all_everywhere()) };
        }
        None => verified.forget_all(),
    }
    let comparisons = before.comparisons.clone();
    Snapshot::new(
        record,
        mapping,
        verified,
        comparisons,
        KnownRoots::default(),
    )
}

/// The error for a visible state that no process has published.
pub(crate) fn no_record() -> Error {
    lock_file_error(io::Error::other(
        "the record of the visible state is missing; close the database in all processes",
    ))
}

/// The error for a newest commit that is not the one that the processes have agreed on.
pub(crate) fn no_such_commit() -> Error {
    lock_file_error(io::Error::other(
        "the lock file refers to a commit that does not exist; close the database in all processes",
    ))
}

/// Stores a record where all processes find it.
pub(crate) fn publish_record(
    storage: &dyn Storage,
    region: &Region,
    record: &Record,
    counts: Option<[u64; 2]>,
) {
    let bytes = record.encode(record.page_size as usize);
    let bytes = storage.sealed_record(&bytes);
    region.publish(record.transaction.0, &bytes, counts.unwrap_or(UNCOUNTED));
}
