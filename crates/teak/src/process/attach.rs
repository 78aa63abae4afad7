//! Coming to a database that other processes may have open: through the gate of its lock file, one at a time.
//!
//! Who finds nobody there, or only such as read what nobody has put in order, looks at the file as after a crash,
//! and tells the others what was found. Who finds the database in order joins.

use crate::{
    Error, Result, TransactionId,
    io::{FileSharing, LockFile, LockMode, Storage, pid_namespace},
    record::{Record, SLOT_COUNT},
    share::{Membership, REGION_HEAD_LEN, REGION_LEN, Region, SharedLock, place_of},
};
use crate::{
    instance::{
        policies::{OpenRequest, Settings},
        recovered::RecoveredDatabase,
    },
    io::file_reads,
    read::published::{
        PUBLISHING, no_record, publish_record, record_of_visible, refuse_shorter, wrong_record,
    },
    share::{
        attachment::{Shared, is_alive},
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
    time::{Duration, Instant},
};

/// So long those who write when a failure is noticed may take to notice it too.
const WRITERS_PATIENCE: Duration = Duration::from_secs(5);

/// The gate of a lock file, passed, and a place among the processes that have the database open.
pub(crate) struct Attach {
    /// Absent only at the end.
    lock_file: Option<LockFile>,
    /// From [`Self::map_region`] on, with this process in its table.
    region: Option<(Region, Membership)>,
    pid_namespace: u64,
    place: u32,
    is_alone: bool,
    /// Whether nobody else may write until the database is in order.
    has_locks: bool,
    path: PathBuf,
}

impl Drop for Attach {
    /// Nothing came of it.
    fn drop(&mut self) {
        if let Some(lock_file) = self.lock_file.take() {
            self.give_locks_back();
            if let Some((region, membership)) = self.region.take() {
                region.processes.leave(membership);
            }
            if self.is_alone {
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
        let mode = LockMode::beside(path, settings.file_mode);
        let (lock_file, is_alone) = LockFile::open(&lock_path, mode)
            .map_err(|error| not_opened(error, &lock_path, path))?;
        Self::with(lock_file, is_alone, path)
    }

    /// Passes the gate of a lock file as a process of its own, for tests in which one process plays several.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn enter_gate_apart(lock_path: &Path) -> Result<Self> {
        let (lock_file, is_alone) = LockFile::open_apart(lock_path).map_err(lock_file_error)?;
        Self::with(lock_file, is_alone, lock_path)
    }

    /// Takes a place. `path` is for messages.
    fn with(lock_file: LockFile, is_alone: bool, path: &Path) -> Result<Self> {
        let place = lock_file.take_place().map_err(lock_file_error)?;
        let place = place.ok_or_else(|| {
            lock_file_error(io::Error::other(
                "too many processes have it open; close some",
            ))
        })?;
        Ok(Self {
            region: None,
            pid_namespace: pid_namespace(),
            lock_file: Some(lock_file),
            place,
            is_alone,
            has_locks: false,
            path: path.to_path_buf(),
        })
    }

    /// Looks at the shared memory; who is alone makes it anew. `file_id` is that of the database file, which who is alone
    /// has locked, so that nobody uses it whom the lock file does not know.
    pub(crate) fn map_region(&mut self, file_id: (u64, u64), boot: [u8; 16]) -> Result<()> {
        let lock_file = self.lock_file();
        let memory = match self.is_alone {
            true => lock_file.make_anew(REGION_LEN),
            false => lock_file.map(REGION_LEN),
        };
        let memory = memory.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Error::InUse(self.path.clone()),
            _ => self.refused(error),
        })?;
        let region = Region::new(memory);
        if self.is_alone {
            self.allocate(0..REGION_HEAD_LEN)?;
            region.set_file_id(file_id);
        } else if !region.is_known() || region.boot() != boot || region.file_id() != file_id {
            // Another version's, or of a file that has been replaced by this one.
            return Err(Error::InUse(self.path.clone()));
        }
        self.allocate(region.processes.entry_bytes(self.place))?;
        let membership = (region.processes).enter(self.place, process::id(), self.pid_namespace);
        self.region = Some((region, membership));
        Ok(())
    }

    /// Notes which file it is that the processes have open, if this one is alone.
    pub(crate) fn note_file(&self, file_id: (u64, u64)) {
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

    /// What this process marks locks with.
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
        let allocated = self.lock_file().allocate(bytes);
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
        loop {
            if began.elapsed() > PUBLISHING {
                return Err(no_record());
            }
            let visible = region.readers.visible();
            let Some((bytes, _)) = region.record(visible) else {
                continue;
            };
            let found = record_of_visible(&bytes, TransactionId(visible))
                .and_then(|record| refuse_another_file(storage, &record).map(|()| record))
                .map_err(|error| error.at(self.lock_file().path()))
                .and_then(|record| refuse_shorter(storage, &record).map(|()| record));
            match found {
                Err(error) if region.readers.visible() == visible => return Err(error),
                // A newer state is visible, and the file may be shorter since.
                Err(_) => {}
                Ok(record) => return Ok(Some(record)),
            }
        }
    }

    /// A write or flush has failed, and what counts is to be found out anew. Nobody begins to write any more; who has begun
    /// is waited for.
    fn wait_for_writers(&mut self) -> Result<()> {
        self.take(&self.region().writer)?;
        if let Err(error) = self.take(&self.region().flush) {
            self.region().writer.give_back(self.me());
            return Err(error);
        }
        self.has_locks = true;
        Ok(())
    }

    fn take(&self, lock: &SharedLock) -> Result<()> {
        let is_alive = |process| is_alive(self.lock_file(), self.region(), process);
        match lock.take(self.me(), Some(WRITERS_PATIENCE), is_alive) {
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

    /// Leaves the gate, to be one of those who have the database open.
    pub(crate) fn finish(mut self, storage: &Arc<dyn Storage>, page_size: usize) -> Arc<Shared> {
        // Another process had the place, and may have died there.
        let readers = &self.region().readers;
        let had_place = |owner: &u64| place_of(*owner as u32) == Some(self.place);
        for owner in (readers.owners().unwrap_or_default().into_iter()).filter(had_place) {
            let _ = readers.give_up_blocks(owner);
        }
        self.give_locks_back();
        let (region, membership) = self.region.take().expect("the shared memory was looked at");
        let epoch = region.epoch();
        let lock_file = self.lock_file.take();
        let lock_file = lock_file.expect("an attach has its file until the end");
        lock_file.leave_gate();
        Arc::new(Shared::new(
            region,
            epoch,
            lock_file,
            (membership, self.pid_namespace),
            Arc::clone(storage),
            page_size,
        ))
    }

    /// Tells the others, if there are any, and those to come what was found, and enters.
    pub(crate) fn begin_and_finish(
        self,
        storage: &Arc<dyn Storage>,
        recovered: &RecoveredDatabase,
        request: &OpenRequest,
    ) -> Result<Arc<Shared>> {
        let (newest, region) = (&recovered.snapshot.record, self.region());
        if newest.transaction.0 < region.readers.visible() {
            // Others read states that are not there any more, and their pages must not be used again.
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
        publish_record(region, newest, recovered.snapshot.known_counts());
        if !request.is_read_only {
            region.set_ready();
        }
        region.state.give_back(self.me());
        Ok(self.finish(storage, page_size))
    }
}

/// Fails unless the file has records of the same database as `record`, which is from the lock file.
fn refuse_another_file(storage: &dyn Storage, record: &Record) -> Result<()> {
    // The file may have been made, and have grown, since it was opened.
    storage
        .refresh(true)
        .map_err(Error::io("reading the length of the file"))?;
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let mut bytes = vec![0; record.page_size as usize];
    let mut is_of_same = |slot: u8| {
        let offset = u64::from(slot) * u64::from(record.page_size);
        // A slot that cannot be read, or is just being written, leaves three others.
        matches!(file_reads::copy(&mapping, offset, &mut bytes), Ok(true))
            && Record::decode(&bytes, slot).is_ok_and(|there| there.has_same_file(record))
    };
    match (0..SLOT_COUNT).any(&mut is_of_same) {
        true => Ok(()),
        false => Err(wrong_record("it is of another database")),
    }
}
