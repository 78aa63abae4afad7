//! The engine: one open database, as all its handles and transactions share it.

use super::{
    arena::Arena,
    dropped::DroppedTrees,
    events::{CommitNote, Event, Events},
    flusher::Flusher,
    high_water::HighWater,
    holes::Punching,
    lock,
    metrics::Metrics,
    named::NamedPins,
    open::Settled,
    pages::zone::Zone,
    place::Entered,
    policies::{Asked, Policies, Settings},
    progress::{UnwrittenPage, Written},
    published::{FOLLOWING, Published, foreign_snapshot, refuse_shorter},
    reader::{Reader, Readers, Trust, private_table},
    readers_seen::SlowReaderHook,
    recover::Recovery,
    shared::Shared,
    snapshot::Snapshot,
    tail::Tail,
    ticket::Ticket,
    written::WrittenRuns,
};
use crate::{
    Error, PageNumber, Result, Run, TransactionId,
    commit::record::Record,
    planted::{Planted, is_planted},
    share::{Taken, Turn, Turnstile},
    space::Space,
    store::{Access, Generation, Storage},
};
use std::{
    collections::{HashMap, HashSet},
    fs::Metadata,
    ops::{Deref, DerefMut},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// When a commit is on the disk. A process that is killed loses nothing of any; a power cut may
/// take the newest commits that are not on the disk yet, never a part of one, and never one without
/// those behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// When it returns. Readers see it then, or when a later commit that is seen builds on it.
    /// Threads that commit at the same time share flushes.
    #[default]
    Durable,
    /// Soon after it returns, without anybody's doing; a [`Ticket`](super::Ticket) tells when.
    /// Readers see it when it returns.
    Async,
    /// When the operating system, a later durable commit, or the limits
    /// [`Options::flush_after`](crate::Options::flush_after) and
    /// [`Options::flush_after_bytes`](crate::Options::flush_after_bytes) have it written. Readers
    /// see it when it returns.
    Lazy,
}

impl Durability {
    /// Whether readers see a commit before it is on the disk.
    pub(super) fn is_seen_at_once(self) -> bool {
        self != Self::Durable
    }

    /// The byte that stands for it in a commit record.
    pub(super) fn to_byte(self) -> u8 {
        match self {
            Self::Durable => 0,
            Self::Lazy => 1,
            Self::Async => 2,
        }
    }

    /// What a byte of a commit record says. One that a later version wrote means the safest.
    pub(super) fn from_byte(byte: u8) -> Self {
        match byte {
            1 => Self::Lazy,
            2 => Self::Async,
            _ => Self::Durable,
        }
    }
}

/// The id of the next engine, or savepoint.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A number that nothing else of this process has.
pub(super) fn unique_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// One open database.
#[derive(Debug)]
pub(crate) struct Engine {
    /// Tells engines of this process apart.
    id: u64,
    /// The process that opened it.
    pub(super) generation: Generation,
    pub(super) path: PathBuf,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) page_size: usize,
    pub(super) policies: Policies,
    /// Absent in a database that is open for reading only.
    pub(super) turnstile: Option<Arc<Turnstile<Writer>>>,
    pub(super) flusher: Arc<Flusher>,
    pub(super) closed: AtomicBool,
    pub(super) recovery: Recovery,
    pub(super) readers: Readers,
    pub(super) slow_readers: Option<SlowReaderHook>,
    /// How often this process has the database open.
    openings: Mutex<u32>,
    /// Whether the last opening was closed.
    is_closing: AtomicBool,
    /// Whether the program was told that the file has lost its name.
    pub(super) has_told_lost_name: AtomicBool,
    /// Whether processes may write that do not know what this one reads: see [`unlocked`](super::unlocked).
    pub(super) has_unknown_writers: bool,
    handles: Mutex<HashMap<Vec<u8>, usize>>,
    /// Tables whose keys were found to be in the order that their comparison says.
    pub(super) compared: Mutex<HashSet<usize>>,
}

