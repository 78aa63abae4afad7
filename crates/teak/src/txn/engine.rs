//! The engine: one open database, as all its handles and transactions share it.

use super::{Verification, arena::Arena, recover::Recovery, snapshot::Snapshot};
use crate::{
    Error, PageNumber, Result, Run, TransactionId,
    commit::record::{Record, SLOT_COUNT},
    share::{Published, Turn, Turnstile},
    space::Space,
    store::Storage,
};
use std::{
    collections::HashMap,
    io::IoSlice,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// When a commit is on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// When it returns.
    #[default]
    Durable,
    /// When the operating system, or a later durable commit, has written it. A process that is
    /// killed loses nothing; a power cut may take the newest lazy commits, never a part of one.
    Lazy,
}

/// What a database is opened with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) page_size: usize,
    pub(crate) durability: Durability,
    pub(crate) verification: Verification,
    pub(crate) size_limit_bytes: Option<u64>,
    pub(crate) write_memory_bytes: usize,
}

/// Table handles that a snapshot has places for; the tables of further ones are looked up.
const ROOT_PLACES_MAX: usize = 1024;

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
    pub(super) path: PathBuf,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) page_size: usize,
    pub(super) settings: Settings,
    pub(super) published: Published<Snapshot>,
    /// Absent in a database that is open for reading only.
    pub(super) turnstile: Option<Arc<Turnstile<Writer>>>,
    /// The last transaction that is known to be on the disk.
    durable: AtomicU64,
    pub(super) poisoned: AtomicBool,
    pub(super) closed: AtomicBool,
    pub(super) recovery: Recovery,
    handles: Mutex<HashMap<Vec<u8>, usize>>,
}

/// What only the writer touches, kept from one write transaction to the next.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) space: Space,
    pub(super) arena: Arena,
    /// The record of the newest commit.
    pub(super) newest: Record,
    /// The sequence of the record in each slot, 0 where there is none.
    pub(super) slots: [u64; SLOT_COUNT as usize],
    /// The last transaction that is known to be on the disk, and the slot of its record.
    pub(super) durable: TransactionId,
    pub(super) durable_slot: u8,
    /// Runs written since then; `None` if they are too many to list.
    pub(super) written: Option<Vec<Run>>,
    /// Whether a clean close has to be noted.
    pub(super) is_changed: bool,
}

