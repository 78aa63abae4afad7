//! Attaching to a database that other processes may have open. One process at a time passes the
//! gate of the lock file.
//!
//! If no other process is attached, or only readers of a database that was not recovered, the
//! attaching process recovers the database as after a crash and publishes the result to the others.
//! If the database is in order, it joins.

use crate::{
    Error, Result, TransactionId,
    io::{FileId, FileSharing, LockFile, LockMode, Storage, process_namespace},
    record::{Record, RecordFault, SLOT_COUNT},
    share::{Membership, REGION_LEN, Region, SharedLock, entry_index_of},
};
use crate::{
    instance::{
        policies::{OpenRequest, Settings},
        recovered::RecoveredDatabase,
    },
    io::file_reads,
    planted::planted,
    read::published::{
        PUBLISHING, no_record, publish_record, record_of_visible, refuse_shorter, wrong_record,
    },
    share::{
        attachment::{Shared, UnusedLockFile, is_alive_or_declare_dead},
        lock_file_errors::{lock_file_error, not_opened},
        names::lock_path,
    },
};
use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    process,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// How long writers may take to notice a failure that this process has noticed.
const WRITERS_WAIT_MAX: Duration = Duration::from_secs(5);
/// How long a process may take to merge its memtable.
const MEMTABLE_WAIT_MAX: Duration = Duration::from_secs(10);

/// The held gate of a lock file, and an entry in the table of processes.
pub(crate) struct Attach {
    /// `None` only at the end.
    lock_file: Option<LockFile>,
    /// Set by [`Self::map_region`], which enters this process in the table.
    region: Option<(Region, Membership)>,
    pid_namespace: u64,
    entry_index: u32,
    is_alone: bool,
    /// Whether the process that this one joined died, with commits in its memtable.
    is_left_alone: bool,
    /// Whether this process keeps all others from writing until the database is in order.
    has_locks: bool,
    path: PathBuf,
    /// The permissions of the lock file.
    mode: LockMode,
    unused: UnusedLockFile,
}

impl Drop for Attach {
    /// Undoes an attach that did not succeed.
    fn drop(&mut self) {
        if let Some(lock_file) = self.lock_file.take() {
            self.give_locks_back();
            if let Some((region, membership)) = self.region.take() {
                region.processes.leave(membership);
            }
            if self.is_alone && self.unused == UnusedLockFile::Remove {
                lock_file.remove();
            }
        }
    }
}

impl Attach {
    /// Passes the gate.
    pub(crate) fn enter_gate(path: &Path, settings: &Settings) -> Result<Self> {
        let chosen = settings.lock_file.as_deref();
        let lock_path = lock_path(path, chosen).map_err(|error| {
            Error::io("finding the directory of the lock file")(error).at(chosen.unwrap_or(path))
        })?;
        let mode = LockMode::for_database(path, settings.file_mode);
        let (lock_file, is_alone) = LockFile::open(&lock_path, mode)
            .map_err(|error| not_opened(error, &lock_path, path))?;
        Self::with(lock_file, is_alone, path, (mode, settings.unused_lock_file))
    }

