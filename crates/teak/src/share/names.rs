//! The names of a database and of its lock file, and conflicts of new files with these names.

use crate::{
    Checksum, Error, Result,
    error::shown,
    io::{Links, id_of, read_head, without_suffix},
    record::{
        RecordFault,
        probe::{PROBE_LEN, find_page_size},
    },
};
use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

/// Returns the path of the lock file of the database at `path`, whether or not it exists.
/// [`Options::lock_file`](crate::Options::lock_file) can choose another path. Symbolic links in
/// `path` are followed. Neither file has to exist, but their directory does.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// let lock_file = teak::lock_file_of(directory.path().join("coins.teak"))?;
/// assert!(lock_file.ends_with("coins.teak-lock"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Io`] if the directory does not exist or cannot be read.
pub fn lock_file_of(path: impl AsRef<Path>) -> Result<PathBuf> {
    let path = path.as_ref();
    lock_path(path, None)
        .map_err(|error| Error::io("finding the directory of the database")(error).at(path))
}

/// Refuses to create a database in the file that was chosen as its lock file.
pub(crate) fn refuse_as_own_lock(target: &Path, chosen: Option<&Path>) -> Result<()> {
    let is_target = |chosen| match (in_resolved_directory(chosen), in_resolved_directory(target)) {
        (Ok(chosen), Ok(target)) => chosen == target,
        _ => false,
    };
    match chosen.is_some_and(is_target) {
        false => Ok(()),
        true => Err(Error::InvalidArgument(format!(
            "{} cannot be both the database and its lock file; use another lock file",
            shown(target)
        ))),
    }
}

/// Refuses to create a database at `target` if that is the lock file name of an existing database,
/// or if its own lock file would be an existing database. Otherwise one file would later be opened
/// in place of the other. `sources` count as databases, whatever they contain.
///
/// # Errors
///
/// `InvalidArgument` if the name is refused.
pub(crate) fn refuse_lock_name(target: &Path, sources: &[&Path]) -> Result<()> {
    // A path that cannot be resolved cannot be created either, and creating it reports the reason.
    let Ok(own_lock) = lock_path(target, None) else {
        return Ok(());
    };
    let is_taken =
        |path: &Path| is_database(path) || sources.iter().any(|source| is_same(source, path));
    if is_taken(&own_lock) {
        return Err(Error::InvalidArgument(format!(
            "{} is a database, and would be the lock file of {}; choose another name for the new file",
            shown(&own_lock),
            shown(target)
        )));
    }
    let name = own_lock.as_os_str();
    let base =
        without_suffix(name, LOCK_SUFFIX).and_then(|target| without_suffix(target, LOCK_SUFFIX));
    let Some(base) = base.map(Path::new) else {
        return Ok(());
    };
    if is_taken(base) {
        return Err(Error::InvalidArgument(format!(
            "{} is the name of the lock file of the database {}; choose another name",
            shown(target),
            shown(base)
        )));
    }
    Ok(())
}

/// Whether two paths lead to one file.
fn is_same(a: &Path, b: &Path) -> bool {
    id_of(a, Links::Follow).is_ok_and(|a| id_of(b, Links::Follow).is_ok_and(|b| a == b))
}

/// Whether there is a file with something like a commit record.
fn is_database(path: &Path) -> bool {
    read_head(path, PROBE_LEN)
        .is_ok_and(|(head, _)| !matches!(find_page_size(&head), Err(RecordFault::NotARecord)))
}

/// The path of a database's lock file: `chosen`, or else next to the file itself, following links.
pub(crate) fn lock_path(path: &Path, chosen: Option<&Path>) -> io::Result<PathBuf> {
    if let Some(chosen) = chosen {
        return in_resolved_directory(chosen);
    }
    let path = resolved(path)?;
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    Ok(path.with_file_name(lock_name(name)))
}

/// The path of the log of a database's memtable, next to the file itself; `None` if there is no
/// room in its name.
pub(crate) fn log_path(path: &Path) -> Option<PathBuf> {
    let path = resolved(path).ok()?;
    let mut name = path.file_name()?.to_os_string();
    name.push(LOG_SUFFIX);
    (name.len() <= NAME_MAX).then(|| path.with_file_name(name))
}

/// The most bytes in a file name.
pub(crate) const NAME_MAX: usize = 255;

pub(crate) const LOCK_SUFFIX: &str = "-lock";
const LOG_SUFFIX: &str = "-wal";

/// The name of a database followed by `-lock`. If that is too long, the beginning of the name and a
/// checksum of it, which every process computes alike.
pub(crate) fn lock_name(name: &OsStr) -> OsString {
    let mut lock = name.to_os_string();
    if name.len() + LOCK_SUFFIX.len() > NAME_MAX {
        let number = Checksum::of(name.as_encoded_bytes()).0;
        let text = name.to_string_lossy();
        let mut kept = NAME_MAX - LOCK_SUFFIX.len() - 17 - 8;
        while !text.is_char_boundary(kept) {
            kept -= 1;
        }
        lock = match name.to_str() {
            Some(name) => OsString::from(&name[..kept]),
            None => OsString::new(),
        };
        lock.push(format!("~{number:016x}"));
    }
    lock.push(LOCK_SUFFIX);
    assert!(
        lock.len() <= NAME_MAX,
        "the file system accepts the name of the lock file, however long that of the database is"
    );
    lock
}

/// A path whose directory has no links. The last component is not resolved.
pub(crate) fn in_resolved_directory(path: &Path) -> io::Result<PathBuf> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    Ok(parent.join(name))
}

/// A path without links, of a file that need not exist.
pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => in_resolved_directory(path),
        found => found,
    }
}
