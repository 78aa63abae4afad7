//! Violations: how they are printed, and where their files are saved.

use super::database::copy_with_log;
use crate::{Result, built};
use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
};

/// Violations that a campaign prints. Later ones are only counted.
pub(crate) const PRINTED_MAX: u64 = 10;

/// Prints a violation and the command that repeats it.
pub(crate) fn print(violation: impl Display, command: impl Display) {
    println!("violation: {violation}\n  repeat it with: cargo xtask {command}");
}

/// Saves a copy of a database and its log after a crash, if there is one, and prints its path.
pub(crate) fn save_database(file: &Path, name: &str) -> Result {
    if file.exists() {
        let saved = directory()?.join(name);
        copy_with_log(file, &saved)?;
        println!("  the database after the crash: {}", saved.display());
    }
    Ok(())
}

/// Saves copies of the files in a directory. Returns the path of the new directory.
pub(crate) fn save_all(from: &Path, name: &str) -> Result<PathBuf> {
    let saved = directory()?.join(name);
    fs::create_dir_all(&saved)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), saved.join(entry.file_name()))?;
        }
    }
    Ok(saved)
}

fn directory() -> Result<PathBuf> {
    let directory = built::workspace().join("target/violations");
    fs::create_dir_all(&directory)?;
    Ok(directory)
}
