//! Directories for the databases of campaigns.

use std::{
    io,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A file system in memory, on machines that have one. These campaigns do not test the disk.
const MEMORY: &str = "/dev/shm";

// The argument of campaigns that make files. A doc comment would replace the help of the task.
#[derive(clap::Args)]
pub(crate) struct ScratchArguments {
    /// The directory for databases and images of file systems; by default in memory if the machine
    /// has a file system there
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
}

impl ScratchArguments {
    pub(crate) fn directory(&self) -> io::Result<TempDir> {
        directory(self.dir.as_deref())
    }
}

/// A directory that is removed on drop: in `chosen`, else in memory, else in the system's directory
/// for temporary files.
pub(crate) fn directory(chosen: Option<&Path>) -> io::Result<TempDir> {
    let memory = Path::new(MEMORY);
    match chosen {
        Some(chosen) => tempfile::tempdir_in(chosen),
        None if memory.is_dir() => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
        None => tempfile::tempdir(),
    }
}
