//! What tests of several files need.

use std::path::PathBuf;
use tempfile::TempDir;

/// A directory that goes away, and the path of a database in it.
pub(crate) fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    (directory, path)
}
