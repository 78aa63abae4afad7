//! A worker handles the files of the database like other people's programs: backup tools, virus
//! scanners and administrators open, read, copy, link and rename them while they are in use. This
//! may not affect any process.

use super::arguments::{DATABASE, WorkerArguments};
use crate::Result;
use fastrand::Rng;
use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};
use teak::Error;

/// The temporary name of the database while it is renamed.
const MOVED: &str = "storm.teak-moved";
/// A younger database is not renamed: a worker that found none may still be about to create one.
const AGE_MIN: Duration = Duration::from_millis(800);
/// After this time, another worker renames the database back, because the renaming worker was
/// killed.
const AWAY_MAX: Duration = Duration::from_millis(5);

/// Does one of these actions.
pub(super) fn meddle(directory: &Path, writer: u64, rng: &mut Rng) -> Result {
    let database = directory.join(DATABASE);
    let lock_file = directory.join(format!("{DATABASE}-lock"));
    let file = if rng.bool() { &database } else { &lock_file };
    let other = directory.join(format!("meddled-{writer}"));
    let done = match rng.u8(0..6) {
        0 => open_and_close(file),
        1 => hash(file).map(drop),
        2 => fs::copy(file, &other).map(drop),
        3 => fs::hard_link(file, &other).and_then(|()| rename_link(&other)),
        4 => lock_and_unlock(file),
        _ => rename(&database),
    };
    let _ = fs::remove_file(&other);
    match done {
        // No process has the database open, or it is renamed at the moment.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => Ok(done?),
    }
}

/// Opens the database, which may have another name for a moment.
pub(super) fn open<T>(
    arguments: &WorkerArguments,
    mut open: impl FnMut() -> teak::Result<T>,
) -> teak::Result<T> {
    loop {
        match open() {
            Err(Error::NotFound(_)) if arguments.meddle && put_back(&arguments.directory) => {}
            opened => return opened,
        }
    }
}

/// Renames a database back whose worker was killed while it had another name. Returns whether it
/// exists then.
fn put_back(directory: &Path) -> bool {
    thread::sleep(AWAY_MAX);
    let (moved, path) = (directory.join(MOVED), directory.join(DATABASE));
    // It fails if another worker was faster.
    let _ = rename_to_nothing(&moved, &path);
    path.exists()
}

fn open_and_close(file: &Path) -> io::Result<()> {
    drop(File::open(file)?);
    File::options().read(true).write(true).open(file).map(drop)
}

fn hash(file: &Path) -> io::Result<u64> {
    let mut file = File::open(file)?;
    let (mut hash, mut bytes) = (0_u64, vec![0; 1 << 16]);
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(hash),
            len => {
                for byte in &bytes[..len] {
                    hash = hash.rotate_left(5) ^ u64::from(*byte);
                }
            }
        }
    }
}

/// Adds a link to the file, renames and removes it.
fn rename_link(link: &Path) -> io::Result<()> {
    let mut renamed = PathBuf::from(link);
    renamed.set_extension("renamed");
    fs::rename(link, &renamed)?;
    fs::remove_file(&renamed)
}

/// Only Unix has locks of a process.
#[cfg(not(unix))]
fn lock_and_unlock(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Takes and drops the locks of a process, like programs that lock the files they copy.
#[cfg(unix)]
fn lock_and_unlock(path: &Path) -> io::Result<()> {
    use rustix::fs::{FlockOperation, fcntl_lock};
    let file = File::options().read(true).write(true).open(path)?;
    match fcntl_lock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(fcntl_lock(&file, FlockOperation::Unlock)?),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Renames the database for a moment.
fn rename(database: &Path) -> io::Result<()> {
    let created = fs::metadata(database)?.created()?;
    let age = SystemTime::now().duration_since(created);
    if age.is_ok_and(|age| age < AGE_MIN) {
        return Ok(());
    }
    let moved = database.with_file_name(MOVED);
    rename_to_nothing(database, &moved)?;
    match rename_to_nothing(&moved, database) {
        // Another worker has already renamed it back.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Elsewhere a file that is open is not renamed.
#[cfg(not(unix))]
fn rename_to_nothing(_from: &Path, _to: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn rename_to_nothing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}
