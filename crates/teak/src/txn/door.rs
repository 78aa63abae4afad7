//! Coming to a database that other processes may have open: through the gate of its lock file, one at a time.
//!
//! Who finds nobody there, or only such as read what nobody has put in order, looks at the file as after a crash,
//! and tells the others what was found. Who finds the database in order joins.

use super::{
    open::{How, Settled},
    published::publish_record,
    shared::{Shared, lock_file_error},
};
use crate::{
    Error, Result,
    commit::record::Record,
    share::{REGION_HEAD_LEN, REGION_LEN, Region, SharedLock},
    store::{Access, Company, LockFile, Storage},
};
use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// So long those who write when a failure is noticed may take to notice it too.
const WRITERS_PATIENCE: Duration = Duration::from_secs(5);

/// The gate of a lock file, passed, and a place among the processes that have the database open.
pub(super) struct Door {
    /// Absent only at the end.
    lock_file: Option<LockFile>,
    region: Region,
    place: u32,
    is_alone: bool,
    /// Whether nobody else may write until the database is in order.
    has_locks: bool,
    path: PathBuf,
}

impl Drop for Door {
    /// Nothing came of it.
    fn drop(&mut self) {
        if let Some(lock_file) = self.lock_file.take() {
            self.give_locks_back();
            if self.is_alone {
                lock_file.remove();
            }
        }
    }
}

impl Door {
    /// Passes the gate. `None` for who only reads, where the lock file cannot be written to since nothing can.
    pub(super) fn pass(path: &Path, access: Access) -> Result<Option<Self>> {
        let lock_path = lock_path(path).map_err(lock_file_error)?;
        let mode = fs::metadata(path).map_or(0o644, |found| found.mode());
        let (lock_file, is_alone) = match LockFile::open(&lock_path, REGION_LEN, mode) {
            Ok(opened) => opened,
            Err(error)
                if access == Access::ReadOnly
                    && error.kind() == io::ErrorKind::ReadOnlyFilesystem =>
            {
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                return Err(Error::InUse(path.to_path_buf()));
            }
            Err(error) => return Err(lock_file_error(error)),
        };
        let place = lock_file.take_place().map_err(lock_file_error)?;
        let place = place.ok_or_else(|| {
            lock_file_error(io::Error::other(
                "too many processes have it open; close some",
            ))
        })?;
        let door = Self {
            region: Region::new(Arc::clone(lock_file.memory())),
            lock_file: Some(lock_file),
            place,
            is_alone,
            has_locks: false,
            path: path.to_path_buf(),
        };
        if is_alone {
            door.allocate(0, REGION_HEAD_LEN)?;
        }
        Ok(Some(door))
    }

    fn allocate(&self, offset: usize, len: usize) -> Result<()> {
        let lock_file = self
            .lock_file
            .as_ref()
            .expect("a door has its file until the end");
        lock_file.allocate(offset, len).map_err(lock_file_error)
    }

    pub(super) fn company(&self) -> Company {
        match self.is_alone {
            true => Company::None,
            false => Company::Others,
        }
    }

    /// The record of the state that readers see, if the database is in order.
    pub(super) fn joins(&mut self, how: &How) -> Result<Option<Record>> {
        if self.is_alone || !self.region.is_ready() {
            return Ok(None);
        }
        if !self.region.is_known() || how.boot != self.region.boot() {
            return Err(Error::InUse(self.path.clone()));
        }
        if self.region.has_failed() && !how.is_read_only {
            return self.wait_for_writers().map(|()| None);
        }
        loop {
            if let Some((bytes, _)) = self.region.record(self.region.readers.visible()) {
                let record = Record::decode(&bytes, Record::slot_of(&bytes));
                let record = record.map_err(|fault| {
                    lock_file_error(io::Error::other(format!("it makes no sense: {fault}")))
                })?;
                return Ok(Some(record));
            }
        }
    }

    /// A write or flush has failed, and what counts is to be found out anew. Nobody begins to write any more; who has begun
    /// is waited for.
    fn wait_for_writers(&mut self) -> Result<()> {
        let lock_file = self
            .lock_file
            .as_ref()
            .expect("a door has its file until the end");
        let is_alive = |process: u32| lock_file.is_alive(process - 1);
        let me = self.place + 1;
        let take = |lock: &SharedLock| lock.take(me, Some(WRITERS_PATIENCE), is_alive).is_some();
        if !take(&self.region.writer) {
            return Err(Error::InUse(self.path.clone()));
        }
        if !take(&self.region.flush) {
            self.region.writer.give_back();
            return Err(Error::InUse(self.path.clone()));
        }
        self.has_locks = true;
        Ok(())
    }

    fn give_locks_back(&mut self) {
        if std::mem::take(&mut self.has_locks) {
            self.region.flush.give_back();
            self.region.writer.give_back();
        }
    }

    /// Leaves the gate, to be one of those who have the database open.
    pub(super) fn enter(mut self, storage: &Arc<dyn Storage>, page_size: usize) -> Arc<Shared> {
        // Another process had the place, and may have died there.
        self.region
            .readers
            .give_up_blocks(u64::from(self.place) + 1);
        self.give_locks_back();
        let lock_file = self
            .lock_file
            .take()
            .expect("a door has its file until the end");
        lock_file.leave_gate();
        Arc::new(Shared::new(
            self.region.clone(),
            lock_file,
            self.place,
            Arc::clone(storage),
            page_size,
        ))
    }

    /// Tells the others, if there are any, and those to come what was found, and enters.
    pub(super) fn begin(
        self,
        storage: &Arc<dyn Storage>,
        settled: &Settled,
        how: &How,
    ) -> Result<Arc<Shared>> {
        let newest = &settled.snapshot.record;
        let page_size = newest.page_size as usize;
        let table = self.region.readers.head_bytes();
        for (offset, len) in Region::record_places(page_size).chain([table]) {
            self.allocate(offset, len)?;
        }
        self.region
            .begin(newest.database_id, how.boot, &settled.state.to_words());
        publish_record(&self.region, newest, settled.snapshot.known_counts());
        if !how.is_read_only {
            self.region.set_ready();
        }
        Ok(self.enter(storage, page_size))
    }
}

/// Where the lock file of a database stands: beside the file itself, wherever a link to it is.
pub(super) fn lock_path(path: &Path) -> io::Result<PathBuf> {
    let file = match fs::canonicalize(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            parent.join(name)
        }
        Err(error) => return Err(error),
    };
    let mut name = OsString::from(file);
    name.push("-lock");
    Ok(name.into())
}
