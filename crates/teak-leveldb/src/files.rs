//! The files of a directory.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The file of the records.
pub(crate) const DATA: &str = "data.teak";
/// A repaired file that has not its name yet.
pub(crate) const SAVED: &str = "data.teak.saved";
/// The file from which a repaired one was made.
pub(crate) const DAMAGED: &str = "data.teak.damaged";

/// The files of the Teak database in a directory.
pub(crate) fn data_files(directory: &Path) -> [PathBuf; 4] {
    [DATA, "data.teak-lock", SAVED, DAMAGED].map(|name| directory.join(name))
}

/// Removes the files of LevelDB that a converted directory no longer needs. Returns whether all are
/// gone. It does no harm if one stays.
pub(crate) fn remove_leveldb_files(directory: &Path) -> bool {
    // The log of the library, which is open, has the name of LevelDB's.
    let is_log = |path: &PathBuf| path.file_name().is_some_and(|name| name == "LOG");
    let unneeded = leveldb_files(directory).into_iter();
    let failures = unneeded
        .filter(|path| !is_log(path))
        .filter(|path| fs::remove_file(path).is_err());
    failures.count() == 0
}

/// The files that have names of LevelDB, except `CURRENT` and `LOCK`.
pub(crate) fn leveldb_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_leveldb = |name: &str| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        let numbered = name.split_once('.').is_some_and(|(number, suffix)| {
            is_number(number) && matches!(suffix, "log" | "ldb" | "sst" | "dbtmp")
        });
        let manifest = name.strip_prefix("MANIFEST-").is_some_and(is_number);
        numbered || manifest || matches!(name, "LOG" | "LOG.old" | "CURRENT.dbtmp")
    };
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_leveldb))
        .map(|entry| entry.path())
        .collect()
}
