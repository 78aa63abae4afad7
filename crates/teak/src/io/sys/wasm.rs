//! WebAssembly: neither mappings nor locks nor threads. Databases are read from bytes and from
//! functions ([`Options::open_bytes`](crate::Options::open_bytes)); files cannot be opened.

pub(crate) use super::lacks::{
    ARE_THREADS_FREE, REMEDIES, TRUNCATES_MAPPED, allocate, append, begin_write_back, drop_cache,
    file_system, free_bytes, has_mark, is_on_network, join, next_data, next_hole, open_direct,
    punch, read_soon, set_mark, write_durably,
};
pub(crate) use super::poll::{sleep_on, wake_all, wake_one};
use super::types::{
    Access, Advice, DirectoryUse, Failure, FileAttributes, FileId, FileKind, FilePermissions,
    FileSharing, FlushExtent, Holder, Limit, Links, LockOwner,
};
use std::{
    collections::hash_map::RandomState,
    ffi::OsStr,
    fs::{File, FileType, Metadata, TryLockError},
    hash::BuildHasher,
    io::{self, IoSlice},
    mem::ManuallyDrop,
    ops::Range,
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::OnceLock,
    time::Instant,
};

fn unsupported<T>() -> io::Result<T> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "WebAssembly has no mapped files; read the file, and open it with `Options::open_bytes` or \
         `Options::open_read_at`",
    ))
}

/// The codes of WASI.
pub(crate) const FAILURES: &[(Failure, i32)] = &[
    (Failure::NotFound, 44),
    (Failure::Denied, 2),
    (Failure::NoMemory, 48),
    (Failure::DiskFailed, 29),
    (Failure::FileTooLong, 22),
    (Failure::DiskFull, 51),
];

pub(crate) fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}

pub(crate) fn boot_id() -> Option<[u8; 16]> {
    None
}

pub(crate) fn process_namespace() -> u64 {
    0
}

/// Random bytes from the seeds of the standard library's hash maps, which the host provides.
pub(crate) fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    for part in bytes.chunks_mut(8) {
        let word = RandomState::new().hash_one(part.len()).to_le_bytes();
        part.copy_from_slice(&word[..part.len()]);
    }
    Ok(())
}

/// There is one thread.
pub(crate) fn thread_id() -> u64 {
    1
}

/// Milliseconds since the first call: there is no other process.
pub(crate) fn uptime_ms() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed().as_millis() as u64
}

/// Size of a page of the memory of WebAssembly.
pub(crate) fn system_page_len() -> usize {
    64 << 10
}

pub(crate) fn memory_bytes() -> Option<u64> {
    None
}

pub(crate) fn limit(_limit: Limit) -> Option<u64> {
    None
}

/// There are no forks.
pub(crate) fn at_fork(_begin: extern "C" fn(), _end: extern "C" fn(), _child: extern "C" fn()) {}

pub(crate) fn id_of(_path: &Path, _links: Links) -> io::Result<FileId> {
    unsupported()
}

pub(crate) fn attributes(_file: &File) -> io::Result<Option<FileAttributes>> {
    unsupported()
}

pub(crate) fn kind(file_type: FileType) -> FileKind {
    match file_type.is_dir() {
        true => FileKind::Directory,
        false => FileKind::Regular,
    }
}

pub(crate) fn open(_path: &Path, _access: Access, _links: Links) -> io::Result<File> {
    unsupported()
}

pub(crate) fn create_new(_path: &Path, _bits: u32) -> io::Result<File> {
    unsupported()
}

pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

pub(crate) fn create_private_directory(_path: &Path) -> io::Result<()> {
    unsupported()
}

pub(crate) fn reopen(_file: &File, _access: Access) -> Option<File> {
    None
}

pub(crate) fn path_of(_file: &File) -> Option<PathBuf> {
    None
}

pub(crate) fn permissions_of(_found: &Metadata) -> FilePermissions {
    FilePermissions {
        bits: 0o666,
        owner: None,
    }
}

pub(crate) fn set_permissions(_file: &File, _permissions: FilePermissions) -> io::Result<()> {
    Ok(())
}

/// Reads and writes of files at an offset.
pub(crate) trait FileAt {
    fn read_at(&self, _out: &mut [u8], _offset: u64) -> io::Result<usize> {
        unsupported()
    }

    fn read_exact_at(&self, _out: &mut [u8], _offset: u64) -> io::Result<()> {
        unsupported()
    }

    fn write_all_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        unsupported()
    }
}

impl FileAt for File {}

