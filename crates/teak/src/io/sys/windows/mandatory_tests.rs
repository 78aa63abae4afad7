//! Locks of bytes as Windows enforces them, for tests under wine, which does not: all unit tests
//! run so. Reads and writes by calls are refused if a lock forbids them. Mapped bytes are free of
//! that in Windows, too.

use super::{
    borrow,
    files::id,
    locks::{WHOLE_FILE, try_lock_at},
};
use crate::io::{
    mutex::lock,
    sys::types::{Access, FileId, LOCKS},
};
use std::{fs::File, io, ops::Range, os::windows::io::AsRawHandle, sync::Mutex};
use windows_sys::Win32::{
    Foundation::ERROR_LOCK_VIOLATION, Storage::FileSystem::LOCKFILE_EXCLUSIVE_LOCK,
    System::IO::OVERLAPPED,
};

#[derive(Clone, PartialEq, Eq, Debug)]
struct LockedBytes {
    file: FileId,
    /// The handle, with which the lock ends.
    handle: usize,
    bytes: Range<u64>,
    is_exclusive: bool,
}

static LOCKED: Mutex<Vec<LockedBytes>> = Mutex::new(Vec::new());

impl LockedBytes {
    fn new(file: &File, bytes: Range<u64>, is_exclusive: bool) -> Self {
        Self {
            file: id(file).unwrap(),
            handle: file.as_raw_handle().addr(),
            bytes,
            is_exclusive,
        }
    }

    /// Through a handle with an exclusive lock everything is allowed, and nothing through others. A
    /// shared lock allows reading.
    fn forbids(&self, other: &Self, access: Access) -> bool {
        let is_overlapping =
            self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end;
        let is_forbidden = match self.is_exclusive {
            true => self.handle != other.handle,
            false => access == Access::ReadWrite,
        };
        self.file == other.file && is_overlapping && is_forbidden && self.is_open()
    }

    /// Whether the handle refers to the file still.
    fn is_open(&self) -> bool {
        // SAFETY: only the identity is asked for, which fails if the handle is closed.
        let file = unsafe { borrow(self.handle as isize) };
        id(&file).is_ok_and(|id| id == self.file)
    }
}

/// The bytes that a call of the system got.
fn bytes_at(position: &OVERLAPPED, count: u32) -> Range<u64> {
    // SAFETY: all positions are made of offsets.
    let halves = unsafe { position.Anonymous.Anonymous };
    let start = u64::from(halves.OffsetHigh) << 32 | u64::from(halves.Offset);
    start..start + u64::from(count)
}

/// Notes a lock.
pub(super) fn note(file: &File, position: &OVERLAPPED, count: u32, is_exclusive: bool) {
    let bytes = bytes_at(position, count);
    lock(&LOCKED).push(LockedBytes::new(file, bytes, is_exclusive));
}

/// Forgets a lock: the exclusive one, if there is one of each kind.
pub(super) fn forget(file: &File, position: &OVERLAPPED, count: u32) {
    let mut locked = lock(&LOCKED);
    for is_exclusive in [true, false] {
        let wanted = LockedBytes::new(file, bytes_at(position, count), is_exclusive);
        if let Some(index) = locked.iter().position(|locked| *locked == wanted) {
            locked.swap_remove(index);
            return;
        }
    }
}

/// Refuses an access that a lock forbids.
pub(super) fn refuse(file: &File, offset: u64, len: usize, access: Access) -> io::Result<()> {
    let accessed = LockedBytes::new(file, offset..offset + len as u64, false);
    match lock(&LOCKED)
        .iter()
        .any(|locked| locked.forbids(&accessed, access))
    {
        true => Err(io::Error::from_raw_os_error(ERROR_LOCK_VIOLATION as i32)),
        false => Ok(()),
    }
}

#[test]
fn locked_bytes_are_refused() {
    use crate::io::sys::FileAt;
    let named = tempfile::NamedTempFile::new().unwrap();
    let [own, other] = [(); 2].map(|()| named.reopen().unwrap());
    own.write_all_at(&[1; 16], 0).unwrap();
    let locks = |first, count, exclusive| {
        let mut position = OVERLAPPED::default();
        position.Anonymous.Anonymous.Offset = first;
        try_lock_at(&own, position, count, exclusive).unwrap()
    };
    assert!(locks(4, 4, LOCKFILE_EXCLUSIVE_LOCK));
    let mut bytes = [0; 4];
    let refused = Some(ERROR_LOCK_VIOLATION as i32);
    let code = |outcome: io::Result<()>| outcome.err().and_then(|error| error.raw_os_error());
    assert_eq!(code(other.read_exact_at(&mut bytes, 1)), refused);
    assert_eq!(code(other.write_all_at(&bytes, 7)), refused);
    assert_eq!(code(other.read_exact_at(&mut bytes, 8)), None);
    assert_eq!(code(other.write_all_at(&bytes, 0)), None);
    assert_eq!(code(own.write_all_at(&bytes, 4)), None);
    assert!(locks(12, 1, 0));
    assert_eq!(code(other.read_exact_at(&mut bytes, 12)), None);
    assert_eq!(code(own.write_all_at(&bytes, 12)), refused);
    drop(own);
    assert_eq!(code(other.write_all_at(&bytes, 4)), None);
}

#[test]
fn a_database_locks_no_byte_of_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("locked.teak");
    let database = crate::Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<u64, u64>("numbers").unwrap();
    table.insert(&mut txn, 1, 2).unwrap();
    txn.commit().unwrap();
    for path in [&path, &directory.path().join("locked.teak-lock")] {
        let file = File::open(path).unwrap();
        let file_id = id(&file).unwrap();
        let locked = lock(&LOCKED);
        let mut locked = locked
            .iter()
            .filter(|locked| locked.file == file_id)
            .peekable();
        assert!(locked.peek().is_some(), "{} is locked", path.display());
        assert!(locked.all(|locked| locked.bytes.start >= LOCKS));
        assert!(file.metadata().unwrap().len() < LOCKS);
    }
    let start = LOCKS + u64::from(WHOLE_FILE);
    let whole = start..start + 1;
    assert!(lock(&LOCKED).iter().any(|locked| locked.bytes == whole));
}
