//! The state that readers begin with, and those that they hold.

use crate::{
    Error, Result, TransactionId, alloc,
    io::Storage,
    planted::{Planted, is_planted},
    record::Record,
    share::{CommitNotifier, PinnedReader, ReaderTable, Region},
};
use crate::{
    read::{roots::KnownRoots, snapshot::Snapshot},
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

/// So many slots of readers may be looked at for each commit.
const SLOTS_PER_COMMIT: usize = 1024;

/// The longest that making a state visible takes, in which its record is there before.
pub(crate) const PUBLISHING: Duration = Duration::from_secs(1);

/// After this a reader that waits for that record sleeps.
const SPINNING: Duration = Duration::from_millis(1);

/// What fails where the system maps no more memory.
const LOOKING: &str = "looking at the table of readers";

/// What is done when another process has committed.
pub(crate) const FOLLOWING: &str = "following other processes";

/// What stands for counts that nobody has made.
const UNCOUNTED: [u64; 2] = [u64::MAX; 2];

/// What readers see.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) table: ReaderTable,
    /// Rung when another state becomes visible.
    pub(crate) notifier: CommitNotifier,
    /// The newest state that this process knows.
    newest: Mutex<Arc<Snapshot>>,
    /// The visible state whose record did not come; 0 if there is none.
    unknown: AtomicU64,
    held: Mutex<HeldStates>,
    storage: Arc<dyn Storage>,
    /// Where the records of visible states are, for all processes.
    region: Option<Region>,
}

/// States that readers may hold, as of the last look at the table and what came since.
#[derive(Default, Debug)]
struct HeldStates {
    states: Vec<TransactionId>,
    /// Commits since the last look.
    age: usize,
    /// The states that had names then.
    named: Arc<[TransactionId]>,
}

impl Published {
    /// `newest` is visible already where there is a region.
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
            table,
            notifier,
            newest: Mutex::new(Arc::new(newest)),
            unknown: AtomicU64::new(0),
            held: Mutex::default(),
            storage,
            region,
        }
    }

    /// The state that readers begin with.
    pub(crate) fn visible(&self) -> TransactionId {
        TransactionId(self.table.visible())
    }

    /// The newest state that readers see. It stays only while something pins it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] and [`Error::Corrupted`], if another process made it and it cannot be looked at.
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
                // A newer state is visible, and the file may be shorter since.
                Err(_) => continue,
            }
            // If its record was not there, another state is visible by now, or will be soon.
            if newest.transaction() != visible && self.visible() == visible {
                // Others publish meanwhile, or look at what is known here.
                drop(newest);
                self.wait_for_record(visible, began.elapsed())?;
                newest = lock(&self.newest);
            }
        }
    }

    /// Waits a moment for the record of a visible state.
    ///
    /// # Errors
    ///
    /// If it was waited for long enough, now or by an earlier reader: the lock file is damaged.
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

    /// The newest state that this process knows.
    pub(crate) fn newest_here(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.newest))
    }

    /// The newest state that readers see, if it is known here or its record is there. Unlike [`Self::newest`] this never waits. The caller has
    /// the state of commits locked, so nobody is just publishing.
    ///
    /// # Errors
    /// Those of [`Self::newest`].
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
        let record = record_of_visible(&bytes, state)?;
        let snapshot = foreign_snapshot(&*self.storage, record, before)?;
        let counts = Some(counts).filter(|counts| *counts != UNCOUNTED);
        Ok(Some(snapshot.with_counts(counts)))
    }

    /// Has readers begin with `state` from now on.
    pub(crate) fn publish(&self, state: Arc<Snapshot>) {
        let record = match &self.region {
            Some(_) => state.record.encode(state.record.page_size as usize),
            None => Vec::new(),
        };
        self.publish_encoded(state, &record);
    }

    /// The same, given the bytes of its record.
    pub(crate) fn publish_encoded(&self, state: Arc<Snapshot>, record: &[u8]) {
        let mut newest = lock(&self.newest);
        let before = std::mem::replace(&mut *newest, state);
        match &self.region {
            Some(region) => {
                let counts = newest.known_counts().unwrap_or(UNCOUNTED);
                region.publish(newest.transaction().0, record, counts);
            }
            None => self.table.publish(newest.transaction().0),
        }
        drop(newest);
        self.notifier.notify();
        // It may be the last to hold a mapping.
        drop(before);
    }

    /// The same for a state that another process has made.
    pub(crate) fn publish_record(&self, record: &Record) {
        if let Some(region) = &self.region {
            publish_record(region, record, None);
            self.notifier.notify();
        }
    }

    /// Adds the states that readers pin, one for each reader.
    pub(crate) fn add_pinned(&self, states: &mut Vec<TransactionId>) -> Result<()> {
        let looked = (self.table).for_each_pinned(|state| states.push(TransactionId(state)));
        looked.map_err(Error::io(LOOKING))
    }

    /// All readers.
    pub(crate) fn readers(&self) -> Result<Vec<PinnedReader>> {
        self.table.readers().map_err(Error::io(LOOKING))
    }

    /// Takes away those states from parked readers that are to be.
    pub(crate) fn take_parked(&self, is_taken: impl Fn(TransactionId) -> bool) -> Result<()> {
        let taken = self
            .table
            .take_parked(|state| is_taken(TransactionId(state)));
        taken.map_err(Error::io(LOOKING))
    }

    /// Adds the states that readers hold to `pins`, where those stand already that they may begin with, but for those that have a
    /// name.
    ///
    /// All slots are looked at, but where there are many not for each commit: until the next look, what was
    /// held stays so, and with it all that readers may have begun with since. Names stay until there is another list of them.
    ///
    /// # Errors
    /// [`Error::Io`] if the table cannot be seen as a whole.
    pub(crate) fn add_held(
        &self,
        pins: &mut Vec<TransactionId>,
        named: &Arc<[TransactionId]>,
    ) -> Result<()> {
        if is_planted(Planted::FreeHeld) {
            return Ok(());
        }
        let mut held = lock(&self.held);
        held.age += 1;
        if held.age * SLOTS_PER_COMMIT > self.table.slots_used() || !Arc::ptr_eq(&held.named, named)
        {
            held.states.clear();
            self.add_pinned(&mut held.states)?;
            held.age = 0;
            held.named = Arc::clone(named);
        }
        // Whoever begins until the next look begins with one of these, or with one that has a name.
        held.states.extend_from_slice(pins);
        held.states.sort_unstable();
        held.states.dedup();
        pins.clone_from(&held.states);
        Ok(())
    }

    /// Says that readers may have begun with states that this process does not know.
    pub(crate) fn forget_held(&self) {
        lock(&self.held).age = usize::MAX / SLOTS_PER_COMMIT - 1;
    }
}