pub(crate) fn write_at(_file: &File, _parts: &[IoSlice<'_>], _offset: u64) -> io::Result<usize> {
    unsupported()
}

pub(crate) fn truncate(_file: &File, _len: u64) -> io::Result<bool> {
    unsupported()
}

pub(crate) fn flush(_file: &File, _extent: FlushExtent) -> io::Result<()> {
    unsupported()
}

pub(crate) fn memory_file() -> io::Result<Option<File>> {
    unsupported()
}

#[derive(Debug)]
pub(crate) struct Directory;

impl Directory {
    pub(crate) fn open(_path: &Path, _purpose: DirectoryUse) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn create_new(&self, _name: &OsStr, _bits: u32) -> io::Result<File> {
        unsupported()
    }

    pub(crate) fn link(&self, _name: &OsStr, _to: &Self, _new: &OsStr) -> io::Result<()> {
        unsupported()
    }

    pub(crate) fn rename(&self, _name: &OsStr, _to: &Self, _new: &OsStr) -> io::Result<()> {
        unsupported()
    }

    pub(crate) fn remove(&self, _name: &OsStr) -> io::Result<()> {
        unsupported()
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        unsupported()
    }
}

pub(crate) fn create_unnamed(_directory: &Directory, _bits: u32) -> io::Result<Option<File>> {
    unsupported()
}

pub(crate) fn link_unnamed(_directory: &Directory, _file: &File, _name: &OsStr) -> io::Result<()> {
    unsupported()
}

pub(crate) fn rename_new(
    _directory: &Directory,
    _name: &OsStr,
    _to: &Directory,
    _new: &OsStr,
) -> io::Result<()> {
    unsupported()
}

pub(crate) fn try_lock_file(_file: &File, _sharing: FileSharing) -> Result<(), TryLockError> {
    unsupported().map_err(TryLockError::Error)
}

pub(crate) fn unlock_file(_file: &File) -> io::Result<()> {
    Ok(())
}

#[derive(Debug)]
pub(crate) struct ByteLocks;

pub(crate) fn byte_locks(_file: &File) -> ByteLocks {
    ByteLocks
}

impl ByteLocks {
    pub(crate) fn of_process() -> Self {
        Self
    }

    pub(crate) fn owner(&self) -> LockOwner {
        LockOwner::Description
    }

    pub(crate) fn try_lock(&self, _file: &File, _byte: u32) -> io::Result<bool> {
        unsupported()
    }

    pub(crate) fn unlock(&self, _file: &File, _first: u32, _count: u32) -> io::Result<()> {
        unsupported()
    }

    pub(crate) fn holder(
        &self,
        _file: &File,
        _first: u32,
        _count: u32,
    ) -> io::Result<Option<Holder>> {
        unsupported()
    }
}

pub(crate) fn raw(_file: &File) -> isize {
    -1
}

/// # Safety
///
/// There are no files with numbers, so that nobody may call this.
pub(crate) unsafe fn borrow(_raw: isize) -> ManuallyDrop<File> {
    unreachable!("no file is open")
}

pub(crate) fn anchor(_file: &File) -> Option<NonNull<u8>> {
    None
}

/// # Safety
///
/// There are no anchors.
pub(crate) unsafe fn drop_anchor(_anchor: NonNull<u8>) {}

/// # Safety
///
/// There are no children.
pub(crate) unsafe fn release_inherited(_raw: isize, _id: FileId, _anchor: *mut u8) {}

/// There is none.
#[derive(Debug)]
pub(crate) enum Mapped {}

impl Mapped {
    pub(crate) fn file(_: &File, _: u64, _: usize, _: Access) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn private(_len: usize) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn reserved(_len: usize) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn commit(&self, _range: Range<usize>) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn base(&self) -> NonNull<u8> {
        match *self {}
    }

    #[allow(dead_code)] // Other systems compare it in checks of addresses.
    pub(crate) fn len(&self) -> usize {
        match *self {}
    }

    pub(crate) fn show(&self, _file: &File, _file_len: u64) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn pin(&self, _range: Range<usize>) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn unpin_all(&self) -> io::Result<()> {
        match *self {}
    }
}

pub(crate) fn advise(mapped: &Mapped, _range: Range<usize>, _advice: Advice) {
    match *mapped {}
}

pub(crate) fn hide(mapped: &Mapped, _range: Range<usize>) {
    match *mapped {}
}

/// # Safety
///
/// Nothing is mapped.
pub(crate) unsafe fn discard(mapped: &Mapped, _range: Range<usize>) -> bool {
    match *mapped {}
}

pub(crate) fn is_absent(mapped: &Mapped, _offset: usize) -> bool {
    match *mapped {}
}

pub(crate) fn populate(mapped: &Mapped, _range: Range<usize>) -> io::Result<bool> {
    match *mapped {}
}

/// # Safety
///
/// Nothing is mapped.
pub(crate) unsafe fn zeros_over(_start: usize, _len: usize, _access: Access) -> bool {
    false
}

/// # Safety
///
/// Nothing is mapped.
pub(crate) unsafe fn file_over(
    _start: usize,
    _len: usize,
    _raw: isize,
    _offset: u64,
    _access: Access,
) -> io::Result<()> {
    unsupported()
}

pub(crate) fn catch_faults(_absorb: fn(usize) -> bool) -> io::Result<()> {
    Ok(())
}
