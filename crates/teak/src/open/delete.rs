//! Deleting a database: its file and its lock file, through the gate that everybody passes who comes and goes.
//!
//! Whoever is in the gate is alone with both names, so nobody finds one without the other. Who waits there finds afterwards that
//! the lock file is another one, or none, and looks at the name of the database anew.

use crate::{
    Error, Result,
    error::is_full,
    io::{FILE_MODE, LockFile, LockMode, lock_exclusively, read_head},
    record::{
        RecordFault,
        probe::{PROBE_LEN, find_page_size},
    },
};
use crate::{
    instance::opening::open_here,
    share::{
        attachment::Shared,
        lock_file_errors::{lock_file_error, not_opened},
        names::lock_path,
    },
};
use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// What [`delete`] does while somebody has the database open, in this process or another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deletion {
    /// That is [`Error::InUse`], and nothing is deleted.
    IfUnused,
    /// It waits until nobody has. In a process that has it open itself another thread has to close it.
    WhenUnused,
    /// The names go at once. Those who have it open go on with it, and it is gone for good when the last of them closes it; who opens it
    /// from now on finds none, and can make another one of that name.
    Now,
}

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(5);
const DELETING: &str = "deleting the database";

/// Deletes the database in the file at `path`, with its lock file. Says `false` if there is none. A symbolic link is followed, and stays.
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
/// [`Error::InUse`] as [`Deletion`] says; [`Error::NotADatabase`] for another file, which stays; [`Error::Io`].
pub fn delete(path: impl AsRef<Path>, deletion: Deletion) -> Result<bool> {
    let path = path.as_ref();
    loop {
        match (delete_once(path, deletion), deletion) {
            (Err(Error::InUse(_)), Deletion::WhenUnused | Deletion::Now) => thread::sleep(PAUSE),
            (done, _) => return done.map_err(|error| error.at(path)),
        }
    }
}

/// The same without waiting.
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
    // The lock file must not be opened once more by a process that has it open.
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
    /// `None` where there is no file.
    ///
    /// # Errors
    /// `NotADatabase` if it is no database: nothing there looks like a commit record.
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

    /// Passes the gate; says whether anybody has the database open. `None` if there is no lock file and no block for one, so that nobody is
    /// known by one.
    fn pass_gate(&self) -> Result<Option<(LockFile, bool)>> {
        let mode = LockMode::beside(&self.file, FILE_MODE);
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
        // Against those who have no lock file.
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

    /// Removes the file for good; says whether there was one.
    fn remove_file(&self) -> Result<bool> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            removed => removed.map_err(Error::io(DELETING))?,
        }
        let directory = self.file.parent().unwrap_or(Path::new("/"));
        let flushed = File::open(directory).and_then(|directory| directory.sync_all());
        flushed
            .or_else(accept_unflushable)
            .map_err(Error::io(DELETING))?;
        Ok(true)
    }
}

/// There are file systems that have no such thing as flushing a directory.
fn accept_unflushable(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    }
}
