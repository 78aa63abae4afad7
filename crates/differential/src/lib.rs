//! Parts that the comparisons with LMDB and with LevelDB share.

#![deny(unsafe_code)]

pub mod abbreviate;
pub mod shrink;

use anyhow::{Context, Result};
use std::path::Path;
use tempfile::TempDir;

/// A file system in memory, if there is one, because the disk is not under test.
const MEMORY: &str = "/dev/shm";

/// A directory for databases, which is removed on drop.
///
/// # Errors
///
/// If it cannot be created.
pub fn scratch() -> Result<TempDir> {
    let memory = Path::new(MEMORY);
    let directory = match memory.is_dir() {
        true => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
        false => tempfile::tempdir(),
    };
    directory.context("the directory of the databases cannot be created")
}
