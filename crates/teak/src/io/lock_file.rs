//! The lock file: memory shared by all processes with the database open, and locks that show which
//! processes live.
//!
//! Each process has an *entry index*. While it lives, it holds a lock on the byte of the file that
//! corresponds to this index. The system drops the lock when the process ends for any reason.
//! Process ids play no part: they are reused, and differ between containers.
//!
//! The locks belong to the open file description (`F_OFD_SETLK`), so other opens and closes of the
//! file in the process do not matter. [`HeldFile`] ensures that neither unrelated code that closes
//! the descriptor nor a forked child affects them. If the system has no such locks (gVisor), POSIX
//! locks are used. A process loses those when any code in it closes the file through another
//! descriptor. It then finds in the table of processes that it was declared dead, and stops
//! writing.
//!
//! Processes that attach or leave pass through the *gate*, one at a time. If no other process is
//! attached, the file is reinitialized, provided that it begins as a lock file does. Any other file
//! of that name is refused and left unchanged.

use super::{
    byte_locks::{GATE, GROWTH, PROCESSES_MAX, byte_of, locks_of},
    held_file::HeldFile,
    lock_file_name::LockFileName,
    lock_header::{LOCK_MAGIC, LockMode, create, refuse_foreign, set_permissions},
    memory::Memory,
    sys::{
        self, Access, Allocate, ByteLocks, FileAt, FileId, FileKind, Holder, LOCKS, Links,
        LockOwner, id_of, next_data, next_hole,
    },
    system::{pages_with, refuse_file_len},
};
use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

/// How long the holder of the gate may take, to recover the database or to write what is left when
/// closing.
const GATE_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long to wait for a holder that uses another kind of lock than processes with an open
/// database.
const FOREIGN_LOCK_WAIT_MAX: Duration = Duration::from_secs(2);
/// The first and the longest pause between two attempts at the gate.
const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(5)];

/// The lock file of a database that this process has open.
#[derive(Debug)]
pub(crate) struct LockFile {
    // Declared in this order: the name is forgotten after the file is closed.
    file: Arc<HeldFile>,
    named: LockFileName,
    locks: ByteLocks,
    /// Threads of this process pass the gate one at a time, and (below) grow the file so.
    gate: Mutex<()>,
    growth: Mutex<()>,
}

/// Opens or creates the file; `None` if another one was created or removed meanwhile.
fn open_or_create(path: &Path, mode: LockMode) -> io::Result<Option<File>> {
    // Checked before opening: opening a device may have effects.
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return create(path, mode),
        found => refuse_irregular(&found?)?,
    }
    match sys::open(path, Access::ReadWrite, Links::Refuse) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// The held gate. It keeps other processes from attaching and leaving.
#[derive(Debug)]
pub(crate) struct GateGuard<'f> {
    file: &'f LockFile,
    _threads: MutexGuard<'f, ()>,
}

impl LockFile {
    /// Opens or creates the lock file at `path`, and passes the gate: no other process attaches or
    /// leaves until [`Self::leave_gate`]. Returns whether this process is alone.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `ResourceBusy` if this process has the file open already.
    /// - `InvalidInput`, with the reason, if it is not a lock file of Teak. Nothing was written to
    ///   it.
    pub(crate) fn open(path: &Path, mode: LockMode) -> io::Result<(Self, bool)> {
        Self::open_as(LockFileName::new(path)?, mode)
    }