    /// Passes the gate of a lock file as a separate process, for tests in which one process plays
    /// several.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn enter_gate_apart(lock_path: &Path) -> Result<Self> {
        let (lock_file, is_alone) = LockFile::open_apart(lock_path).map_err(lock_file_error)?;
        let kept = (LockMode::Masked(0o600), UnusedLockFile::Remove);
        Self::with(lock_file, is_alone, lock_path, kept)
    }

    /// Takes an entry in the table of processes. `path` is for error messages.
    fn with(
        lock_file: LockFile,
        is_alone: bool,
        path: &Path,
        (mode, unused): (LockMode, UnusedLockFile),
    ) -> Result<Self> {
        let entry_index = lock_file.take_entry_index().map_err(lock_file_error)?;
        let entry_index = entry_index.ok_or_else(|| {
            lock_file_error(io::Error::other(
                "too many processes have it open; close some",
            ))
        })?;
        Ok(Self {
            region: None,
            pid_namespace: process_namespace(),
            lock_file: Some(lock_file),
            entry_index,
            is_alone,
            is_left_alone: false,
            has_locks: false,
            path: path.to_path_buf(),
            mode,
            unused,
        })
    }

    /// Maps the shared memory, and initializes it if this process is alone. `file_id` identifies
    /// the database file. A process that is alone has locked that file, so no process uses it
    /// without being registered in the lock file.
    pub(crate) fn map_region(&mut self, file_id: FileId, boot: [u8; 16]) -> Result<()> {
        assert!(
            self.region.is_none(),
            "a process enters the table of processes once"
        );
        let lock_file = self.lock_file();
        let memory = match self.is_alone {
            true => lock_file.recreate(REGION_LEN, self.mode),
            false => lock_file.map(REGION_LEN),
        };
        let memory = memory.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Error::InUse(self.path.clone()),
            _ => self.refused(error),
        })?;
        let region = Region::new(memory);
        if self.is_alone {
            // With the whole table of processes: other file systems give it blocks only now.
            self.allocate(0..region.processes.bytes().end)?;
            region.set_file_id(file_id);
        } else if !region.is_known() || region.boot() != boot || region.file_id() != file_id {
            // It belongs to another version, or to a file that was replaced by this one.
            return Err(Error::InUse(self.path.clone()));
        } else {
            self.allocate(region.processes.entry_bytes(self.entry_index))?;
        }
        let membership =
            (region.processes).enter(self.entry_index, process::id(), self.pid_namespace);
        if !self.is_alone {
            region.note_joined();
        }
        self.region = Some((region, membership));
        self.wait_for_memtable()
    }

    /// Waits until the process that this one joins has merged its memtable. That takes some
    /// milliseconds.
    fn wait_for_memtable(&mut self) -> Result<()> {
        let began = Instant::now();
        loop {
            let owner = self.region().memtable_owner();
            if owner == 0 || owner == self.me() || planted!(SharedMemtable) {
                return Ok(());
            }
            if !is_alive_or_declare_dead(self.lock_file(), self.region(), owner) {
                self.is_left_alone = true;
                return Err(Error::InUse(self.path.clone()));
            }
            if began.elapsed() > MEMTABLE_WAIT_MAX {
                return Err(Error::InUse(self.path.clone()));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the process that this one was to join has died with commits in its memtable.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.is_left_alone
    }

    /// Notes that this process has commits to merge before others may join.
    pub(crate) fn note_memtable(&self) {
        self.region().set_memtable_owner(self.me());
    }

    /// If this process is alone, notes which file the processes have open.
    pub(crate) fn note_file(&self, file_id: FileId) {
        if self.is_alone {
            self.region().set_file_id(file_id);
        }
    }

    fn lock_file(&self) -> &LockFile {
        self.lock_file
            .as_ref()
            .expect("an attach has its file until the end")
    }

    fn attached(&self) -> &(Region, Membership) {
        self.region
            .as_ref()
            .expect("the shared memory was looked at")
    }

    fn region(&self) -> &Region {
        &self.attached().0
    }

    /// The token with which this process marks locks.
    fn me(&self) -> u32 {
        self.attached().1.token()
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.is_alone
    }

    fn refused(&self, error: io::Error) -> Error {
        lock_file_error(error).at(self.lock_file().path())
    }

    fn allocate(&self, bytes: Range<usize>) -> Result<()> {
        let allocated = match self.is_alone {
            true => self.lock_file().reserve(bytes),
            false => self.lock_file().allocate(bytes),
        };
        allocated.map_err(|error| self.refused(error))
    }

    pub(crate) fn file_sharing(&self) -> FileSharing {
        match self.is_alone {
            true => FileSharing::Exclusive,
            false => FileSharing::Shared,
        }
    }

    /// The record of the state that readers see, if the database is in order.
    pub(crate) fn joinable_record(
        &mut self,
        request: &OpenRequest,
        storage: &dyn Storage,
    ) -> Result<Option<Record>> {
        if self.is_alone || !self.region().is_ready() {
            return Ok(None);
        }
        if request.is_new {
            return Err(Error::InUse(self.path.clone()));
        }
        if self.region().has_failed() && !request.is_read_only {
            return self.wait_for_writers().map(|()| None);
        }
        let region = self.region();
        let began = Instant::now();
        let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
        loop {
            if began.elapsed() > PUBLISHING {
                return Err(no_record());
            }
            let visible = region.readers.visible();
            let Some((bytes, _)) = region.record(visible) else {
                continue;
            };
            let bytes = mapping.opened_record(bytes);
            let decoded = Record::decode(&bytes, Record::slot_of(&bytes));
            if matches!(decoded, Err(RecordFault::Encrypted(_))) && !mapping.is_coded() {
                return Err(Error::KeyNeeded(request.path.clone()));
            }
            let found = record_of_visible(&bytes, TransactionId(visible))
                .and_then(|record| refuse_another_file(storage, &record).map(|()| record))
                .map_err(|error| error.at(self.lock_file().path()))
                .and_then(|record| refuse_shorter(storage, &record).map(|()| record));
            match found {
                Err(error) if region.readers.visible() == visible => return Err(error),
                // A newer state is visible meanwhile, and the file may have been truncated since.
                Err(_) => {}
                Ok(record) => return Ok(Some(record)),
            }
        }
    }

    /// After a failed write or flush, when recovery is needed: keeps writers from beginning, and
    /// waits for those that have begun.
    fn wait_for_writers(&mut self) -> Result<()> {
        assert!(
            !self.has_locks,
            "locks that this process holds already would never become free"
        );
        self.take(&self.region().writer)?;
        if let Err(error) = self.take(&self.region().flush) {
            self.region().writer.give_back(self.me());
            return Err(error);
        }
        self.has_locks = true;
        Ok(())
    }

    fn take(&self, lock: &SharedLock) -> Result<()> {
        let is_alive = |process| is_alive_or_declare_dead(self.lock_file(), self.region(), process);
        match lock.take(self.me(), Some(WRITERS_WAIT_MAX), is_alive) {
            Some(_) => Ok(()),
            None => Err(Error::InUse(self.path.clone())),
        }
    }

    fn give_locks_back(&mut self) {
        if std::mem::take(&mut self.has_locks) {
            self.region().flush.give_back(self.me());
            self.region().writer.give_back(self.me());
        }
    }

    /// Leaves the gate as one of the processes that have the database open.
    pub(crate) fn finish(mut self, storage: &Arc<dyn Storage>, page_size: usize) -> Arc<Shared> {
        // An earlier process with the same table entry may have died.
        let readers = &self.region().readers;
        let had_entry = |owner: &u64| entry_index_of(*owner as u32) == Some(self.entry_index);
        for owner in (readers.owners().unwrap_or_default().into_iter()).filter(had_entry) {
            let _ = readers.give_up_blocks(owner);
        }
        self.give_locks_back();
        let (region, membership) = self.region.take().expect("the shared memory was looked at");
        let epoch = region.epoch();
        let lock_file = self.lock_file.take();
        let lock_file = lock_file.expect("an attach has its file until the end");
        // Read before others may join.
        let alone_since = self.is_alone.then(|| region.joined());
        lock_file.leave_gate();
        Arc::new(Shared::new(
            region,
            (epoch, alone_since),
            lock_file,
            (membership, self.pid_namespace),
            Arc::clone(storage),
            page_size,
        ))
    }

    /// Publishes the result of recovery to present and future processes, and leaves the gate.
    pub(crate) fn begin_and_finish(
        self,
        storage: &Arc<dyn Storage>,
        recovered: &RecoveredDatabase,
        request: &OpenRequest,
    ) -> Result<Arc<Shared>> {
        let (newest, region) = (&recovered.snapshot.record, self.region());
        if newest.transaction.0 < region.readers.visible() {
            // Other processes read states that no longer exist, and the pages of those must not be
            // reused.
            return Err(Error::InUse(self.path.clone()));
        }
        let page_size = newest.page_size as usize;
        for bytes in region.needed(page_size) {
            self.allocate(bytes)?;
        }
        self.take(&region.state)?;
        region.begin(
            newest.database_id,
            request.boot,
            &recovered.state.to_words(),
        );
        publish_record(
            &**storage,
            region,
            newest,
            recovered.snapshot.known_counts(),
        );
        if !request.is_read_only {
            region.set_ready();
        }
        region.state.give_back(self.me());
        Ok(self.finish(storage, page_size))
    }
}

/// Fails unless the file has records of the same database as `record`, which comes from the lock
/// file.
fn refuse_another_file(storage: &dyn Storage, record: &Record) -> Result<()> {
    // The file may have been created, and may have grown, since it was opened.
    storage
        .refresh(true)
        .map_err(Error::io("reading the length of the file"))?;
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let mut bytes = vec![0; record.page_size as usize];
    let mut is_of_same = |slot: u8| {
        let offset = u64::from(slot) * u64::from(record.page_size);
        // A slot that cannot be read or is being written leaves three others.
        matches!(file_reads::copy(&mapping, offset, &mut bytes), Ok(true))
            && Record::decode(&mapping.opened_record(bytes.clone()), slot)
                .is_ok_and(|there| there.has_same_file(record))
    };
    match (0..SLOT_COUNT).any(&mut is_of_same) {
        true => Ok(()),
        false => Err(wrong_record("it is of another database")),
    }
}
