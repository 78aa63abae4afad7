//! Windows. A file has the permissions of its directory, a path is UTF-8, and codes are those of
//! C's library.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_ushort},
    fs::{File, Metadata, OpenOptions},
    io::{self, ErrorKind},
    mem::ManuallyDrop,
    os::windows::io::{AsRawHandle, FromRawHandle, RawHandle},
    path::Path,
    ptr,
};

/// No file: `INVALID_HANDLE_VALUE`.
pub(crate) const NO_FILE: RawHandle = ptr::without_provenance_mut(usize::MAX);
/// The code of a database on another machine. C's library has none for that.
pub(crate) const ON_NETWORK: c_int = libc::ENODEV;

/// Errors of the system: another program has locked or opened the file.
const SHARING_VIOLATION: i32 = 32;
const LOCK_VIOLATION: i32 = 33;

/// The bits of permissions. Some compilers pass 16 bits of them.
pub(crate) fn mode_bits(mode: c_ushort) -> u32 {
    mode.into()
}

/// A path. `None` if it can be none.
pub(crate) fn path_of(path: &CStr) -> Option<&Path> {
    path.to_str().ok().map(Path::new)
}

/// A file as clients know it.
pub(crate) fn handle_of(file: &File) -> RawHandle {
    file.as_raw_handle()
}

/// A file of a client, which is not closed when the value is dropped. `None` if it is no file.
///
/// # Safety
///
/// The client keeps the file open as long as the value is used.
pub(crate) unsafe fn file_of(handle: RawHandle) -> Option<ManuallyDrop<File>> {
    let is_file = !handle.is_null() && handle != NO_FILE;
    // SAFETY: the caller's promise.
    is_file.then(|| ManuallyDrop::new(unsafe { File::from_raw_handle(handle) }))
}

/// LMDB's file is not inherited, either.
#[allow(clippy::unnecessary_wraps)] // It fails on other systems.
pub(crate) fn let_inherit(_file: &File) -> io::Result<()> {
    Ok(())
}

pub(crate) fn create_like(_options: &mut OpenOptions, _other: &Metadata) {}

#[allow(clippy::unnecessary_wraps)] // It fails on other systems.
pub(crate) fn set_like(_file: &File, _other: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Files have no attributes with a content, so the number of readers is not kept.
pub(crate) fn reader_count(_lock: &Path) -> c_uint {
    0
}

pub(crate) fn store_reader_count(_lock: &Path, _count: c_uint) {}

/// A number of this thread that no other thread has at the same time: the address of a variable of
/// its own.
pub(crate) fn thread_number() -> u64 {
    thread_local! {
        static OWN: u64 = const { 0 };
    }
    OWN.with(|own| ptr::from_ref(own).addr() as u64)
}

/// The code of an error of the system.
pub(crate) fn code_of(error: &io::Error) -> c_int {
    match error.kind() {
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::PermissionDenied => libc::EACCES,
        ErrorKind::AlreadyExists => libc::EEXIST,
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename => libc::EINVAL,
        ErrorKind::NotADirectory => libc::ENOTDIR,
        ErrorKind::IsADirectory => libc::EISDIR,
        ErrorKind::DirectoryNotEmpty => libc::ENOTEMPTY,
        ErrorKind::ReadOnlyFilesystem => libc::EROFS,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => libc::ENOSPC,
        ErrorKind::FileTooLarge => libc::EFBIG,
        ErrorKind::ResourceBusy => libc::EBUSY,
        ErrorKind::BrokenPipe => libc::EPIPE,
        ErrorKind::OutOfMemory => libc::ENOMEM,
        _ => match error.raw_os_error() {
            Some(SHARING_VIOLATION | LOCK_VIOLATION) => libc::EBUSY,
            _ => libc::EIO,
        },
    }
}

/// The text of a code of the system. It stays valid until this thread's next call.
pub(crate) fn text_of(code: c_int) -> *const c_char {
    // SAFETY: it takes any number.
    unsafe { libc::strerror(code) }
}
