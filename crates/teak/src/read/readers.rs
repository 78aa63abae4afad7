//! The reader slots of one open database, and the slots that its threads cache.

use crate::{
    Error, Result,
    io::Memory,
    share::{CommitNotifier, ReaderSlot, ReaderTable, SPARE},
};
use crate::{observe::slow_reader::SlowReaderHook, share::attachment::Shared, sync::lock};
use std::fmt;
use std::sync::{
    Arc, Mutex, Weak,
    atomic::{AtomicBool, Ordering::SeqCst},
};

/// Blocks of slots for a single process: 65,536 readers.
pub(crate) const BLOCK_COUNT: usize = 1024;

/// The owner of all blocks if there is a single process.
pub(crate) const OWNER: u64 = 1;

/// A thread's cache entry that keeps a slot for its next reader and can be emptied by others.
pub(crate) trait HoldsSlot: fmt::Debug + Send + Sync {
    fn empty(&self);
}

/// All readers of one open database.
#[derive(Debug)]
pub(crate) struct Readers {
    /// The hook to ask about slow readers.
    pub(crate) slow_hook: Option<SlowReaderHook>,
    /// Whether other processes may write without knowing what this one reads. See
    /// [`unlocked`](crate::open::unlocked).
    pub(crate) has_unknown_writers: bool,
    pub(crate) table: ReaderTable,
    /// `None` if no other process can have the database open.
    pub(crate) shared: Option<Arc<Shared>>,
    pub(crate) free: Mutex<Vec<ReaderSlot>>,
    pub(crate) cached_slots: Mutex<Vec<Weak<dyn HoldsSlot>>>,
    /// Set when no more holds may be cached.
    pub(crate) is_closing: Arc<AtomicBool>,
}

impl Readers {
    pub(crate) fn new(
        table: ReaderTable,
        shared: Option<Arc<Shared>>,
        slow_hook: Option<SlowReaderHook>,
    ) -> Self {
        Self {
            slow_hook,
            has_unknown_writers: false,
            table,
            shared,
            free: Mutex::default(),
            cached_slots: Mutex::default(),
            is_closing: Arc::default(),
        }
    }

    pub(crate) fn take_slot(&self) -> Result<ReaderSlot> {
        let mut free = lock(&self.free);
        if free.is_empty() {
            // Reversed, so that the first slot is taken first.
            free.extend(self.take_block()?.into_iter().rev());
        }
        let too_many = || Error::TooManyReaders(self.table.slots_used());
        free.pop().ok_or_else(too_many)
    }

    pub(crate) fn take_block(&self) -> Result<Vec<ReaderSlot>> {
        let Some(shared) = &self.shared else {
            let taken = self.table.take_block(OWNER, |_| Ok(()));
            let taken = taken.map_err(Error::io("growing the reader table"))?;
            return Ok(taken.unwrap_or_default());
        };
        let mut block = shared.take_block()?;
        if block.is_none() {
            shared.reclaim_dead_processes();
            block = shared.take_block()?;
        }
        Ok(block.unwrap_or_default())
    }

    pub(crate) fn add_cached_slot(&self, cell: Weak<dyn HoldsSlot>) {
        let mut cached_slots = lock(&self.cached_slots);
        if cached_slots.len() == cached_slots.capacity() {
            cached_slots.retain(|cell| cell.strong_count() > 0);
        }
        cached_slots.push(cell);
    }

    /// Allows holds to be cached.
    pub(crate) fn open(&self) {
        self.is_closing.store(false, SeqCst);
    }

    /// Empties all cached slots, and keeps them empty.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, SeqCst);
        // The slots stay listed: a new opening may come while a reader keeps the database, and will
        // use them again.
        let cached_slots = lock(&self.cached_slots).clone();
        for cell in cached_slots.iter().filter_map(Weak::upgrade) {
            cell.empty();
        }
    }
}

/// The reader table of a database that only one process can have open, and the notifier for newly
/// visible states.
///
/// # Errors
///
/// The system has no memory for it.
pub(crate) fn private_table() -> Result<(ReaderTable, CommitNotifier)> {
    let memory = Memory::private(ReaderTable::len_bytes(BLOCK_COUNT));
    let memory = Arc::new(memory.map_err(Error::io("allocating the reader table"))?);
    let notifier = CommitNotifier::new(Arc::clone(&memory), SPARE * 2);
    Ok((ReaderTable::new(memory, 0, BLOCK_COUNT), notifier))
}
