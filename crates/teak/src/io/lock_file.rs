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
    byte_locks::{LOCKS, Locks, PROCESSES_MAX, byte_of, holder, is_locked, is_refusal, lock},
    file_id::id_of,
    held_file::HeldFile,
    lock_file_name::LockFileName,
    lock_header::{LOCK_MAGIC, LockMode, create, refuse_foreign, set_permissions},
    memory::Memory,
    system::{pages_with, refuse_file_len},
};
use rustix::{
    fs::{FallocateFlags, SeekFrom, fallocate, seek},
    io::{Errno, ReadWriteFlags, pwritev2, retry_on_intr},
};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, IoSlice},
    ops::Range,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, FileTypeExt, OpenOptionsExt},
    },
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

/// Bytes that other processes may append between a query of the file's length and a write: one
/// block for each of 16 processes.
const APPENDED_MEANWHILE: u64 = 64 << 10;

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
    locks: Locks,
    /// Threads of this process pass the gate one at a time.
    gate: Mutex<()>,
}

/// Opens or creates the file; `None` if another one was created or removed meanwhile.
fn open_or_create(path: &Path, mode: LockMode) -> io::Result<Option<File>> {
    // Checked before opening: opening a device may have effects.
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return create(path, mode),
        found => refuse_irregular(&found?)?,
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW);
    match options.open(path) {
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
            let found = file.metadata()?;
            refuse_irregular(&found)?;
            let mut file = HeldFile::new(file)?;
            let locks = Locks::of_system(&file);
            if locks == Locks::OfProcess {
                file.close_once();
            }
            // If an older version is just reinitializing the file, under the gate, it has no first
            // bytes yet.
            if !is_locked(&file, locks, 0, PROCESSES_MAX + 1)? {
                refuse_foreign(&file)?;
            }
            wait_for_gate(&file, locks)?;
            // It may have been removed and recreated meanwhile.
            if fs::symlink_metadata(path).is_ok_and(|named| id_of(&named) == id_of(&found)) {
                named.note_id(id_of(&found));
                let is_alone = !is_locked(&file, locks, 1, PROCESSES_MAX)?;
                if is_alone {
                    refuse_foreign(&file)?;
                }
                let lock_file = Self {
                    file: Arc::new(file),
                    named,
                    locks,
                    gate: Mutex::default(),
                };
                return Ok((lock_file, is_alone));
            }
        }
    }

    /// Whether any process uses the lock file at `path`, for callers that cannot write to it.
    pub(crate) fn is_used(path: &Path) -> bool {
        let mut options = OpenOptions::new();
        let options = options.read(true).custom_flags(libc::O_NONBLOCK);
        match options.open(path) {
            Ok(file) => is_locked(&file, Locks::of_system(&file), 1, PROCESSES_MAX).unwrap_or(true),
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    fn file(&self) -> &File {
        &self.file
    }

    /// Device and inode.
    pub(crate) fn id(&self) -> (u64, u64) {
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
        let found_len = self.file.len_and_links().map_or(0, |found| found.0);
        found_len >= len
            && self.file().set_len(len).is_ok()
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
        let kept = self.file.len_and_links()?.0.min(range.end);
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
        let len = self.file.len_and_links()?.0;
        if range.end > len {
            refuse_file_len(range.end)?;
        }
        if self.allocate_blocks(range.clone())? {
            return Ok(());
        }
        // The creator of the file wrote what is used of its initial length, and other processes
        // have appended the rest.
        let mut len = len;
        while len < range.end {
            // The system ends a process that appends beyond its limit, and others append meanwhile.
            refuse_file_len(range.end + APPENDED_MEANWHILE)?;
            let zeros = vec![0; (range.end - len) as usize];
            let parts = [IoSlice::new(&zeros)];
            pwritev2(self.file(), &parts, len, ReadWriteFlags::APPEND)?;
            len = self.file.len_and_links()?.0;
        }
        Ok(())
    }

    /// Allocates blocks; `false` if the file system does not support that.
    fn allocate_blocks(&self, range: Range<u64>) -> io::Result<bool> {
        assert!(
            range.end <= LOCKS as u64,
            "the content ends before the bytes that are only locked"
        );
        let (flags, len) = (FallocateFlags::empty(), range.end - range.start);
        match retry_on_intr(|| fallocate(self.file(), flags, range.start, len)) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Drops all locks, as the system does when a process ends.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn drop_locks(&self) {
        let all = super::byte_locks::range(0, PROCESSES_MAX + 1, libc::F_UNLCK);
        let [at_once, _] = self.locks.commands();
        // SAFETY: the descriptor is open, and the system only reads the structure.
        unsafe { libc::fcntl(self.file().as_raw_fd(), at_once, &raw const all) };
    }

    /// Waits for the gate.
    pub(crate) fn pass_gate(&self) -> io::Result<GateGuard<'_>> {
        let threads = super::mutex::lock(&self.gate);
        self.file.refuse_stranger()?;
        wait_for_gate(&self.file, self.locks)?;
        Ok(GateGuard {
            file: self,
            _threads: threads,
        })
    }

    /// Like [`Self::pass_gate`], without waiting.
    pub(crate) fn try_gate(&self) -> Option<GateGuard<'_>> {
        let threads = self.gate.try_lock().ok()?;
        self.file.refuse_stranger().ok()?;
        lock(self.file(), self.locks, 0, libc::F_WRLCK).ok()?;
        Some(GateGuard {
            file: self,
            _threads: threads,
        })
    }

    /// Releases the gate that [`Self::open`] passed.
    pub(crate) fn leave_gate(&self) {
        self.unlock(0);
    }

    /// Unlocks a byte, unless the descriptor refers to another file by now.
    fn unlock(&self, byte: u32) {
        if self.file.refuse_stranger().is_ok() {
            let _ = lock(self.file(), self.locks, byte, libc::F_UNLCK);
        }
    }

    /// Takes the lowest free entry index; `None` if all are taken. The caller holds the gate.
    pub(crate) fn take_entry_index(&self) -> io::Result<Option<u32>> {
        for entry_index in 0..PROCESSES_MAX {
            match lock(self.file(), self.locks, byte_of(entry_index), libc::F_WRLCK) {
                Ok(()) => return Ok(Some(entry_index)),
                Err(error) if is_refusal(&error) => {}
                Err(error) => return Err(error),
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
        let found = is_locked(self.file(), self.locks, first, count)?;
        // If the descriptor referred to another file during the query, it still does.
        self.file.refuse_stranger().map(|()| found)
    }

    /// Removes the file. The caller holds the gate, and either no other process is attached or the
    /// database is being deleted. Processes that wait at the gate find that another file has the
    /// name.
    pub(crate) fn remove(&self) {
        // The name may belong to another file by now, if this one was deleted with its database.
        let is_named = |named: fs::Metadata| id_of(&named) == self.file.id();
        if !self.named.is_own() {
            return;
        }
        // The directory may have been renamed; the system knows the present path.
        let link = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let paths = [Some(self.named.path.clone()), fs::read_link(link).ok()];
        let mut paths = paths.into_iter().flatten();
        if let Some(path) = paths.find(|path| fs::symlink_metadata(path).is_ok_and(is_named)) {
            // The next process reinitializes it, even if this fails.
            let _ = fs::remove_file(path);
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
        let data = match seek(file, SeekFrom::Data(start)) {
            Ok(data) if data < range.end => data,
            Ok(_) | Err(Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let hole = seek(file, SeekFrom::Hole(data))?.min(range.end);
        file.write_all_at(&vec![0; (hole - data) as usize], data)?;
        start = hole;
    }
    Ok(())
}

/// Locks the gate when no other process holds it.
///
/// # Errors
///
/// - `TimedOut` if that takes too long.
/// - The system's error.
fn wait_for_gate(file: &File, locks: Locks) -> io::Result<()> {
    let (began, mut pause) = (Instant::now(), PAUSES[0]);
    loop {
        match lock(file, locks, 0, libc::F_WRLCK) {
            Err(error) if is_refusal(&error) => {}
            locked => return locked,
        }
        let elapsed = began.elapsed();
        if elapsed > FOREIGN_LOCK_WAIT_MAX
            && let Some(holder) = holder(file, locks, 0, 1)?
        {
            // Locks of descriptions report no process id.
            let stranger = Some(holder).filter(|id| *id > 0 && locks == Locks::OfDescription);
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
}

fn gate_is_locked(stranger: Option<libc::pid_t>) -> String {
    match stranger {
        Some(process) => format!(
            "process {process} has locked it for another purpose; unlock it there, or end that process"
        ),
        None => format!(
            "a process has been opening or closing the database for {} seconds, or has locked the file for another purpose; find the processes that have it open with `fuser`, and end the one that hangs",
            GATE_WAIT_MAX.as_secs()
        ),
    }
}

fn refuse_irregular(found: &fs::Metadata) -> io::Result<()> {
    let text = match found.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "it is a directory",
        kind if kind.is_symlink() => "it is a symbolic link",
        kind if kind.is_fifo() || kind.is_socket() => "it is a pipe or a socket",
        _ => "it is a device",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, text))
}

#[cfg(test)]
#[path = "lock_file_tests.rs"]
mod tests;
