//! Directories for temporary files.

use std::{io, path::PathBuf};
use tempfile::TempDir;

/// A directory in memory, if there is such a file system.
pub(crate) fn directory() -> io::Result<TempDir> {
    let memory = PathBuf::from("/dev/shm");
    match memory.is_dir() {
        true => TempDir::new_in(memory),
        false => TempDir::new(),
    }
}