/// What only the writer touches, kept from one write transaction to the next.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) space: Space,
    pub(super) arena: Arena,
    /// The record of the newest commit. Its slot and sequence are decided when it is written.
    pub(super) newest: Record,
    pub(super) asked: Asked,
    pub(super) written: WrittenRuns,
    /// Pages of the newest commit, those among them that may not be in the file yet, sorted.
    pub(super) unwritten: Arc<[UnwrittenPage]>,
    /// Whether a clean close has to be noted.
    pub(super) is_changed: bool,
    /// Whether all of this has yet to be read from the file.
    pub(super) is_stale: bool,
    /// How often processes had given blocks of the file back.
    pub(super) blocks_given_back: u64,
    /// Where the file may be cut, and when.
    pub(super) excess: Excess,
    pub(super) tail: Tail,
    pub(super) punching: Punching,
    pub(super) high_water: HighWater,
    /// When the file became longer.
    pub(super) last_growth: Option<Instant>,
    pub(super) zone: Zone,
    pub(super) dropped: DroppedTrees,
    /// The states that stay because they have a name.
    pub(super) named: NamedPins,
}

/// What is known of how much of the file nobody needs. It may be cut off once no record can count, after whatever
/// crash, that speaks of a longer file; and two records are on the disk that do not, so that one may rot.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Excess {
    /// The commit that made the database shorter.
    since: TransactionId,
    /// The most pages that a commit since then has.
    page_count: u64,
    /// The last durable commit when it was first seen that the other one is durable.
    seen: Option<TransactionId>,
}

/// The turn of a writer, and the writer's place among processes.
#[derive(Debug)]
pub(super) struct WriterTurn {
    /// Absent only at the end.
    turn: Option<Turn<Writer>>,
    generation: Generation,
    flusher: Arc<Flusher>,
}

impl WriterTurn {
    pub(super) fn flusher(&self) -> &Arc<Flusher> {
        &self.flusher
    }

    /// The turn, for who goes on with it. This one is left without, and may only be dropped.
    pub(super) fn take(&mut self) -> Self {
        Self {
            turn: self.turn.take(),
            generation: self.generation,
            flusher: Arc::clone(&self.flusher),
        }
    }
}

impl Deref for WriterTurn {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        self.turn
            .as_ref()
            .expect("a writer has its turn until it ends")
    }
}

impl DerefMut for WriterTurn {
    fn deref_mut(&mut self) -> &mut Writer {
        self.turn
            .as_mut()
            .expect("a writer has its turn until it ends")
    }
}

impl Drop for WriterTurn {
    fn drop(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        if self.generation.is_past() {
            // It is the parent's, which goes on.
            return std::mem::forget(turn);
        }
        self.flusher.place.leave(&self.flusher.progress);
    }
}

impl Engine {
    pub(super) fn new(
        path: PathBuf,
        storage: Arc<dyn Storage>,
        settings: &Settings,
        settled: Settled,
        shared: Option<Arc<Shared>>,
    ) -> Self {
        let Settled {
            snapshot: newest,
            state,
            writer,
            recovery,
        } = settled;
        let policies = Policies::new(settings, &newest.record);
        let writer = writer.map(|mut writer| {
            writer.asked = Asked::new(settings, &policies);
            writer.is_changed |= writer.asked.note(&mut writer.newest);
            writer
        });
        let region = shared.as_ref().map(|shared| shared.region.clone());
        let (table, bell) = match &region {
            Some(region) => (region.readers.clone(), region.bell.clone()),
            None => private_table(),
        };
        let page_size = newest.record.page_size as usize;
        let published = Published::new((table.clone(), bell), newest, Arc::clone(&storage), region);
        Self {
            id: unique_id(),
            generation: Generation::current(),
            path,
            page_size,
            policies,
            turnstile: writer.map(Turnstile::new),
            closed: AtomicBool::new(false),
            recovery,
            slow_readers: settings.slow_readers.clone(),
            openings: Mutex::default(),
            is_closing: AtomicBool::new(false),
            has_told_lost_name: AtomicBool::new(false),
            has_unknown_writers: false,
            handles: Mutex::default(),
            compared: Mutex::default(),
            readers: Readers::new(table, shared.clone()),
            flusher: Arc::new(Flusher::new(
                Arc::clone(&storage),
                published,
                state,
                policies.flush_limits,
                shared,
                Events::new(settings.events.clone()),
            )),
            storage,
        }
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Tells engines of this process apart.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn metrics(&self) -> Metrics {
        self.flusher.counters.read()
    }

    /// The directory that the file is in.
    pub(crate) fn directory(&self) -> PathBuf {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        }
    }

