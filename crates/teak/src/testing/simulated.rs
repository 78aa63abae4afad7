//! Databases on a simulated disk: opened, killed and salvaged.

use super::SimDisk;
use crate::{
    Database, Durability, Error, Options, Result, SalvageReport, admin::salvage::DamagedFile,
    api::salvage_into, io::handle_faults, open::codecs, page::comparison::Comparisons,
};
use std::{ops::ControlFlow, path::Path, sync::Arc};

/// Opens the database on a simulated disk. `is_new` says that there is none yet.
///
/// # Errors
///
/// Errors of recovery, such as [`Error::Corrupted`], and of the simulated disk ([`Error::Io`]).
pub fn open(disk: &SimDisk, options: &Options, is_new: bool, boot: [u8; 16]) -> Result<Database> {
    options.open_storage(Arc::new(disk.clone()), is_new, boot)
}

/// Opens the database on a simulated disk as a process of its own would, beside others that this
/// process plays: each has a handle of the disk for [another process](SimDisk::for_another), and
/// all have the lock file `lock_file`. `is_new` says that there is no database yet.
///
/// # Errors
///
/// Errors of recovery, such as [`Error::Corrupted`]; [`Error::InUse`]; [`Error::Io`] of the
/// simulated disk or the lock file.
pub fn open_apart(
    disk: &SimDisk,
    lock_file: &Path,
    options: &Options,
    is_new: bool,
    boot: [u8; 16],
) -> Result<Database> {
    // The lock file is a real one.
    handle_faults().map_err(Error::io("installing a handler for SIGBUS"))?;
    options.open_apart(Arc::new(disk.clone()), lock_file, is_new, boot)
}

/// Kills the process that was [played](open_apart) with `database` and this handle of the disk: what it does from now on others do not see.
/// Nothing of it is to be at work but what calls this.
///
/// # Panics
///
/// If no other process can have the database open, or the system has no memory.
pub fn kill(database: &Database, disk: &SimDisk) {
    let _ = disk.kill();
    die(database);
}

/// Like [`kill`], but in the call to the disk after the next `calls`.
///
/// # Panics
///
/// As [`kill`], in that call.
pub fn kill_after(database: &Database, disk: &SimDisk, calls: u64) {
    let database = database.clone();
    disk.kill_after(calls, move || die(&database));
}

fn die(database: &Database) {
    let has_died = database.die().expect("memory of its own");
    assert!(
        has_died,
        "the process was to have the database open beside others"
    );
}

/// Salvages what is on a simulated disk into a new database on another one.
///
/// # Errors
///
/// [`Error::NotADatabase`] if no commit record can be read; [`Error::Corrupted`] if none leads to
/// tables; [`Error::Io`] of the target disk.
pub fn salvage(disk: &SimDisk, target: &SimDisk) -> Result<SalvageReport> {
    salvage_with(disk, &Options::new(), target)
}

/// Like [`salvage`], from a database that may be encrypted with the key of these options. The new
/// database is not encrypted.
///
/// # Errors
///
/// As [`salvage`], and [`Error::WrongKey`] and [`Error::NotEncrypted`].
pub fn salvage_with(disk: &SimDisk, source: &Options, target: &SimDisk) -> Result<SalvageReport> {
    let (storage, path) = (Arc::new(disk.clone()), Path::new("simulated"));
    let storage = codecs::decoded(storage, path, source.codecs())?;
    let damaged_file = DamagedFile::of_storage(&storage, path, Comparisons::default())?;
    let options = Options::new().page_size(damaged_file.page_size());
    let database = open(target, &options.durability(Durability::Lazy), true, [1; 16])?;
    salvage_into(damaged_file, database, &mut |_| ControlFlow::Continue(()))
}
