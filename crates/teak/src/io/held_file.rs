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
    forks::{ForkGeneration, ForkWatch, HeldEntry},
    sys::{self, Access, FileAttributes, FileId},
};
use std::{fs::File, io, ops::Deref, ptr::NonNull};

/// How often a descriptor is opened again because the process forks meanwhile.
const ATTEMPTS: usize = 10;

/// An open file that is locked, or will be.
#[derive(Debug)]
pub(super) struct HeldFile {
    file: File,
    id: FileId,
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
    /// Takes over a file that is not locked yet and was opened for this access, so that no child
    /// keeps its locks.
    pub(super) fn new(file: File, access: Access) -> io::Result<Self> {
        Self::with(file, |file, id| reopen(file, id, access))
    }

    /// Like [`Self::new`], with a function that reopens the file.
    fn with(file: File, mut reopen: impl FnMut(&File, FileId) -> Option<File>) -> io::Result<Self> {
        let id = sys::attributes(&file)?.ok_or_else(stranger)?.id;
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

    fn registered(file: File, id: FileId) -> Self {
        let anchor = sys::anchor(&file);
        // SAFETY: the anchor was mapped just now, and dropping `Self` unregisters the entry before
        // it unmaps it. Nobody reads or writes there.
        let entry = unsafe { HeldEntry::register(sys::raw(&file), id, anchor) };
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

    pub(super) fn id(&self) -> FileId {
        self.id
    }

    /// The file through another open file description, which has no locks, for mapping. `None` if
    /// the system provides none.
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor.
    /// - The system's error.
    pub(super) fn for_mapping(&self, access: Access) -> io::Result<Option<File>> {
        self.refuse_stranger()?;
        match self.is_closed_once {
            true => Ok(None),
            false => Ok(reopen(&self.file, self.id, access)),
        }
    }

    /// The file for writes that go past the cache of the system; `None` if it has no such writes.
    pub(super) fn for_direct_writes(&self) -> Option<Self> {
        if self.is_closed_once {
            return None;
        }
        let open = |file: &File, id| reopened(sys::open_direct(file)?, id);
        Self::with(open(&self.file, self.id)?, open).ok()
    }

    /// Fails if the descriptor no longer refers to this file.
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor.
    /// - The system's error.
    pub(super) fn refuse_stranger(&self) -> io::Result<()> {
        self.attributes().map(drop)
    }

    /// The attributes of the file.
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor.
    /// - The system's error.
    pub(super) fn attributes(&self) -> io::Result<FileAttributes> {
        let found = sys::attributes(&self.file)?;
        found
            .filter(|found| found.id == self.id)
            .ok_or_else(stranger)
    }
}

/// The file with this identity through another open file description; `None` if the system provides
/// none.
fn reopen(file: &File, id: FileId, access: Access) -> Option<File> {
    reopened(sys::reopen(file, access)?, id)
}

/// The file if it has this identity.
fn reopened(file: File, id: FileId) -> Option<File> {
    let found = sys::attributes(&file).ok()??;
    (found.id == id).then_some(file)
}

/// The error if the descriptor refers to another file.
fn stranger() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotConnected,
        "other code in this process has closed the descriptor of the file, whose number may stand for another file by now; \
         nothing was written to that; find what closes descriptors that it did not open, close the database and open it again",
    )
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
            unsafe { sys::drop_anchor(anchor) };
        }
    }
}

#[cfg(all(test, unix))]
#[path = "held_file_tests.rs"]
mod tests;