    pub(crate) fn page_size(&self) -> usize {
        self.page_size
    }

    pub(crate) fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Whether processes know of each other.
    pub(crate) fn has_lock_file(&self) -> bool {
        self.flusher.shared.is_some()
    }

    /// Its part in what processes share; `None` where no other process can have the database open.
    pub(super) fn shared(&self) -> Option<&Shared> {
        self.flusher.shared.as_deref()
    }

    /// Tells of a commit that is done.
    pub(super) fn tell_committed(
        &self,
        note: Option<CommitNote>,
        transaction: TransactionId,
        durability: Durability,
    ) {
        let events = &self.flusher.events;
        if let Some(note) = note {
            note.note(events, transaction, durability);
            events.tell();
        }
    }

    /// Tells that it was opened, and what else happened on the way.
    pub(super) fn tell_opened(&self) {
        self.flusher.events.note(|| Event::Opened {
            recovery: self.recovery.clone(),
            file_bytes: self.file_bytes(),
        });
        self.flusher.events.tell();
    }

    /// The attributes of the file, if it is one.
    pub(crate) fn file_metadata(&self) -> Result<Vec<Metadata>> {
        let found = self.storage.metadata();
        let found = found.map_err(Error::io("reading the attributes of the database file"))?;
        Ok(found.into_iter().collect())
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.storage.len()
    }

    /// How many readers there are.
    pub(crate) fn reader_count(&self) -> Result<usize> {
        Ok(self.flusher.published.readers()?.len())
    }

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

    /// Somebody of this process opens the database, or opens it again.
    /// `false` if it is being closed.
    pub(super) fn begin_opening(&self) -> bool {
        let mut openings = self.openings();
        if self.is_closing.load(Ordering::Acquire) {
            return false;
        }
        if *openings == 0 {
            self.readers.open();
        }
        *openings += 1;
        true
    }

    /// The last handle of an opening goes: with the last opening, nobody will begin anything any more.
    pub(super) fn end_opening(&self, was_closed: bool) {
        if self.generation.is_past() {
            return;
        }
        let mut openings = self.openings();
        *openings -= u32::from(!was_closed);
        if *openings == 0 {
            self.readers.close();
        }
    }

    /// An opening is closed; says whether it was the last, so that nobody opens the database again before it is closed.
    pub(super) fn closes_with_this(&self) -> bool {
        let mut openings = self.openings();
        *openings -= 1;
        if *openings == 0 {
            self.is_closing.store(true, Ordering::Release);
        }
        *openings == 0
    }

    /// The last opening could not be closed, and stays.
    pub(super) fn stay_open(&self) {
        let mut openings = self.openings();
        *openings += 1;
        self.is_closing.store(false, Ordering::Release);
    }

