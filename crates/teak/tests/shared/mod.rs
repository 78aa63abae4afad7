//! Helpers for the tests of several files.

use std::path::PathBuf;
use tempfile::TempDir;

/// A temporary directory, and the path of a database in it.
pub(crate) fn temporary_path() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    (directory, path)
}

/// Reads and writes at an offset, with the names that Unix has for them.
#[cfg(unix)]
pub(crate) use std::os::unix::fs::FileExt;

#[cfg(windows)]
pub(crate) trait FileExt {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> std::io::Result<()>;
}

#[cfg(windows)]
impl FileExt for std::fs::File {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        let written = std::os::windows::fs::FileExt::seek_write(self, bytes, offset)?;
        assert_eq!(written, bytes.len(), "a file gets all bytes at once");
        Ok(())
    }
}
