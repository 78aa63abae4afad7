//! Calls that only newer versions of Android have. They are looked up by name: making an unknown
//! call ends the process there.

use crate::io::sys::unix::weak;
use rustix::io::Errno;
use std::{
    ffi::c_void,
    fs::File,
    io::{self, IoSlice},
    mem,
    os::fd::AsRawFd,
};

/// A second effect of a write.
#[derive(Clone, Copy, Debug)]
pub(super) enum WriteFlag {
    /// It waits until the bytes are on the disk: `RWF_DSYNC`.
    Durable = 2,
    /// It goes to the end of the file: `RWF_APPEND`.
    Append = 16,
}

/// Descriptor, parts and their number, offset, flags.
type WriteCall = unsafe extern "C" fn(i32, *const libc::iovec, i32, i64, i32) -> isize;
/// Descriptor, offset, length, flags.
type WriteBackCall = unsafe extern "C" fn(i32, i64, i64, u32) -> i32;

pub(super) fn write_with(
    flag: WriteFlag,
    file: &File,
    parts: &[IoSlice<'_>],
    offset: u64,
) -> Result<usize, Errno> {
    let call = weak(c"pwritev64v2").ok_or(Errno::NOSYS)?;
    let count = i32::try_from(parts.len()).map_err(|_| Errno::INVAL)?;
    let offset = i64::try_from(offset).map_err(|_| Errno::INVAL)?;
    // SAFETY: the function of this name has this type. A part has the layout of `iovec`.
    let written = unsafe {
        let call = mem::transmute::<*mut c_void, WriteCall>(call);
        call(
            file.as_raw_fd(),
            parts.as_ptr().cast(),
            count,
            offset,
            flag as i32,
        )
    };
    let failed = || Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO);
    usize::try_from(written).map_err(|_| failed())
}

/// Asks the system to begin writing what was written.
pub(crate) fn begin_write_back(file: &File) {
    /// `SYNC_FILE_RANGE_WRITE`.
    const WRITE: u32 = 2;
    let Some(call) = weak(c"sync_file_range") else {
        return;
    };
    // SAFETY: the function of this name has this type. Nothing is promised, and since it does not
    // wait, disk errors are left for the flush.
    let _ = unsafe {
        let call = mem::transmute::<*mut c_void, WriteBackCall>(call);
        call(file.as_raw_fd(), 0, 0, WRITE)
    };
}