    fn openings(&self) -> MutexGuard<'_, u32> {
        lock(&self.openings)
    }

    /// Whether it can be opened again in this process.
    pub(super) fn is_usable(&self, access: Access) -> bool {
        let is_writable = || self.flusher.refuse_poisoned().is_ok();
        self.refuse_closed().is_ok() && (access == Access::ReadOnly || is_writable())
    }

    /// Refuses to be opened again with options that it was not opened with.
    pub(super) fn refuse_other(&self, access: Access, asked: &Settings) -> Result<()> {
        if access == Access::ReadWrite && self.is_read_only() {
            let option = "read_only";
            return Err(Error::OptionsDiffer { option });
        }
        // Another process may have asked for another geometry since.
        let newest = self.flusher.published.newest()?;
        if !newest.comparisons.have(&asked.comparisons) {
            let option = "comparison";
            return Err(Error::OptionsDiffer { option });
        }
        self.policies.refuse_other(newest.geometry(), asked)
    }

    /// The number of a table, if anybody here has asked for it.
    pub(crate) fn known_handle(&self, name: &[u8]) -> Option<usize> {
        lock(&self.handles).get(name).copied()
    }

    /// The number under which everybody here knows the table `name`. It is kept as long as the database is open, so it is only for
    /// tables that are there, or are about to be.
    pub(crate) fn handle(&self, name: &[u8]) -> usize {
        let mut handles = lock(&self.handles);
        if let Some(&handle) = handles.get(name) {
            return handle;
        }
        let handle = handles.len();
        handles.insert(name.to_vec(), handle);
        handle
    }

    /// Refuses who has inherited the database from the process that opened it.
    #[inline]
    pub(crate) fn refuse_forked(&self) -> Result<()> {
        match self.generation.is_past() {
            true => Err(Error::Forked),
            false => Ok(()),
        }
    }

    #[inline]
    pub(super) fn refuse_closed(&self) -> Result<()> {
        self.refuse_forked()?;
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        Ok(())
    }

    /// Waits until this is the only writer.
    pub(super) fn take_turn(&self) -> Result<WriterTurn> {
        let turn = self.try_turn(None)?;
        Ok(turn.expect("without a limit there is no end but the turn"))
    }

    /// Waits until this is the only writer, for as long as `limit`; `None` if that was not enough.
    pub(super) fn try_turn(&self, limit: Option<Duration>) -> Result<Option<WriterTurn>> {
        let turnstile = self.turnstile.as_ref().ok_or(Error::ReadOnly)?;
        self.refuse_unwritable()?;
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let Some(turn) = turnstile.take(limit) else {
            return Ok(None);
        };
        let mut writer = self.writer_turn(turn);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let entered = self.flusher.place.enter(left);
        self.refuse_unwritable().inspect_err(|_| {
            // The place knows this process as the last one that had it.
            writer.is_stale |= entered != Entered::Kept;
        })?;
        match entered {
            Entered::No => return Ok(None),
            Entered::Anew(taken) => self.follow(&mut writer, taken)?,
            Entered::Kept => {}
        }
        Ok(Some(writer))
    }

    /// The id of the process that has the writer's place, if that is known.
    pub(crate) fn writer_process(&self) -> Option<u32> {
        let shared = self.flusher.shared.as_ref()?;
        shared.process_of(shared.region.writer.holder().into())
    }

    pub(super) fn writer_turn(&self, turn: Turn<Writer>) -> WriterTurn {
        WriterTurn {
            turn: Some(turn),
            generation: self.generation,
            flusher: Arc::clone(&self.flusher),
        }
    }

    /// Brings what the writer has up to date, if another process wrote meanwhile.
    pub(super) fn follow(&self, writer: &mut Writer, taken: Taken) -> Result<()> {
        let Some(shared) = &self.flusher.shared else {
            return Ok(());
        };
        let newest = {
            let mut state = self.flusher.progress.lock();
            if taken == Taken::FromTheDead {
                shared.look_for_newer(&mut state);
            }
            state.newest
        };
        let is_known = newest.transaction == writer.newest.transaction && !writer.is_stale;
        if taken == Taken::Again && is_known {
            return self.storage.refuse_cut().map_err(Error::io(FOLLOWING));
        }
        // Whatever fails is done again in the next turn.
        let was_stale = std::mem::replace(&mut writer.is_stale, true);
        if taken == Taken::FromTheDead {
            let newest = newest.transaction;
            (self.flusher.events).note(|| Event::WriterDied { newest });
            // It may have given blocks back and not said so.
            shared.region.note_blocks_given_back();
        }
        // It may be shorter, too, also where the other process committed nothing.
        let given_back = shared.region.blocks_given_back();
        self.storage
            .refresh(given_back == writer.blocks_given_back)
            .map_err(Error::io("reading the length of the file"))?;
        writer.blocks_given_back = given_back;
        if is_known {
            refuse_shorter(&*self.storage, &writer.newest)?;
            // By a transaction that came to nothing here, its map may be of a longer file than the other process left.
            (writer.space).shrink(self.storage.len() / self.page_size as u64);
            writer.is_stale = false;
            return Ok(());
        }
        let published = &self.flusher.published;
        published.forget_held();
        let snapshot = match newest.transaction == published.visible() {
            true => published.newest()?,
            false => Arc::new(self.unseen(shared, newest)?),
        };
        let record = &snapshot.record;
        refuse_shorter(&*self.storage, record)?;
        if was_stale || record.snapshots_root != writer.newest.snapshots_root {
            writer.named = snapshot.named_pins()?;
        }
        let pins = self.flusher.pins(&writer.named)?;
        let is_folded = was_stale || writer.space.roots() != record.space_roots;
        if is_folded
            || !writer
                .space
                .follow(&record.space_log, record.page_count, &pins)
        {
            writer.space = snapshot.space(&pins)?;
        }
        writer.take_over(record.clone());
        if newest.transaction > published.visible() {
            self.flusher.progress.lock().unpublished = Some(snapshot);
        }
        Ok(())
    }

    /// The state of a commit by another process that readers do not see yet.
    fn unseen(&self, shared: &Shared, newest: Written) -> Result<Snapshot> {
        let record = shared.record_in(newest.slot)?;
        let record = match record {
            Some(record) if record.transaction == newest.transaction => record,
            other => {
                // It was taken back, if something failed.
                self.refuse_unwritable()?;
                let there = other.map(|record| (record.transaction, record.sequence));
                let detail = format!(
                    "another process has written the newest commit there, {newest:?}, and it is gone: there is {there:?}, {:?} is visible",
                    self.flusher.published.visible()
                );
                return Err(Error::corrupted(slot_page(newest.slot), "begin", detail));
            }
        };
        let before = self.flusher.published.newest_here();
        foreign_snapshot(&*self.storage, record, &before)
    }

    pub(super) fn refuse_unwritable(&self) -> Result<()> {
        if self.turnstile.is_none() {
            return Err(Error::ReadOnly);
        }
        self.refuse_closed()?;
        self.flusher.refuse_poisoned()
    }

    /// Returns when every commit so far is durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.refuse_unwritable()?;
        self.named(self.flusher.wait(self.flusher.newest()))
    }

    /// Has an error of the system name the database file, if it names no other.
    pub(super) fn named<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|error| error.at(&self.path))
    }

    /// Returns when a commit is durable. One that was opened for reading cannot see to that.
    pub(crate) fn make_durable(&self, transaction: TransactionId) -> Result<()> {
        match self.is_read_only() {
            true => Ok(()),
            false => self.flusher.wait(transaction),
        }
    }

    /// The same if the limits for lazy commits are reached; says whether they were.
    pub(crate) fn sync_if_due(&self) -> Result<bool> {
        self.refuse_unwritable()?;
        if !self.flusher.is_due() {
            return Ok(false);
        }
        self.flusher.wait(self.flusher.newest()).map(|()| true)
    }

    /// Begins to make every commit so far durable.
    pub(crate) fn begin_sync(&self) -> Result<Ticket> {
        self.refuse_unwritable()?;
        Ok(self.ticket(self.flusher.want_newest()?))
    }

    /// The same if the limits for lazy commits are reached.
    pub(crate) fn begin_sync_if_due(&self) -> Result<Option<Ticket>> {
        self.refuse_unwritable()?;
        match self.flusher.is_due() {
            true => self.begin_sync().map(Some),
            false => Ok(None),
        }
    }

    /// A ticket for a commit that was made.
    pub(crate) fn ticket(&self, transaction: TransactionId) -> Ticket {
        Ticket::new(Arc::clone(&self.flusher.progress), transaction)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.turnstile.is_none()
    }

    /// The newest commit, whether readers see it yet or not.
    pub(crate) fn newest(&self) -> TransactionId {
        self.flusher.newest()
    }

    /// The newest commit that readers see.
    pub(crate) fn visible(&self) -> TransactionId {
        self.flusher.published.visible()
    }

    /// The last commit that is known to be on the disk.
    pub(crate) fn durable(&self) -> TransactionId {
        self.flusher.progress.lock().durable.transaction
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.generation.is_past() {
            return;
        }
        // Whoever wants to know what closing says calls `close`.
        let _ = self.close();
        match &self.flusher.shared {
            Some(shared) => self.leave(shared),
            None => self.flusher.stop(),
        }
    }
}

