//! The location of an incomplete backup: a temporary directory beside its target, locked while a
//! process works in it. A later process can therefore recognize and remove what a killed process
//! left.

use crate::{
    Error, Result,
    io::{create_private_directory, random_id},
    share::names::refuse_lock_name,
};
use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    path::{self, Path, PathBuf},
};

const PREFIX: &str = ".teak-backup-";
/// Random characters after the prefix.
const RANDOM_LEN: usize = 6;
const ALPHANUMERIC: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
/// The name of the file; other files beside it may have names that begin with it.
const FILE: &str = "copy";

/// A temporary file that is not complete yet. Dropping it removes everything.
#[derive(Debug)]
pub(super) struct UnfinishedFile {
    directory: PathBuf,
    _lock: Option<File>,
}

impl UnfinishedFile {
    /// Creates a temporary directory beside `target`, which must not exist.
    pub(super) fn new(target: &Path) -> Result<Self> {
        refuse_lock_name(target, &[])?;
        if target.symlink_metadata().is_ok() {
            return Err(Error::AlreadyExists(target.to_path_buf()));
        }
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let failed =
            |error| Error::io("creating a directory next to the new file")(error).at(target);
        // So that it is removed even if the working directory changes.
        let parent = &path::absolute(parent).map_err(failed)?;
        remove_left(parent);
        loop {
            let directory = create_directory(parent).map_err(failed)?;
            let lock = lock(&directory);
            // Another process may have mistaken the directory for an abandoned one before it was
            // locked.
            if !matches!(lock, DirectoryLock::Taken) && directory.exists() {
                return Ok(Self {
                    directory,
                    _lock: lock.held(),
                });
            }
        }
    }

    /// The path of the file.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    /// Makes an error of the work here name `target`: the temporary directory is gone by the time
    /// the error is read.
    pub(super) fn renamed(&self, error: Error, target: &Path) -> Error {
        match error {
            Error::Io {
                operation,
                path: Some(path),
                cause,
            } if path.starts_with(&self.directory) => Error::Io {
                operation,
                path: Some(target.to_path_buf()),
                cause,
            },
            cancelled @ Error::Cancelled { .. } => cancelled.at(target),
            other => other,
        }
    }
}

/// Listing a directory takes a file descriptor, and there may be none left. So the known file is
/// removed first. The lock is released last.
impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path());
        if fs::remove_dir(&self.directory).is_err() {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// Creates a directory with a random name, which only this user can use.
fn create_directory(parent: &Path) -> io::Result<PathBuf> {
    loop {
        let random = random_id()?.map(|byte| char::from(ALPHANUMERIC[usize::from(byte) % 36]));
        let random: String = random[..RANDOM_LEN].iter().collect();
        let directory = parent.join(format!("{PREFIX}{random}"));
        match create_private_directory(&directory) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|()| directory),
        }
    }
}

enum DirectoryLock {
    Held(File),
    Taken,
    /// The file system does not support such locks.
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

/// Removes abandoned directories, in which no process works. Those that cannot be removed stay;
/// they only cost space.
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

/// Removes a directory if it holds only files that this module creates.
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
