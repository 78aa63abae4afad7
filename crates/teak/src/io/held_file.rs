//! A file whose locks last exactly as long as this process wants them.
//!
//! Locks of `flock` and of open file descriptions are dropped when the last reference to the
//! description goes. Two things would go wrong with a descriptor alone:
//!
//! - Code that has nothing to do with Teak may close it by its number, as loops over all descriptors
//!   do. A page that is mapped from the description, the *anchor*, keeps the locks then. The number
//!   may soon stand for another file; so whoever is about to write by it asks
//!   [`HeldFile::refuse_stranger`] first.
//! - A forked child would keep the locks of a parent that has ended. It lets go of descriptor and
//!   anchor when it begins (see [`forks`](super::forks)). A descriptor that a child may have got before that was
//!   seen to is replaced, before anything is locked by it. Other mappings of the file, which a child
//!   keeps, are made from a description of their own, see [`HeldFile::for_mapping`].

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

/// So often a descriptor is made once more, as the process forks meanwhile.
const ATTEMPTS: usize = 10;

/// An open file that is locked, or will be.
#[derive(Debug)]
pub(super) struct HeldFile {
    file: File,
    /// Device and inode.
    id: (u64, u64),
    /// Absent where a page cannot be mapped.
    anchor: Option<NonNull<u8>>,
    entry: &'static HeldEntry,
    generation: ForkGeneration,
    /// Its locks are the process's, which lets go of them when it closes any descriptor of the file.
    is_closed_once: bool,
}

// SAFETY: the anchor is only mapped and unmapped; nobody reads or writes there.
unsafe impl Send for HeldFile {}
// SAFETY: as above.
unsafe impl Sync for HeldFile {}

impl HeldFile {
    /// Takes a file over that is not locked yet, so that no child keeps its locks.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let is_writable = fcntl_getfl(&file)?.contains(OFlags::RDWR);
        Self::with(file, |file, id| reopen(file, id, is_writable))
    }

    /// The same, given how the file is opened once more.
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
        let entry = HeldEntry::register(file.as_raw_fd(), id, anchor);
        Self {
            file,
            id,
            anchor,
            entry,
            generation: ForkGeneration::current(),
            is_closed_once: false,
        }
    }

    /// From now on no other descriptor of the file is opened and closed.
    pub(super) fn close_once(&mut self) {
        self.is_closed_once = true;
    }

    /// Device and inode.
    pub(super) fn id(&self) -> (u64, u64) {
        self.id
    }

    /// The same file by an open file description that has no locks, to be mapped and closed; `None` where the system gives none.
    ///
    /// # Errors
    /// As for [`Self::refuse_stranger`].
    pub(super) fn for_mapping(&self, is_writable: bool) -> io::Result<Option<File>> {
        self.refuse_stranger()?;
        match self.is_closed_once {
            true => Ok(None),
            false => Ok(reopen(&self.file, self.id, is_writable)),
        }
    }

    /// Fails if the descriptor does not stand for this file any more.
    ///
    /// # Errors
    /// `NotConnected` if other code in this process has closed it; what the system answers.
    pub(super) fn refuse_stranger(&self) -> io::Result<()> {
        self.attributes(StatxFlags::INO).map(drop)
    }

    /// How long the file is, and how many links it has.
    ///
    /// # Errors
    /// As for [`Self::refuse_stranger`].
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

/// The file with this device and inode by another open file description; `None` where the system gives none.
fn reopen(file: &File, id: (u64, u64), is_writable: bool) -> Option<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut options = OpenOptions::new();
    let options = options.read(true).write(is_writable);
    let reopened = options.custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    (id_of(&reopened.metadata().ok()?) == id).then_some(reopened)
}

/// What is wrong when a descriptor of ours is another one's.
fn stranger() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotConnected,
        "other code in this process has closed the descriptor of the file, whose number may stand for another file by now; \
         nothing was written to that; find what closes descriptors that it did not open, close the database and open it again",
    )
}

/// Device and inode, and the length and links if these are wanted, and nothing else: whoever asks for the times of a file has the system give the next
/// write a finer one, which each flush then writes to the inode besides.
fn attributes(file: &File, wanted: StatxFlags) -> Result<((u64, u64), u64, u32), Errno> {
    match statx(file, "", AtFlags::EMPTY_PATH, wanted) {
        // An old system has none, and a sandbox may forbid it.
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
        // A child has let go of it already, and may have used the entry again.
        if !self.generation.is_past() {
            self.entry.unregister();
        }
        if let Some(anchor) = self.anchor {
            // SAFETY: the page was mapped for this, and nobody reads or writes there.
            let _ = unsafe { mm::munmap(anchor.as_ptr().cast(), rustix::param::page_size()) };
        }
    }
}

#[cfg(test)]
#[path = "held_file_tests.rs"]
mod tests;
