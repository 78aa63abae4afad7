//! Unix.

use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_uint},
    fs::{File, Metadata, OpenOptions},
    io,
    mem::ManuallyDrop,
    os::{
        fd::{AsRawFd, FromRawFd, RawFd},
        unix::{
            ffi::OsStrExt,
            fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
        },
    },
    path::Path,
};

/// No file.
pub(crate) const NO_FILE: RawFd = -1;
/// The code of a database on another machine.
pub(crate) const ON_NETWORK: c_int = libc::EREMOTE;

/// The extended attribute of a lock file with the largest number of readers that an environment was
/// opened with.
#[cfg(not(target_os = "freebsd"))]
const READERS: &str = "user.teak.lmdb-readers";

/// The bits of permissions.
#[allow(clippy::useless_conversion)] // The type has 16 bits on some systems.
pub(crate) fn mode_bits(mode: libc::mode_t) -> u32 {
    mode.into()
}

/// A path. `None` if it can be none.
#[allow(clippy::unnecessary_wraps)] // Other systems have strings that are no paths.
pub(crate) fn path_of(path: &CStr) -> Option<&Path> {
    Some(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// A file as clients know it.
pub(crate) fn handle_of(file: &File) -> RawFd {
    file.as_raw_fd()
}

/// A file of a client, which is not closed when the value is dropped. `None` if it is no file.
///
/// # Safety
///
/// The client keeps the file open as long as the value is used.
pub(crate) unsafe fn file_of(handle: RawFd) -> Option<ManuallyDrop<File>> {
    // SAFETY: the caller's promise.
    (handle >= 0).then(|| ManuallyDrop::new(unsafe { File::from_raw_fd(handle) }))
}

/// Lets programs that this process starts inherit a file.
pub(crate) fn let_inherit(file: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open, and no memory is involved.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFD, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Has a file be created with the permissions of another one, as far as this process's mask allows.
pub(crate) fn create_like(options: &mut OpenOptions, other: &Metadata) {
    options.mode(other.permissions().mode() & 0o777);
}

/// Gives a file the permissions of another one, and its owner if that is allowed.
pub(crate) fn set_like(file: &File, other: &Metadata) -> io::Result<()> {
    let _ = fchown(file, Some(other.uid()), Some(other.gid()));
    file.set_permissions(other.permissions())
}

/// The largest number of readers that was asked for; 0 if it is not known.
#[cfg(not(target_os = "freebsd"))]
pub(crate) fn reader_count(lock: &Path) -> c_uint {
    let mut kept = [0; size_of::<c_uint>()];
    match rustix::fs::getxattr(lock, READERS, &mut kept[..]) {
        Ok(len) if len == kept.len() => c_uint::from_le_bytes(kept),
        _ => 0,
    }
}

/// Stores the number. If the process cannot write to the file, it stays unchanged.
#[cfg(not(target_os = "freebsd"))]
pub(crate) fn store_reader_count(lock: &Path, count: c_uint) {
    let none = rustix::fs::XattrFlags::empty();
    let _ = rustix::fs::setxattr(lock, READERS, &count.to_le_bytes(), none);
}

/// Attributes have another form there, and the number is not kept.
#[cfg(target_os = "freebsd")]
pub(crate) fn reader_count(_lock: &Path) -> c_uint {
    0
}

#[cfg(target_os = "freebsd")]
pub(crate) fn store_reader_count(_lock: &Path, _count: c_uint) {}

/// A number of this thread that no other thread has at the same time.
pub(crate) fn thread_number() -> u64 {
    // SAFETY: it takes no arguments and cannot fail.
    unsafe { libc::pthread_self() as u64 }
}

/// The code of an error of the system.
pub(crate) fn code_of(error: &io::Error) -> c_int {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// The text of a code of the system. It stays valid until this thread's next call.
pub(crate) fn text_of(code: c_int) -> *const c_char {
    // SAFETY: it takes any number.
    unsafe { libc::strerror(code) }
}
