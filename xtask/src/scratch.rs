//! Where tasks put the databases they make.

use std::{io, path::Path};
use tempfile::TempDir;

/// A file system in memory, where there is one: what tasks test here is not the disk.
const MEMORY: &str = "/dev/shm";

/// A directory that goes away with its value: in `chosen`, or in memory, or where temporary files go.
pub(crate) fn directory(chosen: Option<&Path>) -> io::Result<TempDir> {
    let memory = Path::new(MEMORY);
    match chosen {
        Some(chosen) => tempfile::tempdir_in(chosen),
        None if memory.is_dir() => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
        None => tempfile::tempdir(),
    }
}

/// The root of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}
