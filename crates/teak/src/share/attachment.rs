//! This process's attachment to a database that other processes may have open as well.

use crate::{
    Error, Result,
    io::{ForkGeneration, GateGuard, LockFile, Storage},
    record::{Record, SLOT_COUNT},
    share::{LockOutcome, Membership, REGION_HEAD_LEN, ReaderSlot, Region, SharedLock},
};
use crate::{io::file_reads, sync::lock};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// The shortest time between two checks for dead processes.
const DEAD_READERS_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The shortest time between two looks for other processes.
const OTHERS_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Handling of the lock file when the last process leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnusedLockFile {
    Remove,
    /// It stays as a killed process leaves it. The next process reinitializes it.
    Leave,
}

/// The shared memory, and this process's entry in its table of processes.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) region: Region,
    pub(crate) lock_file: LockFile,
    /// This process's entry in the table of processes.
    membership: Membership,
    pid_namespace: u64,
    /// Epoch of the shared memory when the database was opened.
    epoch: u64,
    generation: ForkGeneration,
    storage: Arc<dyn Storage>,
    page_size: usize,
    last_checked: Mutex<Option<Instant>>,
    /// How many processes had [joined](Region::joined) when this one was alone; all ones if it never
    /// was.
    alone_since: AtomicU64,
    others_checked: Mutex<Option<Instant>>,
}

impl Shared {
    pub(crate) fn new(
        region: Region,
        (epoch, alone_since): (u64, Option<u64>),
        lock_file: LockFile,
        (membership, pid_namespace): (Membership, u64),
        storage: Arc<dyn Storage>,
        page_size: usize,
    ) -> Self {
        assert!(
            page_size.is_power_of_two(),
            "the page size was checked when a record was read"
        );
        Self {
            page_size,
            epoch,
            generation: ForkGeneration::current(),
            region,
            lock_file,
            membership,
            pid_namespace,
            storage,
            last_checked: Mutex::default(),
            alone_since: AtomicU64::new(alone_since.unwrap_or(u64::MAX)),
            others_checked: Mutex::default(),
        }
    }

    /// This process as the owner of blocks of reader slots.
    pub(crate) fn owner(&self) -> u64 {
        self.me().into()
    }

    /// The token with which this process marks locks.
    pub(crate) fn me(&self) -> u32 {
        self.membership.token()
    }

    /// The id of the process that owns a block of reader slots, if it is known in this PID
    /// namespace.
    pub(crate) fn process_of(&self, owner: u64) -> Option<u32> {
        let token = u32::try_from(owner).ok()?;
        (self.region.processes).process(token, self.pid_namespace)
    }

    /// Whether other processes have declared this one dead although it lives. Code in this process,
    /// or a system without open-file-description locks, has released its lock. Its slots and locks
    /// in the shared memory may belong to another process by now.
    #[inline]
    pub(crate) fn is_evicted(&self) -> bool {
        !self.region.processes.is_current(self.membership)
    }

    /// The error for a process that was declared dead.
    #[cold]
    pub(crate) fn evicted(&self) -> Error {
        match self.why_lost() {
            Some(error) => Error::io("using the lock file")(error).at(self.lock_file.path()),
            None => Error::LocksLost(self.lock_file.path().to_path_buf()),
        }
    }

    /// Why this process has lost the shared memory, if it has.
    pub(crate) fn why_lost(&self) -> Option<io::Error> {
        let is_lost = self.region.is_lost();
        is_lost.then(|| self.lock_file.why_lost(self.region.used_len()))
    }

    /// Whether another process has recovered the database from a failure since this one opened it,
    /// or has declared this one dead. The shared state is no longer this process's to change.
    pub(crate) fn is_stale_or_evicted(&self) -> bool {
        self.region.epoch() != self.epoch || self.is_evicted()
    }

    /// Releases a lock.
    pub(crate) fn release(&self, lock: impl Fn(&Region) -> &SharedLock) {
        lock(&self.region).give_back(self.me());
        self.abandon_if_lost(lock);
    }

    /// Releases a lock, to be taken as from a dead process.
    pub(crate) fn abandon(&self, lock: impl Fn(&Region) -> &SharedLock) {
        lock(&self.region).abandon(self.me());
        self.abandon_if_lost(lock);
    }

    /// If this process has lost the shared memory, other processes may still have it and wait for
    /// the lock. Pins of readers of this process stay until the readers end.
    fn abandon_if_lost(&self, lock: impl Fn(&Region) -> &SharedLock) {
        if self.region.is_lost()
            && let Ok(memory) = self.lock_file.map(REGION_HEAD_LEN)
        {
            lock(&Region::new(memory)).abandon(self.me());
        }
    }

    /// Waits for a lock.
    pub(crate) fn take(&self, lock: &SharedLock) -> LockOutcome {
        self.try_take(lock, None)
            .expect("without a timeout the lock is always acquired")
    }

    /// Waits up to `limit` for a lock.
    pub(crate) fn try_take(
        &self,
        lock: &SharedLock,
        limit: Option<Duration>,
    ) -> Option<LockOutcome> {
        let is_alive = |process| is_alive_or_declare_dead(&self.lock_file, &self.region, process);
        lock.take(self.me(), limit, is_alive)
    }