/// The record of the visible state `state`, of bytes from the lock file, where anything may have been written. Whether it is of this database
/// is for the caller to check.
pub(crate) fn record_of_visible(bytes: &[u8], state: TransactionId) -> Result<Record> {
    let record = Record::decode(bytes, Record::slot_of(bytes));
    let record = record.map_err(|fault| wrong_record(&fault.to_string()))?;
    match record.transaction == state {
        true => Ok(record),
        false => Err(wrong_record("it is of another transaction")),
    }
}

/// The record of the visible state cannot be used.
pub(crate) fn wrong_record(reason: &str) -> Error {
    lock_file_error(io::Error::other(format!(
        "the record of the visible state makes no sense: {reason}; close all who have the database open"
    )))
}

/// Fails if the file is shorter than a commit is that counts: no process has cut it then.
pub(crate) fn refuse_shorter(storage: &dyn Storage, record: &Record) -> Result<()> {
    let (is, least) = (
        storage.len(),
        record.page_count * u64::from(record.page_size),
    );
    if is >= least {
        return Ok(());
    }
    let text =
        format!("somebody has cut the file short, to {is} bytes of {least}; restore a backup");
    let error = io::Error::new(io::ErrorKind::UnexpectedEof, text);
    Err(Error::io(FOLLOWING)(error))
}

/// The state that a record of another process makes, for this one, which knows an older state.
///
/// # Errors
/// [`Error::Io`] if the record cannot be one of this database, or the file is shorter than it says.
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
    let checked = before.checked.covering(record.page_count);
    let (log, last) = (&before.record.space_log, before.transaction());
    let taken = match record.space_roots == before.record.space_roots {
        true => alloc::taken_since(log, last, &record.space_log),
        false => None,
    };
    match taken {
        Some(taken) => taken.into_iter().for_each(|extent| checked.forget(extent)),
        None => checked.forget_all(),
    }
    let comparisons = before.comparisons.clone();
    Snapshot::new(record, mapping, checked, comparisons, KnownRoots::default())
}

/// The visible state is none that anybody has made visible.
pub(crate) fn no_record() -> Error {
    lock_file_error(io::Error::other(
        "the record of the visible state is not there; close all who have the database open",
    ))
}

/// Keeps a record where all processes find it.
pub(crate) fn publish_record(region: &Region, record: &Record, counts: Option<[u64; 2]>) {
    let bytes = record.encode(record.page_size as usize);
    region.publish(record.transaction.0, &bytes, counts.unwrap_or(UNCOUNTED));
}
