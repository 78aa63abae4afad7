//! Open files: what Apple's systems can do with them.

use crate::io::sys::{
    types::{Access, Allocate, FlushExtent, LockOwner},
    unix::{self, ByteLocks, Directory, LockCommands, Signal, catch_signals, open_with},
};
use rustix::{
    fs::{
        RenameFlags, XattrFlags, fcntl_rdadvise, fgetxattr_query, fsetxattr, getpath, renameat_with,
    },
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    ops::Range,
    os::{fd::AsRawFd, unix::ffi::OsStringExt},
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
};

/// The present path of a file.
pub(crate) fn path_of(file: &File) -> Option<PathBuf> {
    let path = getpath(file).ok()?;
    Some(OsString::from_vec(path.into_bytes()).into())
}

/// The file at the present path, which may be another one: the caller compares identities.
pub(crate) fn reopen(file: &File, access: Access) -> Option<File> {
    open_with(&path_of(file)?, access, 0).ok()
}

/// Reserves space after the end of the file, so that a full disk is an error here. The file system
/// does not promise the space, so the answer is `false`.
pub(crate) fn allocate(file: &File, range: Range<u64>, allocation: Allocate) -> io::Result<bool> {
    let missing = range.end.saturating_sub(file.metadata()?.len());
    if allocation != Allocate::Grow || missing == 0 {
        return Ok(false);
    }
    let mut wanted = libc::fstore_t {
        fst_flags: libc::F_ALLOCATEALL,
        fst_posmode: libc::F_PEOFPOSMODE,
        fst_offset: 0,
        fst_length: missing as i64,
        fst_bytesalloc: 0,
    };
    // SAFETY: the descriptor is open, and the structure is valid for reading and writing.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PREALLOCATE, &raw mut wanted) };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) if answer < 0 => Err(error),
        _ => Ok(false),
    }
}

/// Returns when everything that was written to the file is on the disk. Without `F_FULLFSYNC` the
/// disk may still have it in its cache.
pub(crate) fn flush(file: &File, extent: FlushExtent) -> io::Result<()> {
    let flushed = unix::flush(file, extent);
    let lacks = [libc::ENOTSUP, libc::EOPNOTSUPP, libc::ENOTTY, libc::EINVAL];
    match flushed.as_ref().map_err(io::Error::raw_os_error) {
        Err(Some(code)) if lacks.contains(&code) => {
            // SAFETY: the descriptor is open.
            match unsafe { libc::fsync(file.as_raw_fd()) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
        _ => flushed,
    }
}

/// Gives the blocks of bytes back; `false` if the file system cannot do that.
pub(crate) fn punch(file: &File, range: Range<u64>) -> io::Result<bool> {
    let hole = libc::fpunchhole_t {
        fp_flags: 0,
        reserved: 0,
        fp_offset: range.start as i64,
        fp_length: (range.end - range.start) as i64,
    };
    // SAFETY: the descriptor is open, and the structure is valid for reading.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PUNCHHOLE, &raw const hole) } >= 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOTSUP | libc::EOPNOTSUPP | libc::ENOTTY) => Ok(false),
        _ => Err(error),
    }
}

/// The attribute of a lock file.
const MARK: &str = "user.teak.lock";

/// Marks a lock file, if the file system has attributes.
pub(crate) fn set_mark(file: &File) {
    let _ = fsetxattr(file, MARK, b"", XattrFlags::empty());
}

pub(crate) fn has_mark(file: &File) -> bool {
    fgetxattr_query(file, MARK).is_ok()
}

/// Locks of the open file description, which older systems do not have.
pub(crate) fn byte_locks(file: &File) -> ByteLocks {
    let of_description = LockCommands {
        owner: LockOwner::Description,
        set: libc::F_OFD_SETLK,
        get: libc::F_OFD_GETLK,
    };
    ByteLocks::with(of_description, file)
}

/// Renames a file, and replaces nothing.
///
/// # Errors
///
/// - `AlreadyExists` if the name exists.
/// - A [refusal](super::is_refusal) if that is not supported.
pub(crate) fn rename_new(
    directory: &Directory,
    name: &OsStr,
    to: &Directory,
    new: &OsStr,
) -> io::Result<()> {
    match renameat_with(directory, name, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        renamed => Ok(renamed?),
    }
}

/// Asks the system to begin reading bytes of a file. A hint.
pub(crate) fn read_soon(file: &File, offset: u64, len: u64) {
    let _ = fcntl_rdadvise(file, offset, len);
}

pub(crate) fn drop_cache(_file: &File) {}

/// The most faults of one address in a row that are absorbed.
const REPETITIONS_MAX: u32 = 100;

static ABSORB: OnceLock<fn(usize) -> bool> = OnceLock::new();
static LAST_ADDRESS: AtomicUsize = AtomicUsize::new(0);
static REPETITIONS: AtomicU32 = AtomicU32::new(0);

/// Calls `absorb` when an access to a mapped file fails. If it returns `true`, the access is
/// repeated.
///
/// The system raises the same signal, on ARM with the code of an unaligned access, for a store into
/// memory that is mapped for reading only. Zeros in its place do not help that, so the process ends
/// after some repetitions.
pub(crate) fn catch_faults(absorb: fn(usize) -> bool) -> io::Result<()> {
    let _ = ABSORB.set(absorb);
    const SIGNALS: &[Signal] = &[Signal {
        number: libc::SIGBUS,
        codes: &[libc::BUS_ADRALN, libc::BUS_ADRERR, libc::BUS_OBJERR],
    }];
    catch_signals(SIGNALS, absorb_some)
}

fn absorb_some(address: usize) -> bool {
    if LAST_ADDRESS.swap(address, Relaxed) != address {
        REPETITIONS.store(0, Relaxed);
    }
    REPETITIONS.fetch_add(1, Relaxed) < REPETITIONS_MAX
        && ABSORB.get().is_some_and(|absorb| absorb(address))
}
