//! Helpers for the tests of several files.

use std::path::PathBuf;
use tempfile::TempDir;

/// A temporary directory, and the path of a database in it.
pub(crate) fn temporary_path() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    (directory, path)
}
