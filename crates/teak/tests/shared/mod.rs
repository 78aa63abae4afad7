//! Helpers for the tests of several files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use teak::{Database, testing::Abilities};
use tempfile::TempDir;

/// A temporary directory, and the path of a database in it.
pub(crate) fn temporary_path() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    (directory, path)
}

/// Whether a file can become shorter while a database is open in it.
pub(crate) fn truncates_mapped() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let abilities = Abilities::of(&std::env::temp_dir());
        abilities.expect("a temporary file").truncates_mapped
    })
}

/// The length of the file of an open database. Where it can become shorter only when the database
/// is opened again, the length that it will have then.
pub(crate) fn used_len(database: &Database, path: &Path) -> u64 {
    match truncates_mapped() {
        true => fs::metadata(path).unwrap().len(),
        false => database.stat().unwrap().page_count * database.info().page_size as u64,
    }
}

/// The length of the file of a closed database. Where closing cannot make it shorter, the length
/// that it has when the database was opened again.
pub(crate) fn closed_len(path: &Path) -> u64 {
    if !truncates_mapped() {
        drop(Database::open(path).unwrap());
    }
    fs::metadata(path).unwrap().len()
}

/// Reads and writes at an offset, with the names that Unix has for them.
#[cfg(unix)]
pub(crate) use std::os::unix::fs::FileExt;
