//! The machine, this process and its threads, and the system's error codes.

use super::check;
use crate::io::sys::types::{Failure, FileId, Limit};
use std::{
    ffi::c_void,
    fs::File,
    io,
    mem::ManuallyDrop,
    os::windows::io::{AsRawHandle, FromRawHandle},
    ptr::{self, NonNull},
    sync::OnceLock,
    thread::JoinHandle,
};
use windows_sys::Win32::{
    Foundation::{
        ERROR_ACCESS_DENIED, ERROR_ALREADY_EXISTS, ERROR_CANT_RESOLVE_FILENAME,
        ERROR_COMMITMENT_LIMIT, ERROR_CRC, ERROR_DIRECTORY, ERROR_DIRECTORY_NOT_SUPPORTED,
        ERROR_DISK_FULL, ERROR_DISK_QUOTA_EXCEEDED, ERROR_FILE_EXISTS, ERROR_FILE_NOT_FOUND,
        ERROR_FILE_TOO_LARGE, ERROR_FILENAME_EXCED_RANGE, ERROR_HANDLE_DISK_FULL, ERROR_IO_DEVICE,
        ERROR_NO_SYSTEM_RESOURCES, ERROR_NOT_ENOUGH_MEMORY, ERROR_OUTOFMEMORY,
        ERROR_PATH_NOT_FOUND, ERROR_PRIVILEGE_NOT_HELD, ERROR_SHARING_BUFFER_EXCEEDED,
        ERROR_TOO_MANY_OPEN_FILES, ERROR_WRITE_PROTECT,
    },
    Security::Cryptography::{BCRYPT_USE_SYSTEM_PREFERRED_RNG, BCryptGenRandom},
    System::{
        SystemInformation::{
            GetSystemInfo, GetTickCount64, GlobalMemoryStatusEx, MEMORYSTATUSEX, SYSTEM_INFO,
        },
        Threading::{GetCurrentThreadId, WaitForSingleObject},
    },
};

/// Codes of the system. The first code of a failure is the one that the engine produces.
pub(crate) const FAILURES: &[(Failure, i32)] = &[
    (Failure::NotFound, ERROR_FILE_NOT_FOUND as i32),
    (Failure::NotFound, ERROR_PATH_NOT_FOUND as i32),
    (Failure::Denied, ERROR_ACCESS_DENIED as i32),
    (Failure::NotAllowed, ERROR_PRIVILEGE_NOT_HELD as i32),
    (Failure::ReadOnly, ERROR_WRITE_PROTECT as i32),
    (Failure::DiskFull, ERROR_DISK_FULL as i32),
    (Failure::DiskFull, ERROR_HANDLE_DISK_FULL as i32),
    (Failure::Quota, ERROR_DISK_QUOTA_EXCEEDED as i32),
    (Failure::FileTooLong, ERROR_FILE_TOO_LARGE as i32),
    (Failure::NoMemory, ERROR_NOT_ENOUGH_MEMORY as i32),
    (Failure::NoMemory, ERROR_OUTOFMEMORY as i32),
    (Failure::NoMemory, ERROR_COMMITMENT_LIMIT as i32),
    (Failure::ProcessFiles, ERROR_TOO_MANY_OPEN_FILES as i32),
    (Failure::NameTooLong, ERROR_FILENAME_EXCED_RANGE as i32),
    (Failure::LinkLoop, ERROR_CANT_RESOLVE_FILENAME as i32),
    (Failure::Exists, ERROR_ALREADY_EXISTS as i32),
    (Failure::Exists, ERROR_FILE_EXISTS as i32),
    (Failure::NotDirectory, ERROR_DIRECTORY as i32),
    (Failure::IsDirectory, ERROR_DIRECTORY_NOT_SUPPORTED as i32),
    (Failure::DiskFailed, ERROR_IO_DEVICE as i32),
    (Failure::DiskFailed, ERROR_CRC as i32),
    (Failure::NoLocks, ERROR_SHARING_BUFFER_EXCEEDED as i32),
    (Failure::TryAgain, ERROR_NO_SYSTEM_RESOURCES as i32),
];

