//! The file as pages are built in it, by lazy commits, and by others where pages that were written early change again: memory that is the file.
//!
//! Two things make writing there sound. No two live [`WritableExtent`]s overlap, whichever mapping
//! they come from: [`Claims`] sees to that. And nobody reads those bytes through a [`Mapping`],
//! because they belong to pages that no snapshot can see, but for the transaction that builds them, which does not write meanwhile: that is the
//! engine's rule, as for [`Mapping::bytes`]. Claims also keep the file from being cut short under a live run.
//!
//! A store into a hole of a mapped file needs a block, and a full disk makes it a SIGBUS. So runs are
//! given out only for bytes whose blocks are known to be allocated: [`set_len`](super::Storage::set_len)
//! allocates them, [`secure`](super::Storage::secure) does where the file has a hole, and where `fallocate`
//! is not to be had, or the file system needs new blocks to overwrite old ones, there is no such mapping.
//! Beyond what a program can see remain: a disk that promises more blocks than it has (thin
//! provisioning), and a copy sharing the file's blocks that is made while the file is open.
//!
//! [`Mapping`]: super::Mapping
//! [`Mapping::bytes`]: super::Mapping::bytes

use super::{address_range::AddressRange, faults::Faults, mutex::lock};
use std::{
    collections::BTreeMap,
    fmt, io,
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
    sync::{Arc, Mutex},
};

/// Which bytes of a file are in the hands of a [`WritableExtent`], and where the file ends.
#[derive(Debug, Default)]
pub(super) struct Claims {
    state: Mutex<ClaimState>,
}

#[derive(Debug, Default)]
struct ClaimState {
    file_len: u64,
    /// From the start of each live run to its end. They do not overlap.
    live: BTreeMap<u64, u64>,
}

impl Claims {
    /// Follows the file to a new length.
    ///
    /// # Errors
    /// `ResourceBusy` when a live run reaches past it.
    pub(super) fn set_file_len(&self, file_len: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state
            .live
            .last_key_value()
            .is_some_and(|(_, end)| *end > file_len)
        {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "pages behind the new end of the file are still being built; finish or drop them first",
            ));
        }
        state.file_len = file_len;
        Ok(())
    }

    fn claim(&self, start: u64, end: u64) -> bool {
        let mut state = lock(&self.state);
        let is_free = state
            .live
            .range(..end)
            .next_back()
            .is_none_or(|(_, last)| *last <= start);
        if end > state.file_len || !is_free {
            return false;
        }
        state.live.insert(start, end);
        true
    }

    fn release(&self, start: u64) {
        lock(&self.state).live.remove(&start);
    }
}

/// A view of the file for building pages in it.
#[derive(Debug)]
pub(crate) struct WritableMapping {
    stretch: Arc<AddressRange>,
    claims: Arc<Claims>,
}

impl WritableMapping {
    /// `stretch` is mapped for writing.
    pub(super) fn new(stretch: Arc<AddressRange>, claims: Arc<Claims>) -> Self {
        Self { stretch, claims }
    }

    /// How much of the file the mapping can show, however long that grows.
    pub(crate) fn stretch_len(&self) -> u64 {
        self.stretch.len()
    }

    /// Counts what could not be read, or written to.
    pub(crate) fn faults(&self) -> &'static Faults {
        self.stretch.faults()
    }

    /// Copies `bytes` into the file; says whether that was done. They are to have their blocks, and as for [`Self::extent`].
    pub(crate) fn store(self: &Arc<Self>, offset: u64, bytes: &[u8]) -> bool {
        let before = self.faults().count();
        let Some(mut extent) = self.extent(offset, bytes.len()) else {
            return false;
        };
        extent.copy_from_slice(bytes);
        !self.faults().are_more_than(before)
    }

    /// The `len` bytes from `offset` on, to write to; `None` when they are not all inside the file
    /// and the stretch of this mapping, when a live run has one of them, or when `len` is 0. The
    /// bytes are to belong to pages that no snapshot can see.
    pub(crate) fn extent(self: &Arc<Self>, offset: u64, len: usize) -> Option<WritableExtent> {
        let end = offset.checked_add(len as u64)?;
        if len == 0 || end > self.stretch.len() || !self.claims.claim(offset, end) {
            return None;
        }
        // SAFETY: offset <= end <= the length of the stretch.
        let start = unsafe { self.stretch.base().add(offset as usize) };
        Some(WritableExtent {
            start,
            len,
            offset,
            mapping: Arc::clone(self),
        })
    }
}

/// Bytes of the file that one owner may write to. They are in the file at once; whether they are
/// on the disk only a flush can tell.
pub(crate) struct WritableExtent {
    start: NonNull<u8>,
    len: usize,
    offset: u64,
    mapping: Arc<WritableMapping>,
}

// SAFETY: a run is the one owner of its bytes, as a `Box<[u8]>` is, and keeps them mapped.
unsafe impl Send for WritableExtent {}
// SAFETY: a shared run gives out shared slices only.
unsafe impl Sync for WritableExtent {}

impl Deref for WritableExtent {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the range is inside the stretch, which `mapping` keeps, and inside the file,
        // which cannot be cut short here while the claim lives; blocks are allocated. Only this
        // run may write there, and it is borrowed.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for WritableExtent {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`; the claim makes this run the only one with these bytes, and it
        // is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for WritableExtent {
    fn drop(&mut self) {
        self.mapping.claims.release(self.offset);
    }
}

impl fmt::Debug for WritableExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WritableRun({}+{})", self.offset, self.len)
    }
}

#[cfg(test)]
#[path = "writable_tests.rs"]
mod tests;
