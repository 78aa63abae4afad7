//! Open files: what FreeBSD can do with them.

use crate::io::sys::{
    types::{Access, Allocate},
    unix::{self, Mapped, Signal, catch_signals, weak},
};
use rustix::fs::{Advice, Mode, OFlags, fadvise, openat};
use std::{
    ffi::{CStr, OsStr, c_void},
    fs::File,
    io::{self, IoSlice},
    mem,
    num::NonZeroU64,
    ops::Range,
    os::{fd::AsRawFd, unix::ffi::OsStrExt},
    path::PathBuf,
    ptr,
    sync::OnceLock,
};

/// The present path of a file, if the system has it in its cache of names.
pub(crate) fn path_of(file: &File) -> Option<PathBuf> {
    // SAFETY: a plain structure for which zeros are valid.
    let mut found: libc::kinfo_file = unsafe { mem::zeroed() };
    found.kf_structsize = size_of::<libc::kinfo_file>() as i32;
    // SAFETY: the descriptor is open, and the structure is valid for writing.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_KINFO, &raw mut found) } != 0 {
        return None;
    }
    // SAFETY: the system ends the path with a zero byte.
    let path = unsafe { CStr::from_ptr(found.kf_path.as_ptr()) }.to_bytes();
    (!path.is_empty()).then(|| OsStr::from_bytes(path).into())
}

/// The file through another open file description; `None` on older systems.
pub(crate) fn reopen(file: &File, access: Access) -> Option<File> {
    reopen_with(file, access, 0)
}

fn reopen_with(file: &File, access: Access, flags: i32) -> Option<File> {
    let access = match access {
        Access::ReadOnly => OFlags::RDONLY,
        Access::ReadWrite => OFlags::RDWR,
    };
    let flags = OFlags::from_bits_retain((libc::O_EMPTY_PATH | flags) as u32);
    let flags = access | flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(file, "", flags, Mode::empty()).ok().map(File::from)
}

/// Writes parts one after the other, or the first bytes of them, through a descriptor of their own,
/// and waits for the disk. `None` if the system does not support it: nothing is written then.
pub(crate) fn write_durably(
    file: &File,
    own: &OnceLock<Option<File>>,
    parts: &[IoSlice<'_>],
    offset: u64,
) -> io::Result<Option<usize>> {
    let id = |file| unix::attributes(file).map(|found| found.map(|found| found.id));
    match own.get_or_init(|| reopen_with(file, Access::ReadWrite, libc::O_DSYNC)) {
        // Other code may have closed the descriptor, and opened another file with its number.
        Some(own) if id(own)? == id(file)? => Ok(Some(rustix::io::pwritev(own, parts, offset)?)),
        _ => Ok(None),
    }
}

/// Allocates blocks for bytes after the end of the file, and makes it longer; `false` if the file
/// system cannot do that, as ZFS. For bytes before the end the system would read the blocks and
/// write them again, and undo what other processes store there meanwhile through mappings.
pub(crate) fn allocate(file: &File, range: Range<u64>, allocation: Allocate) -> io::Result<bool> {
    if allocation != Allocate::Grow {
        return Ok(false);
    }
    let start = range.start.max(file.metadata()?.len());
    if start >= range.end {
        return Ok(false);
    }
    let (start, len) = (start as i64, (range.end - start) as i64);
    loop {
        // SAFETY: the call receives only an open file and numbers.
        return match unsafe { libc::posix_fallocate(file.as_raw_fd(), start, len) } {
            0 => Ok(true),
            libc::EINTR => continue,
            libc::EINVAL | libc::EOPNOTSUPP | libc::ENODEV => Ok(false),
            code => Err(io::Error::from_raw_os_error(code)),
        };
    }
}

/// Descriptor, command, range, flags, and what remains.
type Deallocate = unsafe extern "C" fn(
    i32,
    i32,
    *const libc::spacectl_range,
    i32,
    *mut libc::spacectl_range,
) -> i32;

/// Gives the blocks of bytes back; `false` if the file system or the system (before FreeBSD 14)
/// cannot do that.
pub(crate) fn punch(file: &File, range: Range<u64>) -> io::Result<bool> {
    /// Whether the file system really deallocates, as in `unistd.h`. Otherwise the call writes
    /// zeros.
    const PC_DEALLOC_PRESENT: i32 = 65;
    // SAFETY: the call receives only an open file and a number.
    let is_present = unsafe { libc::fpathconf(file.as_raw_fd(), PC_DEALLOC_PRESENT) } == 1;
    let Some(call) = weak(c"fspacectl").filter(|_| is_present) else {
        return Ok(false);
    };
    // SAFETY: the function of this name has this type.
    let call = unsafe { mem::transmute::<*mut c_void, Deallocate>(call) };
    let mut rest = libc::spacectl_range {
        r_offset: range.start as i64,
        r_len: (range.end - range.start) as i64,
    };
    while rest.r_len > 0 {
        let command = libc::SPACECTL_DEALLOC;
        // SAFETY: the structure is valid for reading and writing, and may be the same for both.
        if unsafe { call(file.as_raw_fd(), command, &raw const rest, 0, &raw mut rest) } == 0 {
            continue;
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENODEV | libc::ENOSYS) => {
                return Ok(false);
            }
            _ => return Err(error),
        }
    }
    Ok(true)
}

