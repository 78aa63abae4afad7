//! A file and the lock on it: exclusive for a process that must be alone, otherwise shared.

use super::{file::FileSharing, held_file::HeldFile};
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
    /// Locks `file`, without waiting.
    pub(super) fn new(file: File, file_sharing: FileSharing) -> Result<Self, TryLockError> {
        let file = HeldFile::new(file).map_err(TryLockError::Error)?;
        match file_sharing {
            FileSharing::Exclusive => file.try_lock()?,
            FileSharing::Shared => file.try_lock_shared()?,
        }
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
        match self.file.try_lock_shared() {
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
            let _ = self.file.unlock();
        }
    }
}

/// The length of the file, if the descriptor still refers to it.
pub(super) fn system_len(file: &LockedFile) -> io::Result<u64> {
    Ok(file.held().len_and_links()?.0)
}

#[cfg(test)]
#[path = "locked_tests.rs"]
mod tests;
