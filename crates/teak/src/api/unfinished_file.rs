//! Where a backup is until it is complete: in a directory beside its target, which is locked as long as somebody works there.
//! So whoever comes next knows what a process left that was killed, and removes it.

use crate::{Error, Result, error::unwrapped, share::names::refuse_lock_name};
use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const PREFIX: &str = ".teak-backup-";
/// Random characters behind the prefix.
const RANDOM_LEN: usize = 6;
/// The file; beside it there may be such whose names go on behind this.
const FILE: &str = "copy";

/// A place for a file that is not complete yet. With this all of it goes.
#[derive(Debug)]
pub(super) struct UnfinishedFile {
    // In this order: the lock goes last.
    directory: TempDir,
    _lock: Option<File>,
}

impl UnfinishedFile {
    /// A place beside `target`, where there must be nothing.
    pub(super) fn new(target: &Path) -> Result<Self> {
        refuse_lock_name(target, &[])?;
        if target.symlink_metadata().is_ok() {
            return Err(Error::AlreadyExists(target.to_path_buf()));
        }
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        remove_left(parent);
        loop {
            let directory = tempfile::Builder::new()
                .prefix(PREFIX)
                .rand_bytes(RANDOM_LEN)
                .tempdir_in(parent)
                .map_err(|error| {
                    Error::io("creating a directory beside the new file")(unwrapped(error))
                        .at(target)
                })?;
            let lock = lock(directory.path());
            // Somebody may have come between, and taken it for one that was left.
            if !matches!(lock, DirectoryLock::Taken) && directory.path().exists() {
                return Ok(Self {
                    directory,
                    _lock: lock.held(),
                });
            }
        }
    }

    /// Where the file belongs.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join(FILE)
    }

    /// An error of what is done here, which names `target`: this place is gone when somebody reads it.
    pub(super) fn renamed(&self, error: Error, target: &Path) -> Error {
        match error {
            Error::Io {
                operation,
                path: Some(path),
                source,
            } if path.starts_with(self.directory.path()) => Error::io(operation)(source).at(target),
            other => other,
        }
    }
}

/// Removing a directory with all that is in it takes descriptors, and there may be none left: so what is known goes first.
impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path());
        let _ = fs::remove_dir(self.directory.path());
    }
}

enum DirectoryLock {
    Held(File),
    Taken,
    /// The file system has no such locks.
    Impossible,
}

impl DirectoryLock {
    fn held(self) -> Option<File> {
        match self {
            Self::Held(file) => Some(file),
            Self::Taken | Self::Impossible => None,
        }
    }
}

fn lock(directory: &Path) -> DirectoryLock {
    let Ok(file) = File::open(directory) else {
        return DirectoryLock::Impossible;
    };
    match file.try_lock() {
        Ok(()) => DirectoryLock::Held(file),
        Err(TryLockError::WouldBlock) => DirectoryLock::Taken,
        Err(TryLockError::Error(_)) => DirectoryLock::Impossible,
    }
}

/// Removes places that nobody works in. What cannot be removed stays; it costs space and nothing else.
fn remove_left(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let is_one = random.is_some_and(|random| {
            random.len() == RANDOM_LEN && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        if is_directory && is_one {
            let path = entry.path();
            if let DirectoryLock::Held(_lock) = lock(&path) {
                let _ = remove(&path);
            }
        }
    }
}

/// Removes a directory that has nothing but what is made in such ones.
fn remove(directory: &Path) -> io::Result<()> {
    let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    let is_ours = |entry: &fs::DirEntry| {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        is_file
            && entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(FILE.as_bytes())
    };
    if entries.iter().all(is_ours) {
        for entry in entries {
            fs::remove_file(entry.path())?;
        }
        fs::remove_dir(directory)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "unfinished_file_tests.rs"]
mod tests;