impl Writer {
    /// Goes on from a commit of another process, as the space map does already.
    fn take_over(&mut self, record: Record) {
        self.written = WrittenRuns::of(&record);
        self.newest = Record {
            clean_close: false,
            ..record
        };
        self.asked.note(&mut self.newest);
        self.unwritten = Arc::default();
        self.is_changed = true;
        self.is_stale = false;
        self.excess = Excess::of(&self.newest);
    }

    /// Whether the file is becoming shorter, which takes flushes.
    pub(super) fn is_to_shrink(&self, storage: &dyn Storage) -> bool {
        self.tail.is_emptying() || self.is_to_cut(storage)
    }

    /// Whether the file is longer than it has to be when what made the database shorter is on the disk.
    pub(super) fn is_to_cut(&self, storage: &dyn Storage) -> bool {
        storage.len() > self.least_bytes()
    }

    /// The file may be this long when what made the database shorter is on the disk.
    fn least_bytes(&self) -> u64 {
        let page_count = self.excess.page_count.max(self.space.page_count());
        page_count * u64::from(self.newest.page_size)
    }

    /// Cuts off the end of the file that no commit has which recovery could choose, and says whether it tried to. If that fails it
    /// stays for another time.
    pub(super) fn cut_file(&mut self, storage: &Arc<dyn Storage>, durable: TransactionId) -> bool {
        let bytes = self.least_bytes();
        let is_early = is_planted(Planted::CutEarly);
        if storage.len() <= bytes || durable < self.excess.since && !is_early {
            return false;
        }
        let is_due = durable > *self.excess.seen.get_or_insert(durable) || is_early;
        if is_due {
            let _ = storage.set_len(bytes);
        }
        is_due
    }

    /// Notes a commit, with what died in it, sorted.
    pub(super) fn note_record(&mut self, record: Record, deaths: &[(Run, TransactionId)]) {
        self.excess = match record.page_count < self.newest.page_count {
            true => Excess::of(&record),
            false => Excess {
                page_count: self.excess.page_count.max(record.page_count),
                ..self.excess
            },
        };
        self.newest = record;
        self.asked = Asked::default();
        self.written.forget_dead(deaths);
        self.is_changed = true;
    }
}

impl Excess {
    /// From a commit on.
    pub(super) fn of(record: &Record) -> Self {
        Self {
            since: record.transaction,
            page_count: record.page_count,
            seen: None,
        }
    }
}

/// What who uses a database is told that was closed.
pub(super) fn closed() -> Error {
    Error::InvalidArgument("the database has been closed; open it again".into())
}

/// The page in which a record stands, for messages.
pub(super) fn slot_page(slot: u8) -> PageNumber {
    PageNumber(u32::from(slot))
}
