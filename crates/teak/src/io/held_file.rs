//! A file whose locks last exactly as long as this process wants them.
//!
//! `flock` locks and open-file-description locks are dropped with the last reference to the
//! description. With a descriptor alone, two things could go wrong:
//!
//! - Unrelated code may close the descriptor by its number, as loops over all descriptors do. A
//!   page that is mapped from the description, the *anchor*, keeps the locks in that case. The
//!   number may soon refer to another file, so callers check [`HeldFile::refuse_stranger`] before
//!   they write through it.
//! - A forked child would keep the locks of a parent that has ended. It releases descriptor and
//!   anchor when it begins (see [`forks`](super::forks)). A descriptor that a child may have
//!   inherited before its registration is replaced before it is used for a lock. Other mappings of
//!   the file, which a child keeps, are made from a separate description, see
//!   [`HeldFile::for_mapping`].

use super::{
    file_id::id_of,
    forks::{ForkGeneration, ForkWatch, HeldEntry},
};
use rustix::{
    fs::{AtFlags, OFlags, StatxFlags, fcntl_getfl, makedev, statx},
    io::Errno,
    mm::{self, MapFlags, ProtFlags},
};
use std::{
    fs::{File, OpenOptions},
    io,
    ops::Deref,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    ptr::{self, NonNull},
};

/// How often a descriptor is opened again because the process forks meanwhile.
const ATTEMPTS: usize = 10;

/// An open file that is locked, or will be.
#[derive(Debug)]
pub(super) struct HeldFile {
    file: File,
    /// Device and inode.
    id: (u64, u64),
    /// `None` if no page can be mapped.
    anchor: Option<NonNull<u8>>,
    entry: &'static HeldEntry,
    generation: ForkGeneration,
    /// Whether the locks belong to the process (POSIX), which loses them when it closes any
    /// descriptor of the file.
    is_closed_once: bool,
}

// SAFETY: the anchor is only mapped and unmapped; no code reads or writes there.
unsafe impl Send for HeldFile {}
// SAFETY: the anchor is only mapped and unmapped; no code reads or writes there.
unsafe impl Sync for HeldFile {}

impl HeldFile {
    /// Takes over a file that is not locked yet, so that no child keeps its locks.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let is_writable = fcntl_getfl(&file)?.contains(OFlags::RDWR);
        Self::with(file, |file, id| reopen(file, id, is_writable))
    }

    /// Like [`Self::new`], with a function that reopens the file.
    fn with(
        file: File,
        mut reopen: impl FnMut(&File, (u64, u64)) -> Option<File>,
    ) -> io::Result<Self> {
        let id = id_of(&file.metadata()?);
        for _ in 0..ATTEMPTS {
            let unforked = ForkWatch::begin();
            let Some(own) = reopen(&file, id) else {
                break;
            };
            let held = Self::registered(own, id);
            if unforked.is_still() {
                return Ok(held);
            }
        }
        Ok(Self::registered(file, id))
    }

    fn registered(file: File, id: (u64, u64)) -> Self {
        let anchor = map_anchor(&file);
        // SAFETY: the anchor was mapped just now, and dropping `Self` unregisters the entry before
        // it unmaps it. Nobody reads or writes there.
        let entry = unsafe { HeldEntry::register(file.as_raw_fd(), id, anchor) };
        Self {
            file,
            id,
            anchor,
            entry,
            generation: ForkGeneration::current(),
            is_closed_once: false,
        }
    }

    /// Notes that no other descriptor of the file may be opened and closed from now on.
    pub(super) fn close_once(&mut self) {
        self.is_closed_once = true;
    }

    /// Device and inode.
    pub(super) fn id(&self) -> (u64, u64) {
        self.id
    }

    /// The file through another open file description, which has no locks, for mapping. `None` if
    /// the system provides none.
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor.
    /// - The system's error.
    pub(super) fn for_mapping(&self, is_writable: bool) -> io::Result<Option<File>> {
        self.refuse_stranger()?;
        match self.is_closed_once {
            true => Ok(None),
            false => Ok(reopen(&self.file, self.id, is_writable)),
        }
    }

    /// Fails if the descriptor no longer refers to this file.
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor.
    /// - The system's error.
    pub(super) fn refuse_stranger(&self) -> io::Result<()> {
        self.attributes(StatxFlags::INO).map(drop)
    }

    /// The length of the file, and its number of links.
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor.
    /// - The system's error.
    pub(super) fn len_and_links(&self) -> io::Result<(u64, u32)> {
        self.attributes(StatxFlags::INO | StatxFlags::SIZE | StatxFlags::NLINK)
    }

    fn attributes(&self, wanted: StatxFlags) -> io::Result<(u64, u32)> {
        match attributes(&self.file, wanted) {
            Ok((id, len, links)) if id == self.id => Ok((len, links)),
            Ok(_) | Err(Errno::BADF) => Err(stranger()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The file with this device and inode through another open file description; `None` if the system
/// provides none.
fn reopen(file: &File, id: (u64, u64), is_writable: bool) -> Option<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut options = OpenOptions::new();
    let options = options.read(true).write(is_writable);
    let reopened = options.custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    (id_of(&reopened.metadata().ok()?) == id).then_some(reopened)
}

/// The error if the descriptor refers to another file.
fn stranger() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotConnected,
        "other code in this process has closed the descriptor of the file, whose number may stand for another file by now; \
         nothing was written to that; find what closes descriptors that it did not open, close the database and open it again",
    )
}

/// Device and inode, and the length and links if wanted. Nothing else is queried: after a query of
/// a file's times, the system gives the next write a finer timestamp, which each flush then also
/// writes to the inode.
fn attributes(file: &File, wanted: StatxFlags) -> Result<((u64, u64), u64, u32), Errno> {
    match statx(file, "", AtFlags::EMPTY_PATH, wanted) {
        // Old systems do not have the call, and a sandbox may forbid it.
        Err(Errno::NOSYS | Errno::PERM) => {
            let found = rustix::fs::fstat(file)?;
            let id = (found.st_dev, found.st_ino);
            Ok((id, found.st_size as u64, found.st_nlink as u32))
        }
        found => {
            let found = found?;
            let device = makedev(found.stx_dev_major, found.stx_dev_minor);
            Ok(((device, found.stx_ino), found.stx_size, found.stx_nlink))
        }
    }
}

fn map_anchor(file: &File) -> Option<NonNull<u8>> {
    let (len, nothing) = (rustix::param::page_size(), ProtFlags::empty());
    // SAFETY: the system chooses the address, so no memory in use is replaced.
    let mapped = unsafe { mm::mmap(ptr::null_mut(), len, nothing, MapFlags::SHARED, file, 0) };
    mapped.ok().and_then(|anchor| NonNull::new(anchor.cast()))
}

impl Deref for HeldFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        // A child has released the entry already, and may have reused it.
        if !self.generation.is_past() {
            self.entry.unregister();
        }
        if let Some(anchor) = self.anchor {
            // SAFETY: the page was mapped for this file, and no code reads or writes there.
            let _ = unsafe { mm::munmap(anchor.as_ptr().cast(), rustix::param::page_size()) };
        }
    }
}

#[cfg(test)]
#[path = "held_file_tests.rs"]
mod tests;