impl Engine {
    pub(super) fn new(
        path: PathBuf,
        storage: Arc<dyn Storage>,
        mut settings: Settings,
        newest: Snapshot,
        durable: TransactionId,
        writer: Option<Writer>,
        recovery: Recovery,
    ) -> Self {
        if settings.size_limit_bytes.is_none() {
            let limit = newest.record.geometry.upper_limit;
            settings.size_limit_bytes = (limit != u64::MAX).then_some(limit);
        }
        Self {
            id: unique_id(),
            path,
            storage,
            page_size: newest.record.page_size as usize,
            settings,
            turnstile: writer.map(Turnstile::new),
            durable: AtomicU64::new(durable.0),
            poisoned: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            recovery,
            handles: Mutex::default(),
            published: Published::new(newest),
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

    pub(crate) fn file_bytes(&self) -> u64 {
        self.storage.len()
    }

    /// How many snapshots are held, each counted as often as it is held.
    pub(crate) fn holders(&self) -> usize {
        self.published.holders()
    }

    /// The newest committed state.
    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>> {
        self.refuse_closed()?;
        Ok(self.published.newest())
    }

    /// The number under which everybody here knows the table `name`.
    pub(crate) fn handle(&self, name: &[u8]) -> usize {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&handle) = handles.get(name) {
            return handle;
        }
        let handle = handles.len();
        handles.insert(name.to_vec(), handle);
        handle
    }

    /// Places that a new snapshot has for roots of tables.
    pub(super) fn root_places(&self) -> usize {
        let handles = self
            .handles
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len();
        handles.next_power_of_two().clamp(16, ROOT_PLACES_MAX)
    }

    fn refuse_closed(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::InvalidArgument(
                "the database has been closed; open it again".into(),
            ));
        }
        Ok(())
    }

    /// Waits until this is the only writer.
    pub(super) fn take_turn(&self) -> Result<Turn<Writer>> {
        let turnstile = self.turnstile.as_ref().ok_or(Error::ReadOnly)?;
        let turn = turnstile.take();
        self.refuse_closed()?;
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        Ok(turn)
    }

    /// The states whose pages must stay: those that are held, the last durable and the newest.
    pub(super) fn pins(&self, writer: &Writer) -> Vec<TransactionId> {
        let mut pins = vec![writer.durable, writer.newest.transaction];
        self.published
            .for_each_older(|snapshot| pins.push(snapshot.transaction()));
        pins.sort_unstable();
        pins.dedup();
        pins
    }

    /// Makes all commits durable.
    pub(crate) fn sync(&self) -> Result<()> {
        let mut writer = self.take_turn()?;
        self.flush_newest(&mut writer)
    }

    pub(super) fn flush_newest(&self, writer: &mut Writer) -> Result<()> {
        if writer.durable == writer.newest.transaction {
            return Ok(());
        }
        self.flush(None)?;
        self.note_durable(writer);
        Ok(())
    }

    /// Notes that the newest commit is on the disk.
    pub(super) fn note_durable(&self, writer: &mut Writer) {
        writer.durable = writer.newest.transaction;
        writer.durable_slot = writer.newest.slot;
        writer.written = Some(Vec::new());
        self.durable.store(writer.durable.0, Ordering::Release);
    }

    /// The last transaction that is known to be on the disk.
    pub(crate) fn durable(&self) -> TransactionId {
        TransactionId(self.durable.load(Ordering::Acquire))
    }

    /// Flushes; `newest` is a record that was just written, if there is one.
    ///
    /// After a failure nothing is written any more, since nobody can tell what of the earlier writes
    /// reached the disk: the system may have forgotten which of them did not, so that a later flush
    /// that succeeds says nothing about them. Opening the database again verifies what came after
    /// the last durable commit, and writes it once more. The commit of `newest` has failed, so its
    /// record is taken back.
    pub(super) fn flush(&self, newest: Option<&Record>) -> Result<()> {
        self.storage.flush().map_err(|error| {
            self.poisoned.store(true, Ordering::Release);
            if let Some(record) = newest {
                self.erase_record(record.slot);
            }
            Error::io("flushing the file")(error)
        })
    }

    /// Makes the record in a slot unreadable, as far as that is possible.
    fn erase_record(&self, slot: u8) {
        let offset = u64::from(slot) * self.page_size as u64;
        // The error that is reported is that of the flush.
        let _ = self.storage.write(offset, &[IoSlice::new(&[0; 512])]);
    }

    /// Writes a record to its slot; one that could not be read again is refused.
    pub(super) fn write_record(&self, record: &Record) -> Result<()> {
        record
            .check()
            .map_err(|detail| Error::corrupted(slot_page(record.slot), "commit", detail))?;
        let bytes = record.encode(self.page_size);
        let offset = u64::from(record.slot) * self.page_size as u64;
        self.storage
            .write(offset, &[IoSlice::new(&bytes)])
            .map_err(|error| {
                self.poisoned.store(true, Ordering::Release);
                Error::io("writing the commit record")(error)
            })
    }

    /// Flushes, cuts the free end of the file off, and notes that all is well. Nothing can be
    /// begun afterwards.
    pub(crate) fn close(&self) -> Result<()> {
        if self.turnstile.is_none() {
            self.closed.store(true, Ordering::Release);
            return Ok(());
        }
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut writer = self.take_turn()?;
        self.closed.store(true, Ordering::Release);
        if !writer.is_changed {
            return Ok(());
        }
        self.flush_newest(&mut writer)?;
        let used = writer.space.page_count() - writer.space.trailing_free();
        writer.space.shrink(used);
        let record = Record {
            slot: writer.next_slot(),
            sequence: writer.newest.sequence + 1,
            durable_transaction: writer.durable,
            clean_close: true,
            page_count: writer.space.page_count(),
            written: Some(Vec::new()),
            ..writer.newest.clone()
        };
        self.write_record(&record)?;
        // The next one to open takes this record for durable, and the records before it may speak of
        // a longer file.
        self.flush(Some(&record))?;
        let bytes = record.page_count * self.page_size as u64;
        if bytes < self.storage.len() {
            self.storage
                .set_len(bytes)
                .map_err(Error::io("making the file shorter"))?;
        }
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Whoever wants to know what closing says calls `close`.
        let _ = self.close();
    }
}

impl Writer {
    /// The slot that the next record goes to: the oldest one that is needed neither for the
    /// newest commit nor for the last durable one.
    pub(super) fn next_slot(&self) -> u8 {
        (0..SLOT_COUNT)
            .filter(|&slot| slot != self.newest.slot && slot != self.durable_slot)
            .min_by_key(|&slot| self.slots[usize::from(slot)])
            .expect("two of four slots are spared")
    }

    /// Notes a record that was written.
    pub(super) fn note_record(&mut self, record: Record) {
        self.slots[usize::from(record.slot)] = record.sequence;
        self.newest = record;
        self.is_changed = true;
    }
}

/// The page in which a record stands, for messages.
pub(super) fn slot_page(slot: u8) -> PageNumber {
    PageNumber(u32::from(slot))
}
