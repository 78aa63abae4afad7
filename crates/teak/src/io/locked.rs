//! A file and the lock on it: exclusive for a process that must be alone, otherwise shared.

use super::{
    held_file::HeldFile,
    sys::{Access, FileSharing, try_lock_file, unlock_file},
};
use std::{
    fs::{File, TryLockError},
    io,
    ops::Deref,
    process,
};

/// A file that is locked while this lives.
#[derive(Debug)]
pub(super) struct LockedFile {
    file: HeldFile,
    owner_process: u32,
}

impl LockedFile {
    /// Locks `file`, which was opened for this access, without waiting.
    pub(super) fn new(
        file: File,
        access: Access,
        file_sharing: FileSharing,
    ) -> Result<Self, TryLockError> {
        let file = HeldFile::new(file, access).map_err(TryLockError::Error)?;
        try_lock_file(&file, file_sharing)?;
        Ok(Self {
            file,
            owner_process: process::id(),
        })
    }

    /// The file, and what keeps its lock.
    pub(super) fn held(&self) -> &HeldFile {
        &self.file
    }

    /// Lets other processes lock the file as well.
    pub(super) fn share(&self) -> io::Result<()> {
        match try_lock_file(&self.file, FileSharing::Shared) {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::ResourceBusy.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for LockedFile {
    /// Unlocks explicitly. A child process that was just forked has the file open too until it
    /// executes its program, and a mere close here would leave the file locked that long.
    /// Conversely, a forked child that drops this must not unlock its parent's file.
    fn drop(&mut self) {
        if self.owner_process == process::id() {
            let _ = unlock_file(&self.file);
        }
    }
}

/// The length of the file, if the descriptor still refers to it.
pub(super) fn system_len(file: &LockedFile) -> io::Result<u64> {
    Ok(file.held().attributes()?.len)
}

#[cfg(test)]
#[path = "locked_tests.rs"]
mod tests;