    /// Like [`Self::open`], for a simulated process next to others in this process.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn open_apart(path: &Path) -> io::Result<(Self, bool)> {
        let mode = LockMode::Masked(0o600);
        Self::open_as(LockFileName::apart(path), mode)
    }

    fn open_as(named: LockFileName, mode: LockMode) -> io::Result<(Self, bool)> {
        let path = &named.path;
        loop {
            let Some(file) = open_or_create(path, mode)? else {
                continue;
            };
            refuse_irregular(&file.metadata()?)?;
            let mut file = HeldFile::new(file, Access::ReadWrite)?;
            let locks = locks_of(&file);
            if locks.owner() == LockOwner::Process {
                file.close_once();
            }
            // If an older version is just reinitializing the file, under the gate, it has no first
            // bytes yet.
            if locks.holder(&file, 0, PROCESSES_MAX + 1)?.is_none() {
                refuse_foreign(&file)?;
            }
            wait_for(&file, &locks, GATE)?;
            // It may have been removed and recreated meanwhile.
            if id_of(path, Links::Refuse).is_ok_and(|id| id == file.id()) {
                named.note_id(file.id());
                let is_alone = locks.holder(&file, 1, PROCESSES_MAX)?.is_none();
                if is_alone {
                    refuse_foreign(&file)?;
                }
                let lock_file = Self {
                    file: Arc::new(file),
                    named,
                    locks,
                    gate: Mutex::default(),
                    growth: Mutex::default(),
                };
                return Ok((lock_file, is_alone));
            }
        }
    }

    /// Whether any process uses the lock file at `path`, for callers that cannot write to it.
    pub(crate) fn is_used(path: &Path) -> bool {
        match sys::open(path, Access::ReadOnly, Links::Follow) {
            Ok(file) => {
                let holder = locks_of(&file).holder(&file, 1, PROCESSES_MAX);
                holder.map_or(true, |holder| holder.is_some())
            }
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn id(&self) -> FileId {
        self.file.id()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.named.path
    }

    /// Reinitializes the memory of the file: all zeros except its first bytes. The caller holds the
    /// gate and is alone, so no process uses the previous content.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `EFBIG` if this process must not create a file of that length.
    pub(crate) fn recreate(&self, len_bytes: usize, mode: LockMode) -> io::Result<Arc<Memory>> {
        assert!(
            len_bytes > LOCK_MAGIC.len(),
            "the memory begins with the mark of a lock file"
        );
        self.file.refuse_stranger()?;
        refuse_file_len(len_bytes as u64)?;
        // The permissions of the database may have changed since the file was left.
        self.follow_permissions(mode);
        let head_len = LOCK_MAGIC.len() as u64;
        // The first bytes may have been lost in a power cut.
        self.file().write_all_at(&LOCK_MAGIC, 0)?;
        if !self.clear(head_len, len_bytes as u64) {
            self.file().set_len(head_len)?;
            self.file().set_len(len_bytes as u64)?;
        }
        Ok(Arc::new(Memory::shared(&self.file, len_bytes)?))
    }

    /// Gives the file the owner and the permissions of its database, as far as this process may.
    pub(crate) fn follow_permissions(&self, mode: LockMode) {
        let _ = set_permissions(self.file(), mode);
    }

    /// Writes zeros from `start` on over the content of a file that was left, if it has the length
    /// `len` or is longer, and truncates it to that. Holes stay. Returns whether that succeeded.
    /// Truncating the whole file would release its blocks only to allocate them again.
    fn clear(&self, start: u64, len: u64) -> bool {
        let found_len = self.file.attributes().map_or(0, |found| found.len);
        found_len >= len
            && matches!(sys::truncate(self.file(), len), Ok(true))
            && write_zeros_over_data(self.file(), start..len).is_ok()
    }

    /// The memory of the file, as other processes use it.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `InvalidData` if the file is shorter.
    pub(crate) fn map(&self, len_bytes: usize) -> io::Result<Arc<Memory>> {
        if self.file().metadata()?.len() < len_bytes as u64 {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(Arc::new(Memory::shared(&self.file, len_bytes)?))
    }

    /// Why this process has lost the memory, which was in the file up to `len_bytes`: the file was
    /// truncated, or cannot be read, or a store found no block for its page. While this process has
    /// the file locked, nobody reinitializes it.
    pub(crate) fn why_lost(&self, len_bytes: usize) -> io::Error {
        let is_own = self.file.refuse_stranger();
        let read = is_own.and_then(|()| self.file().read_exact_at(&mut vec![0; len_bytes], 0));
        let (kind, text) = match read {
            Ok(()) => (
                ErrorKind::StorageFull,
                "no block was free for a changed page of the lock file; nothing was written since; close the database and reopen it",
            ),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => (
                error.kind(),
                "the lock file was truncated; nothing was written since; close the database and reopen it",
            ),
            Err(error) => return error,
        };
        io::Error::new(kind, text)
    }

    /// Like [`Self::allocate`], for bytes of the [recreated](Self::recreate) memory, before any
    /// other process can use it. The content is written again. A file system that allocates blocks
    /// late only reserves them then, so that a file that is removed soon never gets any: releasing
    /// them would wait for the file system's journal.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `EFBIG` if this process must not create a file of that length.
    pub(crate) fn reserve(&self, bytes: Range<usize>) -> io::Result<()> {
        assert!(bytes.start < bytes.end, "blocks are reserved for bytes");
        let range = pages_with(&(bytes.start as u64..bytes.end as u64));
        let mut content = vec![0; (range.end - range.start) as usize];
        let kept = self.file.attributes()?.len.min(range.end);
        refuse_file_len(range.end)?;
        let kept = kept.saturating_sub(range.start) as usize;
        self.file()
            .read_exact_at(&mut content[..kept], range.start)?;
        self.file().write_all_at(&content, range.start)
    }

    /// Ensures that these bytes are in the file and have their blocks, so that a full disk is an
    /// error here and not a signal later. Existing content stays.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `EFBIG` if this process must not create a file of that length.
    pub(crate) fn allocate(&self, bytes: Range<usize>) -> io::Result<()> {
        assert!(bytes.start < bytes.end, "blocks are allocated for bytes");
        let range = pages_with(&(bytes.start as u64..bytes.end as u64));
        if range.end > self.file.attributes()?.len {
            refuse_file_len(range.end)?;
        }
        if self.allocate_blocks(range.clone())? {
            return Ok(());
        }
        // The creator of the file wrote what is used of its initial length, and the rest was
        // written when the file grew, which one process does at a time. It does not get shorter
        // while it is in use.
        if range.end <= self.file.attributes()?.len {
            return Ok(());
        }
        let _threads = super::mutex::lock(&self.growth);
        wait_for(&self.file, &self.locks, GROWTH)?;
        let grown = self.grow(range.end);
        self.unlock(GROWTH);
        grown
    }

    fn grow(&self, end: u64) -> io::Result<()> {
        debug_assert!(
            end <= LOCKS,
            "the content ends before the bytes that are only locked"
        );
        let len = self.file.attributes()?.len;
        let missing = end.saturating_sub(len) as usize;
        self.file().write_all_at(&vec![0; missing], len)
    }

    /// Allocates blocks; `false` if the file system does not support that.
    fn allocate_blocks(&self, range: Range<u64>) -> io::Result<bool> {
        assert!(
            range.end <= LOCKS,
            "the content ends before the bytes that are only locked"
        );
        sys::allocate(self.file(), range, Allocate::Grow)
    }

    /// Drops all locks, as the system does when a process ends.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn drop_locks(&self) {
        let _ = self.locks.unlock(self.file(), 0, GROWTH + 1);
    }

    /// Waits for the gate.
    pub(crate) fn pass_gate(&self) -> io::Result<GateGuard<'_>> {
        let threads = super::mutex::lock(&self.gate);
        self.file.refuse_stranger()?;
        wait_for(&self.file, &self.locks, GATE)?;
        Ok(GateGuard {
            file: self,
            _threads: threads,
        })
    }

    /// Like [`Self::pass_gate`], without waiting.
    pub(crate) fn try_gate(&self) -> Option<GateGuard<'_>> {
        let threads = self.gate.try_lock().ok()?;
        self.file.refuse_stranger().ok()?;
        self.locks
            .try_lock(self.file(), GATE)
            .ok()
            .filter(|is_locked| *is_locked)?;
        Some(GateGuard {
            file: self,
            _threads: threads,
        })
    }

    /// Releases the gate that [`Self::open`] passed.
    pub(crate) fn leave_gate(&self) {
        self.unlock(GATE);
    }

    /// Unlocks a byte, unless the descriptor refers to another file by now.
    fn unlock(&self, byte: u32) {
        if self.file.refuse_stranger().is_ok() {
            let _ = self.locks.unlock(self.file(), byte, 1);
        }
    }

    /// Takes the lowest free entry index; `None` if all are taken. The caller holds the gate.
    pub(crate) fn take_entry_index(&self) -> io::Result<Option<u32>> {
        for entry_index in 0..PROCESSES_MAX {
            if self.locks.try_lock(self.file(), byte_of(entry_index))? {
                return Ok(Some(entry_index));
            }
        }
        Ok(None)
    }

    /// Releases the entry index of this process. The caller holds the gate.
    pub(crate) fn release_entry_index(&self, entry_index: u32) {
        if self.named.is_own() {
            self.unlock(byte_of(entry_index));
        }
    }

    /// Whether another process holds this entry index. If that cannot be determined, it counts as
    /// alive.
    pub(crate) fn is_alive(&self, entry_index: u32) -> bool {
        self.is_locked_by_others(byte_of(entry_index), 1)
            .unwrap_or(true)
    }

    /// Whether another process holds any entry index.
    pub(crate) fn has_others(&self) -> io::Result<bool> {
        self.is_locked_by_others(1, PROCESSES_MAX)
    }

    fn is_locked_by_others(&self, first: u32, count: u32) -> io::Result<bool> {
        let holder = self.locks.holder(self.file(), first, count)?;
        // If the descriptor referred to another file during the query, it still does.
        self.file.refuse_stranger().map(|()| holder.is_some())
    }

    /// Removes the file. The caller holds the gate, and either no other process is attached or the
    /// database is being deleted. Processes that wait at the gate find that another file has the
    /// name.
    pub(crate) fn remove(&self) {
        // The name may belong to another file by now, if this one was deleted with its database.
        if !self.named.is_own() {
            return;
        }
        // The directory may have been renamed; the system knows the present path.
        let paths = [Some(self.named.path.clone()), sys::path_of(&self.file)];
        let mut paths = paths.into_iter().flatten();
        let is_it = |path: &PathBuf| id_of(path, Links::Refuse).is_ok_and(|id| id == self.id());
        if let Some(path) = paths.find(is_it) {
            // The next process reinitializes it, even if this fails.
            let _ = sys::remove_file(&path);
        }
    }
}