/// The attribute of a lock file, among those of users.
const MARK: &CStr = c"teak.lock";

/// Marks a lock file, if the file system has attributes.
pub(crate) fn set_mark(file: &File) {
    let space = libc::EXTATTR_NAMESPACE_USER;
    // SAFETY: the name ends with a zero byte, and there is no value.
    let _ = unsafe { libc::extattr_set_fd(file.as_raw_fd(), space, MARK.as_ptr(), ptr::null(), 0) };
}

pub(crate) fn has_mark(file: &File) -> bool {
    let (space, none) = (libc::EXTATTR_NAMESPACE_USER, ptr::null_mut());
    // SAFETY: the name ends with a zero byte. Without a buffer, only the length is returned.
    unsafe { libc::extattr_get_fd(file.as_raw_fd(), space, MARK.as_ptr(), none, 0) >= 0 }
}

/// Asks the system to begin reading bytes of a file. A hint.
pub(crate) fn read_soon(file: &File, offset: u64, len: u64) {
    if let Some(len) = NonZeroU64::new(len) {
        let _ = fadvise(file, offset, Some(len), Advice::WillNeed);
    }
}

/// Advises the system that the file is not needed in memory for now.
pub(crate) fn drop_cache(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

/// Keeps reserved bytes out of core dumps, and has child processes see zeros there. Hints: errors
/// are ignored.
pub(crate) fn hide(mapped: &Mapped, range: Range<usize>) {
    let address = mapped.address(&range);
    // SAFETY: inside of what is mapped. This changes no content in this process, and a child does
    // not read there.
    unsafe {
        let _ = libc::madvise(address.cast(), range.len(), libc::MADV_NOCORE);
        let _ = libc::minherit(address.cast(), range.len(), libc::INHERIT_ZERO);
    }
}

/// Gives the memory of reserved bytes back: they are zeros afterwards. `false` if that fails.
///
/// # Safety
///
/// Nobody accesses the bytes meanwhile. They are whole system pages.
pub(crate) unsafe fn discard(mapped: &Mapped, range: Range<usize>) -> bool {
    // SAFETY: the caller's promise.
    let is_done = unsafe { unix::discard(mapped, range.clone()) };
    // The mapping there may be new.
    hide(mapped, range);
    is_done
}

/// Calls `absorb` when an access to a mapped file fails. If it returns `true`, the access is
/// repeated. Which signal that is depends on `machdep.prot_fault_translation`
/// only for other faults.
pub(crate) fn catch_faults(absorb: fn(usize) -> bool) -> io::Result<()> {
    const SIGNALS: &[Signal] = &[Signal {
        number: libc::SIGBUS,
        codes: &[libc::BUS_ADRERR, libc::BUS_OBJERR],
    }];
    catch_signals(SIGNALS, absorb)
}
