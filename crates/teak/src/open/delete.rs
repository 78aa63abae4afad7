//! Deleting a database: its file and its lock file, under the gate that every opening and closing
//! process passes.
//!
//! The holder of the gate has exclusive use of both names, so no process finds one file without the
//! other. A process that waited for the gate may find the lock file replaced or removed afterwards.
//! It then looks up the name of the database again.

use crate::{
    Error, Result,
    error::is_full,
    io::{
        FILE_MODE, LockFile, LockMode, flush_directory, lock_exclusively, read_head, remove_file,
    },
    record::{
        RecordFault,
        probe::{PROBE_LEN, find_page_size},
    },
};
use crate::{
    instance::{opening::open_here, wal::remove_log_of},
    share::{
        attachment::Shared,
        lock_file_errors::{lock_file_error, not_opened},
        names::lock_path,
    },
};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The behaviour of [`delete`] while the database is open in this or another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deletion {
    /// Returns [`Error::InUse`] and deletes nothing.
    IfUnused,
    /// Waits until the database is closed. If this process has it open, another thread has to close
    /// it.
    WhenUnused,
    /// Removes the names at once. Processes that have the database open continue to use it, and it
    /// disappears when the last of them closes it. From now on opening finds no database, and can
    /// create a new one with the same name.
    Now,
}

/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_millis(5);
const DELETING: &str = "deleting the database";

/// Deletes the database in the file at `path`, with its lock file. Returns `false` if there is
/// none. A symbolic link is followed, and stays.
///
/// ```
/// use teak::{Database, Deletion, Error};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("x.teak");
/// let database = Database::open(&path)?;
/// let refused = teak::delete(&path, Deletion::IfUnused);
/// assert!(matches!(refused, Err(Error::InUse(_))));
/// database.close()?;
/// assert!(teak::delete(&path, Deletion::IfUnused)?);
/// assert!(!path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`Error::InUse`] if the database is open and `deletion` is [`Deletion::IfUnused`].
/// - [`Error::NotADatabase`] if the file is not a database. The file stays.
/// - [`Error::Io`] if the system refuses an operation.
pub fn delete(path: impl AsRef<Path>, deletion: Deletion) -> Result<bool> {
    let path = path.as_ref();
    loop {
        match (delete_once(path, deletion), deletion) {
            (Err(Error::InUse(_)), Deletion::WhenUnused | Deletion::Now) => thread::sleep(PAUSE),
            (done, _) => return done.map_err(|error| error.at(path)),
        }
    }
}

/// Like [`delete`], without waiting.
fn delete_once(path: &Path, deletion: Deletion) -> Result<bool> {
    let names = match DatabaseFiles::of(path)? {
        Some(names) => names,
        None => return Ok(false),
    };
    let here = open_here(&names.file);
    if deletion != Deletion::Now {
        return match here.is_empty() {
            true => names.delete_unused(),
            false => Err(names.in_use()),
        };
    }
    // A process that has the lock file open must not open it a second time.
    match here.iter().find_map(|engine| engine.shared()) {
        Some(shared) => names.delete_used_here(shared),
        None => names.delete_used(),
    }
}

/// The files of a database.
struct DatabaseFiles {
    file: PathBuf,
    lock_file: PathBuf,
}

impl DatabaseFiles {
    /// `None` if there is no file.
    ///
    /// # Errors
    ///
    /// `NotADatabase` if nothing in the file looks like a commit record.
    fn of(path: &Path) -> Result<Option<Self>> {
        let file = match fs::canonicalize(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            found => found.map_err(Error::io(DELETING))?,
        };
        let head = match read_head(&file, PROBE_LEN) {
            Err(Error::NotFound(_)) => return Ok(None),
            read => read?.0,
        };
        if matches!(find_page_size(&head), Err(RecordFault::NotARecord)) {
            return Err(Error::NotADatabase {
                path: path.to_path_buf(),
                reason: "nothing in it is a commit record; if it has to go, remove the file itself"
                    .into(),
            });
        }
        Ok(Some(Self {
            lock_file: lock_path(&file, None).map_err(lock_file_error)?,
            file,
        }))
    }

    fn in_use(&self) -> Error {
        Error::InUse(self.file.clone())
    }

    /// Passes the gate, and returns whether this process is alone. `None` if there is no lock file
    /// and no disk block for one, so that no process can be registered in it.
    fn pass_gate(&self) -> Result<Option<(LockFile, bool)>> {
        let mode = LockMode::for_database(&self.file, FILE_MODE);
        match LockFile::open(&self.lock_file, mode) {
            Err(error) if is_full(&error) => Ok(None),
            opened => opened
                .map(Some)
                .map_err(|error| not_opened(error, &self.lock_file, &self.file)),
        }
    }

    fn delete_unused(&self) -> Result<bool> {
        let passed = self.pass_gate()?;
        if matches!(passed, Some((_, false))) {
            return Err(self.in_use());
        }
        // Excludes processes that use no lock file.
        let is_deleted = match lock_exclusively(&self.file) {
            Err(Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
            Ok(_locked) => self.remove_file(),
        };
        if let Some((lock_file, _)) = passed {
            lock_file.remove();
        }
        is_deleted
    }

    fn delete_used(&self) -> Result<bool> {
        let passed = self.pass_gate()?;
        let is_deleted = self.remove_file()?;
        if let Some((lock_file, _)) = passed {
            lock_file.remove();
        }
        Ok(is_deleted)
    }

    fn delete_used_here(&self, shared: &Shared) -> Result<bool> {
        let _gate = shared.lock_file.pass_gate().map_err(lock_file_error)?;
        let is_deleted = self.remove_file()?;
        shared.lock_file.remove();
        Ok(is_deleted)
    }

    /// Removes the file durably. Returns whether there was one.
    fn remove_file(&self) -> Result<bool> {
        match remove_file(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            removed => removed.map_err(Error::io(DELETING))?,
        }
        remove_log_of(&self.file);
        let directory = self.file.parent().unwrap_or(Path::new("/"));
        flush_directory(directory).map_err(Error::io(DELETING))?;
        Ok(true)
    }
}
