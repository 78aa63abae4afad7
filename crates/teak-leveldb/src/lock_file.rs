//! `LOCK`: one program uses a directory at a time, as with LevelDB.

use crate::failure::{Failure, Kind, Result};
use rustix::{
    fs::{FlockOperation, fcntl_lock},
    io::Errno,
};
use std::{
    collections::BTreeSet,
    fs::File,
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// The device and the number of each lock file that this process holds. The system's locks are
/// those of a process: a second opening would get the lock too, and closing it would release both.
static HELD: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// The processes that may have a lock at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Users {
    One,
    /// All that take it in this way.
    Many,
}

/// A held lock. Dropping it releases the lock; the file stays.
#[derive(Debug)]
pub struct LockFile {
    /// `None` only while it is dropped.
    file: Option<File>,
    id: (u64, u64),
}

impl LockFile {
    /// Takes a lock that nobody else may have.
    pub(crate) fn take(path: &Path) -> Result<Self> {
        Self::try_take(path, Users::One)?.ok_or_else(|| in_use(path))
    }

    /// Takes a lock. `None` if another process has it in a way that excludes this one.
    pub(crate) fn try_take(path: &Path, users: Users) -> Result<Option<Self>> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let id_of = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        if path
            .metadata()
            .is_ok_and(|found| held.contains(&id_of(found)))
        {
            let text = format!("lock {}: already held by process", path.display());
            return Err(Failure::new(Kind::Io, text));
        }
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(Failure::file(path))?;
        let id = id_of(file.metadata().map_err(Failure::file(path))?);
        let operation = match users {
            Users::One => FlockOperation::NonBlockingLockExclusive,
            Users::Many => FlockOperation::NonBlockingLockShared,
        };
        match fcntl_lock(&file, operation) {
            // Systems may say either if another process has it.
            Err(Errno::ACCESS | Errno::AGAIN) => return Ok(None),
            taken => taken.map_err(|error| locking(path, error))?,
        }
        held.insert(id);
        Ok(Some(Self {
            file: Some(file),
            id,
        }))
    }

    /// Lets other programs that share have an exclusive lock, too.
    pub(crate) fn share(&self) -> Result<()> {
        let shared = (self.file.as_ref()).map_or(Ok(()), |file| {
            fcntl_lock(file, FlockOperation::NonBlockingLockShared)
        });
        shared.map_err(|error| Failure::system("sharing the lock", &error.into()))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.file.take());
        held.remove(&self.id);
    }
}

/// The failure if another process has the lock.
pub(crate) fn in_use(path: &Path) -> Failure {
    locking(path, Errno::AGAIN)
}

fn locking(path: &Path, error: Errno) -> Failure {
    Failure::system(format!("lock {}", path.display()), &io::Error::from(error))
}
