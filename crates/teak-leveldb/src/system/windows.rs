//! Windows. A path is UTF-8, and the system keeps the names in a directory in order by itself.

use super::types::{FileId, Users};
use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// The system's error if another program has locked a part of a file.
const LOCK_VIOLATION: i32 = 33;
/// How long to wait for programs that take the lock while it becomes a shared one, and the pause
/// between two attempts.
const SHARED_WAIT_MAX: Duration = Duration::from_secs(10);
const SHARED_PAUSE: Duration = Duration::from_millis(5);

/// The identity of the file at a path.
pub(crate) fn id_of(path: &Path) -> io::Result<FileId> {
    path.canonicalize().map(FileId::Path)
}

/// The identity of an open file, and its path.
pub(crate) fn id_of_open(_file: &File, path: &Path) -> io::Result<FileId> {
    id_of(path)
}

/// Takes the lock of a whole file. Returns whether nobody excludes this process.
pub(crate) fn try_lock(file: &File, users: Users) -> io::Result<bool> {
    let taken = match users {
        Users::One => file.try_lock(),
        Users::Many => file.try_lock_shared(),
    };
    match taken {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Lets others that share have an exclusive lock, too. Between the two locks another program may
/// take it. One that shares gives it back soon; otherwise this is an error.
pub(crate) fn share_lock(file: &File) -> io::Result<()> {
    match file.unlock() {
        // Wine says this when no lock is left.
        Err(error) if error.raw_os_error() == Some(LOCK_VIOLATION) => {}
        unlocked => unlocked?,
    }
    let began = Instant::now();
    while !try_lock(file, Users::Many)? {
        if began.elapsed() > SHARED_WAIT_MAX {
            return Err(locked());
        }
        thread::sleep(SHARED_PAUSE);
    }
    Ok(())
}

/// The error if another process has a lock.
pub(crate) fn locked() -> io::Error {
    io::Error::from_raw_os_error(LOCK_VIOLATION)
}

/// A path. `None` if the bytes can be none.
pub(crate) fn path_of(bytes: &[u8]) -> Option<&Path> {
    std::str::from_utf8(bytes).ok().map(Path::new)
}

#[allow(clippy::unnecessary_wraps)] // It fails on other systems.
pub(crate) fn flush_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
