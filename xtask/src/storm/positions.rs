//! Reads and writes at an offset of a file, and appending, on each system that has workers.

use std::{fs::File, io, path::Path};
#[cfg(windows)]
use std::{fs::TryLockError, path::PathBuf, thread, time::Duration};

/// The pause between two attempts at the lock.
#[cfg(windows)]
const PAUSE: Duration = Duration::from_micros(200);

/// Reads bytes at an offset. Returns their number.
#[cfg(unix)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

/// Reads bytes at an offset. Returns their number.
#[cfg(windows)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

/// Writes all bytes at an offset, by one call.
#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes all bytes at an offset, by one call.
#[cfg(windows)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    match std::os::windows::fs::FileExt::seek_write(file, bytes, offset)? {
        len if len == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Lets one process at a time append to a file, where the system does not.
#[cfg(unix)]
pub(super) use NoLock as AppendLock;
#[cfg(windows)]
pub(super) use SeparateLock as AppendLock;

/// The system appends by one step.
#[cfg(unix)]
pub(super) struct NoLock;

#[cfg(unix)]
impl NoLock {
    pub(super) fn new(_file: &Path) -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn during<R>(&self, append: impl FnOnce() -> R) -> io::Result<R> {
        Ok(append())
    }
}

/// Wine finds the end of the file and writes there, which are two steps.
#[cfg(windows)]
pub(super) struct SeparateLock(PathBuf);

#[cfg(windows)]
impl SeparateLock {
    /// A lock file beside the file, because others may not read a file that is locked.
    pub(super) fn new(file: &Path) -> io::Result<Self> {
        Ok(Self(file.with_extension("lock")))
    }

    pub(super) fn during<R>(&self, append: impl FnOnce() -> R) -> io::Result<R> {
        // Wine can neither wait for a lock nor unlock a whole file. Closing the file unlocks it.
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&self.0)?;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(append()),
                Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}
