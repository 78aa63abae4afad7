//! The directory in which a new database, or a directory of another engine, is built, next to its
//! target. It is locked while a command works in it. A killed command therefore leaves nothing
//! incomplete under the target's name, and the next one removes its directory.

use crate::failure::Failure;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, TempPath};

/// The beginnings of the names, by the commands.
const IMPORT: &str = ".teak-import-";
const EXPORT: &str = ".teak-export-";
/// The only file or directory in it.
const FILE: &str = "database";

/// A directory for something incomplete. Dropping this removes it.
pub(crate) struct StagingDirectory {
    // Fields are dropped in this order: the lock goes last.
    directory: TempDir,
    _lock: Option<File>,
}

impl StagingDirectory {
    /// Creates a directory next to the database `target`, which must not exist.
    pub(super) fn for_database(target: &Path) -> Result<Self, Failure> {
        if target.symlink_metadata().is_ok() {
            return Err(teak::Error::AlreadyExists(target.to_path_buf()).into());
        }
        Self::next_to(target, IMPORT)
    }

    /// Creates a directory next to the directory `target`.
    pub(super) fn for_directory(target: &Path) -> Result<Self, Failure> {
        Self::next_to(target, EXPORT)
    }

    fn next_to(target: &Path, prefix: &str) -> Result<Self, Failure> {
        remove_left(parent(target), prefix);
        loop {
            let directory = tempfile::Builder::new()
                .prefix(prefix)
                .tempdir_in(parent(target))
                .map_err(Failure::file("creating a directory next to", target))?;
            let lock = lock(directory.path());
            // Somebody may have come between, and taken it for one that was left.
            if !matches!(lock, StagingLock::Taken) && directory.path().exists() {
                return Ok(Self {
                    directory,
                    _lock: lock.held(),
                });
            }
        }
    }

    /// The directory, in which temporary files may be made.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The path of the database or directory until it has its name.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join(FILE)
    }

    /// Renames the complete and durable database to its target, which must still not exist.
    pub(super) fn finish(&self, target: &Path) -> Result<(), Failure> {
        let naming = Failure::file("naming", target);
        match give_name(&self.path(), target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(teak::Error::AlreadyExists(target.to_path_buf()).into());
            }
            Err(error) => return Err(naming(error)),
        }
        flush_name(target)
    }

    /// Renames the complete and durable directory to its target. An empty directory of that name is
    /// replaced.
    pub(super) fn finish_directory(&self, target: &Path) -> Result<(), Failure> {
        fs::rename(self.path(), target).map_err(Failure::file("naming", target))?;
        flush_name(target)
    }
}

fn flush_name(target: &Path) -> Result<(), Failure> {
    File::open(parent(target))
        .and_then(|directory| directory.sync_all())
        .map_err(Failure::file("flushing the directory of", target))
}

/// Renames a file, unless the target exists.
fn give_name(file: &Path, target: &Path) -> io::Result<()> {
    match TempPath::try_from_path(file)?.persist_noclobber(target) {
        // The file system has neither links nor such renames. The target is locked, so that nobody
        // takes it for a new database.
        Err(failed) if failed.error.kind() == io::ErrorKind::PermissionDenied => {
            let claim = File::create_new(target)?;
            if claim.try_lock().is_err() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            // It is kept, since dropping it would remove the file.
            let file = failed.path.keep()?;
            fs::rename(file, target).inspect_err(|_| {
                let _ = fs::remove_file(target);
            })
        }
        named => Ok(named.map_err(|failed| failed.error)?),
    }
}

fn parent(target: &Path) -> &Path {
    let parent = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

enum StagingLock {
    Held(File),
    Taken,
    /// The file system has no such locks.
    Impossible,
}

impl StagingLock {
    fn held(self) -> Option<File> {
        match self {
            Self::Held(file) => Some(file),
            Self::Taken | Self::Impossible => None,
        }
    }
}

fn lock(directory: &Path) -> StagingLock {
    let Ok(file) = File::open(directory) else {
        return StagingLock::Impossible;
    };
    match file.try_lock() {
        Ok(()) => StagingLock::Held(file),
        Err(TryLockError::WouldBlock) => StagingLock::Taken,
        Err(TryLockError::Error(_)) => StagingLock::Impossible,
    }
}

/// Removes directories that no command works in. A directory with other contents stays, and so does
/// one that cannot be removed.
fn remove_left(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name();
        if !is_directory || !name.as_encoded_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        if let StagingLock::Held(_lock) = lock(&entry.path()) {
            let file = entry.path().join(FILE);
            let _ = match prefix {
                EXPORT => fs::remove_dir_all(file),
                _ => fs::remove_file(file),
            };
            let _ = fs::remove_dir(entry.path());
        }
    }
}