impl Drop for GateGuard<'_> {
    fn drop(&mut self) {
        self.file.leave_gate();
    }
}

/// Writes zeros over the bytes of a file that are not in a hole.
fn write_zeros_over_data(file: &File, range: Range<u64>) -> io::Result<()> {
    let mut start = range.start;
    while start < range.end {
        let Some(data) = next_data(file, start)?.filter(|data| *data < range.end) else {
            return Ok(());
        };
        let hole = next_hole(file, data)?.unwrap_or(range.end).min(range.end);
        file.write_all_at(&vec![0; (hole - data) as usize], data)?;
        start = hole;
    }
    Ok(())
}

/// Locks a byte when no other process holds it.
///
/// # Errors
///
/// - `TimedOut` if that takes too long.
/// - The system's error.
fn wait_for(file: &File, locks: &ByteLocks, byte: u32) -> io::Result<()> {
    let (began, mut pause) = (Instant::now(), PAUSES[0]);
    while !locks.try_lock(file, byte)? {
        let elapsed = began.elapsed();
        if elapsed > FOREIGN_LOCK_WAIT_MAX
            && let Some(holder) = locks.holder(file, byte, 1)?
        {
            let stranger = match holder {
                Holder::Process(id) if locks.owner() == LockOwner::Description => Some(id),
                Holder::Process(_) | Holder::Unknown => None,
            };
            if stranger.is_some() || elapsed > GATE_WAIT_MAX {
                return Err(io::Error::new(
                    ErrorKind::TimedOut,
                    gate_is_locked(stranger),
                ));
            }
        }
        thread::sleep(pause);
        pause = (2 * pause).min(PAUSES[1]);
    }
    Ok(())
}

fn gate_is_locked(stranger: Option<u32>) -> String {
    match stranger {
        Some(process) => format!(
            "process {process} has locked it for another purpose; unlock it there, or end that process"
        ),
        None => format!(
            "a process has been opening or closing the database for {} seconds, or has locked the file for another purpose; find the processes that have it open, and end the one that hangs",
            GATE_WAIT_MAX.as_secs()
        ),
    }
}

fn refuse_irregular(found: &fs::Metadata) -> io::Result<()> {
    let text = match sys::kind(found.file_type()) {
        FileKind::Regular => return Ok(()),
        FileKind::Directory => "it is a directory",
        FileKind::Link => "it is a symbolic link",
        FileKind::Pipe => "it is a pipe or a socket",
        FileKind::Device => "it is a device",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, text))
}

#[cfg(test)]
#[path = "lock_file_tests.rs"]
mod tests;
