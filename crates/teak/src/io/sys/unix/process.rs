//! The process and its machine, by calls that each Unix has.

use super::{directory::NAMES_ONLY, files::attributes};
use crate::io::sys::types::{Failure, FileId, Limit};
use std::{
    ffi::{CStr, c_void},
    fs::File,
    io,
    mem::ManuallyDrop,
    os::fd::{AsRawFd, FromRawFd},
    ptr::NonNull,
};

/// The error codes of the system. The first of a failure is the one to report it by.
pub(crate) const FAILURES: &[(Failure, i32)] = &[
    (Failure::NotFound, libc::ENOENT),
    (Failure::Denied, libc::EACCES),
    (Failure::NotAllowed, libc::EPERM),
    (Failure::ReadOnly, libc::EROFS),
    (Failure::DiskFull, libc::ENOSPC),
    (Failure::Quota, libc::EDQUOT),
    (Failure::FileTooLong, libc::EFBIG),
    (Failure::NoMemory, libc::ENOMEM),
    (Failure::ProcessFiles, libc::EMFILE),
    (Failure::SystemFiles, libc::ENFILE),
    (Failure::NameTooLong, libc::ENAMETOOLONG),
    (Failure::LinkLoop, libc::ELOOP),
    (Failure::Exists, libc::EEXIST),
    (Failure::NotDirectory, libc::ENOTDIR),
    (Failure::IsDirectory, libc::EISDIR),
    (Failure::DiskFailed, libc::EIO),
    (Failure::NoLocks, libc::ENOLCK),
    (Failure::TryAgain, libc::EAGAIN),
];

/// Remedies that name tools and settings of the system. The first of a failure counts.
pub(crate) const REMEDIES: &[(Failure, &str)] = &[
    #[cfg(any(target_os = "linux", target_os = "android"))]
    (
        Failure::NotAllowed,
        "the system does not allow this user to do it; check the owner and the attributes (`lsattr`) of the file",
    ),
    #[cfg(any(target_os = "linux", target_os = "android"))]
    (
        Failure::NoMemory,
        "there is not enough memory or address space; end other programs, or raise the limits (`ulimit -v`, `ulimit -l`, `vm.max_map_count`)",
    ),
    #[cfg(any(target_os = "linux", target_os = "android"))]
    (
        Failure::SystemFiles,
        "too many files are open in the system; close some, or raise the limit (`fs.file-max`)",
    ),
    (
        Failure::FileTooLong,
        "the file would be longer than the process or the file system allows; raise the limit (`ulimit -f`), or use another file system",
    ),
    (
        Failure::NoMemory,
        "there is not enough memory or address space; end other programs, or raise the limits (`ulimit -v`, `ulimit -l`)",
    ),
    (
        Failure::ProcessFiles,
        "this process has too many files open; close some, or raise the limit (`ulimit -n`)",
    ),
    (
        Failure::DiskFailed,
        "the disk has failed; check the system log (`dmesg`), then run `teak check`",
    ),
];

/// Size in bytes of a page that the system maps.
pub(crate) fn system_page_len() -> usize {
    rustix::param::page_size()
}

/// Bytes of memory of the machine, if known.
pub(crate) fn memory_bytes() -> Option<u64> {
    // SAFETY: the call has no requirements.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    let pages = u64::try_from(pages).ok().filter(|pages| *pages > 0)?;
    Some(pages * system_page_len() as u64)
}

/// A limit of this process; `None` if there is none.
pub(crate) fn limit(limit: Limit) -> Option<u64> {
    let resource = match limit {
        Limit::FileLen => libc::RLIMIT_FSIZE,
        Limit::AddressSpace => libc::RLIMIT_AS,
        Limit::OpenFiles => libc::RLIMIT_NOFILE,
        Limit::Threads => libc::RLIMIT_NPROC,
        Limit::LockedMemory => libc::RLIMIT_MEMLOCK,
    };
    let mut found = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is valid for writing.
    let is_known = unsafe { libc::getrlimit(resource, &raw mut found) } == 0;
    let is_limited = is_known && found.rlim_cur != libc::RLIM_INFINITY;
    #[allow(clippy::unnecessary_cast)] // The type is signed on some systems.
    is_limited.then_some(found.rlim_cur as u64)
}

