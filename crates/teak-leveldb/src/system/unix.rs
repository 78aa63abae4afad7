//! Unix.

use super::types::{FileId, Users};
use rustix::{
    fs::{FlockOperation, fcntl_lock},
    io::Errno,
};
use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

/// The identity of the file at a path.
pub(crate) fn id_of(path: &Path) -> io::Result<FileId> {
    path.metadata().map(|found| number_of(&found))
}

/// The identity of an open file, and its path.
pub(crate) fn id_of_open(file: &File, _path: &Path) -> io::Result<FileId> {
    file.metadata().map(|found| number_of(&found))
}

fn number_of(found: &Metadata) -> FileId {
    FileId::Number(found.dev(), found.ino())
}

/// Takes the process's lock of a file, as LevelDB does. Returns whether no other process excludes
/// it.
pub(crate) fn try_lock(file: &File, users: Users) -> io::Result<bool> {
    let operation = match users {
        Users::One => FlockOperation::NonBlockingLockExclusive,
        Users::Many => FlockOperation::NonBlockingLockShared,
    };
    match fcntl_lock(file, operation) {
        Ok(()) => Ok(true),
        // Systems may say either if another process has it.
        Err(Errno::ACCESS | Errno::AGAIN) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Lets others that share have an exclusive lock, too.
pub(crate) fn share_lock(file: &File) -> io::Result<()> {
    Ok(fcntl_lock(file, FlockOperation::NonBlockingLockShared)?)
}

/// The error if another process has a lock.
pub(crate) fn locked() -> io::Error {
    Errno::AGAIN.into()
}

/// A path. `None` if the bytes can be none.
#[allow(clippy::unnecessary_wraps)] // Other systems have bytes that are no paths.
pub(crate) fn path_of(bytes: &[u8]) -> Option<&Path> {
    Some(Path::new(OsStr::from_bytes(bytes)))
}

/// Makes the names in a directory durable.
pub(crate) fn flush_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