    /// The record in a slot, if it is readable.
    pub(crate) fn record_in(&self, slot: u8) -> Result<Option<Record>> {
        let mapping = self
            .storage
            .mapping()
            .map_err(Error::io("mapping the file"))?;
        assert!(
            slot < SLOT_COUNT,
            "numbers of slots in the shared memory are taken modulo their count"
        );
        let mut bytes = vec![0; self.page_size];
        let offset = u64::from(slot) * self.page_size as u64;
        if !file_reads::copy(&mapping, offset, &mut bytes)? {
            return Ok(None);
        }
        let record = Record::decode(&mapping.opened_record(bytes), slot).ok();
        Ok(record.filter(|record| record.page_size as usize == self.page_size))
    }

    /// Whether no other process has the database open, as far as this one knows. It does not know
    /// of a process that is just joining, and that has to wait for a memtable.
    pub(crate) fn is_alone(&self) -> bool {
        let joined = self.region.joined();
        self.alone_since.load(Relaxed) == joined || self.is_alone_again(joined)
    }

    /// Looks for other processes, unless that was done recently. `joined` was read before.
    #[cold]
    fn is_alone_again(&self, joined: u64) -> bool {
        let mut last_checked = lock(&self.others_checked);
        if last_checked.is_some_and(|last| last.elapsed() < OTHERS_CHECK_INTERVAL) {
            return false;
        }
        *last_checked = Some(Instant::now());
        let Some(_gate) = self.lock_file.try_gate() else {
            return false;
        };
        // A process locks its byte of the lock file before it counts itself as one that joins.
        let is_alone = matches!(self.lock_file.has_others(), Ok(false));
        if is_alone {
            self.alone_since.store(joined, Relaxed);
            // It may be long until commits go to the trees, which checks who has died.
            self.release_dead_readers_blocks();
        }
        is_alone
    }

    /// Whether this process is a forked child of the one that opened the database.
    pub(crate) fn is_inherited(&self) -> bool {
        self.generation.is_past()
    }

    /// Notes that no process may write any more. If only this process has lost its attachment, the
    /// others continue.
    pub(crate) fn set_failed(&self) {
        if !self.is_evicted() {
            self.region.set_failed();
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.region.has_failed() || self.is_stale_or_evicted()
    }

    /// Whether something has failed since this process opened the database, so that pages must be
    /// verified again when they are read.
    #[inline]
    pub(crate) fn is_distrusted(&self) -> bool {
        self.region.has_failed_since(self.epoch)
    }

    /// Takes a block of reader slots for this process; `None` if all are taken.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if there is no room for one.
    pub(crate) fn take_block(&self) -> Result<Option<Vec<ReaderSlot>>> {
        let table = &self.region.readers;
        let taken = table.take_block(self.owner(), |bytes| self.lock_file.allocate(bytes));
        let refused = Error::io("growing the lock file for readers");
        taken.map_err(|error| refused(error).at(self.lock_file.path()))
    }

    /// Checks which processes have died, unless that was checked recently, and releases their pins.
    pub(crate) fn reclaim_dead_processes(&self) {
        let mut last_checked = lock(&self.last_checked);
        if last_checked
            .is_some_and(|last_checked| last_checked.elapsed() < DEAD_READERS_CHECK_INTERVAL)
        {
            return;
        }
        *last_checked = Some(Instant::now());
        // While this process holds the gate, no other process takes over the entry of a dead one.
        if let Some(_gate) = self.lock_file.try_gate() {
            self.release_dead_readers_blocks();
        }
    }

    fn release_dead_readers_blocks(&self) {
        let readers = &self.region.readers;
        // A process that cannot map the whole table leaves this to others.
        for owner in readers.owners().unwrap_or_default() {
            let is_other = owner != self.owner();
            if is_other && !is_alive_or_declare_dead(&self.lock_file, &self.region, owner as u32) {
                let _ = readers.give_up_blocks(owner);
            }
        }
    }

    /// Leaves the shared memory as a killed process would, for tests in which one process plays
    /// several. Its later actions have no effect on the others.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn die(&self) -> io::Result<()> {
        self.region.die()?;
        self.lock_file.drop_locks();
        Ok(())
    }

    /// Leaves the other processes. The shared memory may be gone after this.
    pub(crate) fn leave(&self, gate: Option<GateGuard<'_>>, unused: UnusedLockFile) {
        debug_assert!(
            !self.is_inherited(),
            "a forked child does not leave in its parent's name"
        );
        // Blocks that cannot be released now are treated like those of a dead process.
        let _ = self.region.readers.give_up_blocks(self.owner());
        let Some(_gate) = gate else {
            return;
        };
        if unused == UnusedLockFile::Remove && matches!(self.lock_file.has_others(), Ok(false)) {
            self.lock_file.remove();
        }
        let is_own = !self.is_evicted();
        self.region.processes.leave(self.membership);
        if is_own {
            self.lock_file
                .release_entry_index(self.membership.entry_index());
        }
    }
}

/// Whether the process with this token lives. A process that has lost its lock is declared dead
/// first, so that it notices if it lives nevertheless.
pub(crate) fn is_alive_or_declare_dead(lock_file: &LockFile, region: &Region, token: u32) -> bool {
    let Some(suspect) = region.processes.suspect(token) else {
        return false;
    };
    lock_file.is_alive(suspect.entry_index()) || !region.processes.declare_dead(suspect)
}
