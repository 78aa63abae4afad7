//! The answers of a system that cannot do something with files, or has no rule for threads.

use super::types::{Allocate, Failure, FileSystem};
use std::{
    fs::File,
    io::{self, IoSlice},
    ops::Range,
    path::Path,
    sync::OnceLock,
    thread::JoinHandle,
};

/// Remedies that name tools or settings of the system, instead of those that fit any system.
pub(crate) const REMEDIES: &[(Failure, &str)] = &[];

pub(crate) fn append(
    _file: &File,
    _parts: &[IoSlice<'_>],
    _offset: u64,
) -> io::Result<Option<usize>> {
    Ok(None)
}

pub(crate) fn begin_write_back(_file: &File) {}

pub(crate) fn open_direct(_file: &File) -> Option<File> {
    None
}

pub(crate) fn file_system(_file: &File) -> io::Result<FileSystem> {
    Ok(FileSystem::UNKNOWN)
}

pub(crate) fn write_durably(
    _file: &File,
    _own: &OnceLock<Option<File>>,
    _parts: &[IoSlice<'_>],
    _offset: u64,
) -> io::Result<Option<usize>> {
    Ok(None)
}

/// Everything counts as written. So it must be on systems that report bytes as a hole which were
/// stored through a mapping and are not on the disk yet.
pub(crate) fn next_data(_file: &File, offset: u64) -> io::Result<Option<u64>> {
    Ok(Some(offset))
}

pub(crate) fn next_hole(_file: &File, _offset: u64) -> io::Result<Option<u64>> {
    Ok(None)
}

pub(crate) fn allocate(
    _file: &File,
    _range: Range<u64>,
    _allocation: Allocate,
) -> io::Result<bool> {
    Ok(false)
}

pub(crate) fn punch(_file: &File, _range: Range<u64>) -> io::Result<bool> {
    Ok(false)
}

#[cfg(not(unix))]
pub(crate) fn free_bytes(_existing: &Path) -> Option<u64> {
    None
}

pub(crate) fn is_on_network(_existing: &Path) -> bool {
    false
}

pub(crate) fn set_mark(_file: &File) {}

pub(crate) fn has_mark(_file: &File) -> bool {
    false
}

pub(crate) fn read_soon(_file: &File, _offset: u64, _len: u64) {}

pub(crate) fn drop_cache(_file: &File) {}

/// Whether a file can become shorter while it is mapped. If not, it does so when the database is
/// opened the next time.
pub(crate) const TRUNCATES_MAPPED: bool = true;

/// Whether a thread can begin and end while another one runs destructors of thread-local data.
pub(crate) const ARE_THREADS_FREE: bool = true;

/// Waits for the end of a thread, which does not panic.
pub(crate) fn join(thread: JoinHandle<()>) {
    let _ = thread.join();
}