/// Fills the bytes with random ones.
pub(crate) fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    /// The most that one call gives.
    const AT_ONCE: usize = 256;
    for part in bytes.chunks_mut(AT_ONCE) {
        debug_assert!(!part.is_empty(), "each call fills bytes");
        let (at, len) = (part.as_mut_ptr().cast(), part.len());
        // For musl the crate `libc` declares only this one. It gives all of so few bytes.
        #[cfg(target_os = "linux")]
        // SAFETY: the part is valid for writing.
        let is_filled = unsafe { libc::getrandom(at, len, 0) } == len as isize;
        // Only macOS lets any program call `getentropy`. This call cannot fail.
        #[cfg(target_vendor = "apple")]
        let is_filled = {
            // SAFETY: the part is valid for writing.
            unsafe { libc::arc4random_buf(at, len) };
            true
        };
        #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
        // SAFETY: the part is valid for writing.
        let is_filled = unsafe { libc::getentropy(at, len) } == 0;
        if !is_filled {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Milliseconds of a clock that all processes share.
#[inline]
pub(in crate::io::sys) fn clock_ms(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is valid for writing.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    debug_assert!(
        now.tv_sec >= 0 && now.tv_nsec < 1_000_000_000,
        "the system has all clocks that are asked for"
    );
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Milliseconds of the monotonic clock.
pub(crate) fn uptime_ms() -> u64 {
    clock_ms(libc::CLOCK_MONOTONIC)
}

/// The bytes of a UUID in its usual form.
pub(crate) fn uuid_of(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| *c != '-')
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let digits: [u8; 32] = digits.try_into().ok()?;
    Some(std::array::from_fn(|i| {
        digits[2 * i] << 4 | digits[2 * i + 1]
    }))
}

/// A function that not all versions of the system have.
pub(in crate::io::sys) fn weak(name: &CStr) -> Option<*mut c_void> {
    debug_assert!(!name.is_empty(), "a function has a name");
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Has functions called when this process forks: before, and afterwards in the parent and in the
/// child. They may do only what a signal handler may do. Without memory, nothing is called.
pub(crate) fn at_fork(begin: extern "C" fn(), end: extern "C" fn(), child: extern "C" fn()) {
    // SAFETY: the functions stay where they are, and a handler may be called at any fork.
    let _ = unsafe { libc::pthread_atfork(Some(begin), Some(end), Some(child)) };
}

/// The number of an open file, for those who cannot keep a reference.
pub(crate) fn raw(file: &File) -> isize {
    let raw = file.as_raw_fd() as isize;
    debug_assert!(raw >= 0, "no file is a negative number");
    raw
}

/// The file with a number that [`raw`] returned.
///
/// # Safety
///
/// It is open while what is returned lives.
pub(crate) unsafe fn borrow(raw: isize) -> ManuallyDrop<File> {
    debug_assert!(raw >= 0, "an open file has a number");
    // SAFETY: the caller's promise; the file is not closed here.
    ManuallyDrop::new(unsafe { File::from_raw_fd(raw as i32) })
}

/// Unmaps the page that keeps the locks of a file.
///
/// # Safety
///
/// The page was mapped for that, and is used no more.
pub(crate) unsafe fn drop_anchor(anchor: NonNull<u8>) {
    // SAFETY: the page was mapped for the file, and no code reads or writes there.
    let _ = unsafe { libc::munmap(anchor.as_ptr().cast(), system_page_len()) };
}

/// In a forked child, replaces an inherited descriptor by something harmless, if it still is of
/// this file, and the anchor too. Does only what a signal handler may do.
///
/// # Safety
///
/// This child uses neither any more.
pub(crate) unsafe fn release_inherited(raw: isize, id: FileId, anchor: *mut u8) {
    // SAFETY: a number that is not open is found out by the call that follows.
    let file = unsafe { borrow(raw) };
    let is_it = attributes(&file).is_ok_and(|found| found.is_some_and(|found| found.id == id));
    if is_it {
        replace_descriptor(raw as i32);
    }
    if !anchor.is_null() {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
        // SAFETY: the page was mapped for this file, and no code reads or writes there.
        unsafe {
            let len = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            libc::mmap(anchor.cast(), len, libc::PROT_NONE, flags, -1, 0);
        }
    }
}

/// Replaces a descriptor by one that can neither read nor write. The number stays in use, so that
/// a later close of it closes nothing else.
fn replace_descriptor(descriptor: i32) {
    let open = || {
        let flags = NAMES_ONLY.bits() as i32 | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: the path ends with a zero byte.
        unsafe { libc::open(c"/".as_ptr(), flags) }
    };
    let mut harmless = open();
    if harmless < 0 {
        // The limit of descriptors may be reached.
        // SAFETY: the descriptor was found to be the one to replace.
        unsafe { libc::close(descriptor) };
        harmless = open();
    }
    if harmless >= 0 && harmless != descriptor {
        // SAFETY: the first is open, and the second is one that this child does not use.
        unsafe {
            libc::dup2(harmless, descriptor);
            libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            libc::close(harmless);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::uuid_of;

    #[test]
    fn parses_a_uuid() {
        let id = uuid_of("00112233-4455-6677-8899-aabbccddeeff");
        let expected = [
            0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
            0xff,
        ];
        assert_eq!(id, Some(expected));
    }

    #[test]
    fn refuses_other_text() {
        for text in [
            "",
            "00112233",
            "g0112233-4455-6677-8899-aabbccddeeff",
            "00112233-4455-6677-8899-aabbccddeeff0",
        ] {
            assert_eq!(uuid_of(text), None, "{text}");
        }
    }
}
