//! `LOCK`: one program uses a directory at a time, as with LevelDB.

use crate::{
    failure::{Failure, Kind, Result},
    system::{self, FileId, Users},
};
use std::{
    collections::BTreeSet,
    fs::File,
    io,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// The lock files that this process holds. The locks of some systems are those of a process: a
/// second opening would get the lock too, and closing it would release both.
static HELD: Mutex<BTreeSet<FileId>> = Mutex::new(BTreeSet::new());

/// A held lock. Dropping it releases the lock; the file stays.
#[derive(Debug)]
pub struct LockFile {
    /// `None` only while it is dropped.
    file: Option<File>,
    id: FileId,
}

impl LockFile {
    /// Takes a lock that nobody else may have.
    pub(crate) fn take(path: &Path) -> Result<Self> {
        Self::try_take(path, Users::One)?.ok_or_else(|| in_use(path))
    }

    /// Takes a lock. `None` if another process has it in a way that excludes this one.
    pub(crate) fn try_take(path: &Path, users: Users) -> Result<Option<Self>> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if system::id_of(path).is_ok_and(|id| held.contains(&id)) {
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
        let id = system::id_of_open(&file, path).map_err(Failure::file(path))?;
        if !system::try_lock(&file, users).map_err(|error| locking(path, &error))? {
            return Ok(None);
        }
        held.insert(id.clone());
        Ok(Some(Self {
            file: Some(file),
            id,
        }))
    }

    /// Lets other programs that share have an exclusive lock, too.
    pub(crate) fn share(&self) -> Result<()> {
        let shared = self.file.as_ref().map_or(Ok(()), system::share_lock);
        shared.map_err(|error| Failure::system("sharing the lock", &error))
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
    locking(path, &system::locked())
}

fn locking(path: &Path, error: &io::Error) -> Failure {
    Failure::system(format!("lock {}", path.display()), error)
}
