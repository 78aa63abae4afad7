//! Calls that the C libraries of Linux have.

use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use std::{fs::File, io::IoSlice, os::fd::AsRawFd};

/// A second effect of a write.
#[derive(Clone, Copy, Debug)]
pub(super) enum WriteFlag {
    /// It waits until the bytes are on the disk.
    Durable,
    /// It goes to the end of the file.
    Append,
}

pub(super) fn write_with(
    flag: WriteFlag,
    file: &File,
    parts: &[IoSlice<'_>],
    offset: u64,
) -> Result<usize, Errno> {
    let flag = match flag {
        WriteFlag::Durable => ReadWriteFlags::DSYNC,
        WriteFlag::Append => ReadWriteFlags::APPEND,
    };
    pwritev2(file, parts, offset, flag)
}

/// Asks the system to begin writing what was written.
pub(crate) fn begin_write_back(file: &File) {
    let flags = libc::SYNC_FILE_RANGE_WRITE;
    // SAFETY: the call receives only an open file and numbers. Its result is ignored: nothing is
    // promised, and since it does not wait, disk errors are left for the flush.
    let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
}
