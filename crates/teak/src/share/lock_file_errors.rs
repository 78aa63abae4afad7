//! Errors of the lock file.

use crate::{Error, error::is_full};
use std::{io, path::Path};

/// The error when the lock file at `lock_path` of the database at `path` was not opened.
pub(crate) fn not_opened(error: io::Error, lock_path: &Path, path: &Path) -> Error {
    match error.kind() {
        io::ErrorKind::ResourceBusy => Error::InUse(path.to_path_buf()),
        // Errors of the engine itself carry the reason. Errors of the system have a number.
        io::ErrorKind::InvalidInput if error.raw_os_error().is_none() => Error::NotALockFile {
            path: lock_path.to_path_buf(),
            reason: error.to_string(),
        },
        _ => lock_file_error(error).at(lock_path),
    }
}

/// An error of the lock file.
pub(crate) fn lock_file_error(error: io::Error) -> Error {
    Error::io(OPENING)(error)
}

pub(crate) const OPENING: &str = "opening the lock file";

/// Whether a database was not opened because the disk has no block for a lock file.
pub(crate) fn is_lack_of_lock_file(error: &Error) -> bool {
    matches!(error, Error::Io { operation: OPENING, cause, .. } if is_full(cause))
}
