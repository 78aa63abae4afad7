//! Directories for the databases of campaigns.

use std::{io, path::Path};
use tempfile::TempDir;

/// A file system in memory, on machines that have one. The disk is not under test.
const MEMORY: &str = "/dev/shm";

/// A directory that is removed on drop: in `chosen`, or in memory, or where temporary files go.
pub(crate) fn directory(chosen: Option<&Path>) -> io::Result<TempDir> {
    let memory = Path::new(MEMORY);
    match chosen {
        Some(chosen) => tempfile::tempdir_in(chosen),
        None if memory.is_dir() => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
        None => tempfile::tempdir(),
    }
}