/// No number is certain to differ after a power cut: the count of boots is written late, and the
/// time of the boot moves with the clock. So after each opening the machine may have gone down.
pub(crate) fn boot_id() -> Option<[u8; 16]> {
    None
}

/// Process ids are unique on the machine.
pub(crate) fn process_namespace() -> u64 {
    0
}

/// Fills the bytes with random ones.
pub(crate) fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    let (algorithm, flags) = (ptr::null_mut(), BCRYPT_USE_SYSTEM_PREFERRED_RNG);
    let len = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: `len` bytes are valid for writing.
    match unsafe { BCryptGenRandom(algorithm, bytes.as_mut_ptr(), len, flags) } {
        status if status >= 0 => Ok(()),
        status => Err(io::Error::other(format!(
            "no random numbers: status {status:#x}"
        ))),
    }
}

/// The system's id of this thread. Not 0.
pub(crate) fn thread_id() -> u64 {
    // SAFETY: the call only returns a number.
    unsafe { GetCurrentThreadId() }.into()
}

/// Milliseconds since the machine was started, to within 16. All processes have the same clock.
#[inline]
pub(crate) fn uptime_ms() -> u64 {
    // SAFETY: the call only returns a number.
    unsafe { GetTickCount64() }
}

pub(crate) fn system_page_len() -> usize {
    static PAGE_LEN: OnceLock<usize> = OnceLock::new();
    *PAGE_LEN.get_or_init(|| {
        let mut info = SYSTEM_INFO::default();
        // SAFETY: the structure is valid for writing.
        unsafe { GetSystemInfo(&mut info) };
        info.dwPageSize as usize
    })
}

/// Bytes of memory of the machine, if known.
pub(crate) fn memory_bytes() -> Option<u64> {
    let mut status = MEMORYSTATUSEX {
        dwLength: size_of::<MEMORYSTATUSEX>() as u32,
        ..MEMORYSTATUSEX::default()
    };
    // SAFETY: the structure is valid for writing, and has its length.
    check(unsafe { GlobalMemoryStatusEx(&mut status) }).ok()?;
    Some(status.ullTotalPhys)
}

/// There are no such limits.
pub(crate) fn limit(_limit: Limit) -> Option<u64> {
    None
}

/// No process is copied here.
pub(crate) fn at_fork(_begin: extern "C" fn(), _end: extern "C" fn(), _child: extern "C" fn()) {}

/// The handle of a file as a number.
pub(crate) fn raw(file: &File) -> isize {
    file.as_raw_handle() as isize
}

/// The file with this handle.
///
/// # Safety
///
/// The handle must be open, and stay open while the result is used.
pub(crate) unsafe fn borrow(raw: isize) -> ManuallyDrop<File> {
    // SAFETY: the handle is open, and is not closed by dropping this.
    ManuallyDrop::new(unsafe { File::from_raw_handle(raw as *mut c_void) })
}

/// Locks belong to handles here, and nothing else keeps them.
pub(crate) fn anchor(_file: &File) -> Option<NonNull<u8>> {
    None
}

/// # Safety
///
/// None: there are no anchors.
pub(crate) unsafe fn drop_anchor(_anchor: NonNull<u8>) {}

/// # Safety
///
/// None: no process inherits handles of files.
pub(crate) unsafe fn release_inherited(_raw: isize, _id: FileId, _anchor: *mut u8) {}

/// A thread needs a lock to begin and to end, which another one holds while it runs destructors of
/// thread-local data.
pub(crate) const ARE_THREADS_FREE: bool = false;

/// The longest wait for the end of a thread whose work is over.
const END_WAIT_MAX_MS: u32 = 100;

/// Waits for the end of a thread, so that a library may be unloaded. Gives up if the thread cannot
/// end because of the caller.
pub(crate) fn join(thread: JoinHandle<()>) {
    // SAFETY: the handle is open while `thread` lives.
    unsafe { WaitForSingleObject(thread.as_raw_handle(), END_WAIT_MAX_MS) };
}
