//! Building pages in the mapped file. Lazy commits do that for all pages, and other commits for
//! pages that were written early and change again.
//!
//! Two rules make writing there sound. No two live [`WritableExtent`]s overlap, whichever mapping
//! they come from: [`Claims`] ensures that. And no thread reads those bytes through a [`Mapping`],
//! because they belong to pages that no snapshot can see. The exception is the transaction that
//! builds them, which does not write meanwhile. That is the engine's rule, as for
//! [`Mapping::bytes`]. Claims also keep the file from being truncated under a live extent.
//!
//! A store into a hole of a mapped file needs a block, and a full disk turns that into SIGBUS.
//! Extents are therefore given out only for bytes whose blocks are known to be allocated.
//! [`set_len`](super::Storage::set_len) allocates them, and [`secure`](super::Storage::secure) does
//! so for holes. If `fallocate` is not available, or if the file system needs new blocks to
//! overwrite old ones, there is no writable mapping. Two cases remain that a program cannot detect:
//! a disk that promises more blocks than it has (thin provisioning), and a copy sharing the file's
//! blocks that is made while the file is open.
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

/// The bytes of a file that are covered by a live [`WritableExtent`], and the end of the file.
#[derive(Debug, Default)]
pub(super) struct Claims {
    state: Mutex<ClaimState>,
}

#[derive(Debug, Default)]
struct ClaimState {
    file_len: u64,
    /// Maps the start of each live extent to its end. They do not overlap.
    live: BTreeMap<u64, u64>,
}

impl Claims {
    /// Sets the new length of the file.
    ///
    /// # Errors
    ///
    /// `ResourceBusy` if a live extent reaches past it.
    pub(super) fn set_file_len(&self, file_len: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state
            .live
            .last_key_value()
            .is_some_and(|(_, end)| *end > file_len)
        {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "pages beyond the new end of the file are still being built; finish or drop them first",
            ));
        }
        state.file_len = file_len;
        Ok(())
    }

    fn claim(&self, start: u64, end: u64) -> bool {
        assert!(start < end, "a writable extent has bytes");
        let mut state = lock(&self.state);
        let is_free = state
            .live
            .range(..end)
            .next_back()
            .is_none_or(|(_, last)| *last <= start);
        if end > state.file_len || !is_free {
            return false;
        }
        let same = state.live.insert(start, end);
        assert!(same.is_none(), "no two live writable extents overlap");
        true
    }

    fn release(&self, start: u64) {
        let released = lock(&self.state).live.remove(&start);
        assert!(
            released.is_some_and(|end| end > start),
            "an extent is live until it is dropped, once"
        );
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

    /// The most bytes of the file that the mapping can show, however long the file grows.
    pub(crate) fn stretch_len(&self) -> u64 {
        self.stretch.len()
    }

    /// The counter of failed reads and writes.
    pub(crate) fn faults(&self) -> &'static Faults {
        self.stretch.faults()
    }

    /// Copies `bytes` into the file. Returns whether that succeeded. The bytes must have their
    /// blocks, and meet the requirements of [`Self::extent`].
    pub(crate) fn store(self: &Arc<Self>, offset: u64, bytes: &[u8]) -> bool {
        let before = self.faults().count();
        let Some(mut extent) = self.extent(offset, bytes.len()) else {
            return false;
        };
        extent.copy_from_slice(bytes);
        !self.faults().are_more_than(before)
    }

    /// The `len` bytes from `offset` on, for writing. `None` if they are not all inside of the file
    /// and of the address range, if a live extent contains one of them, or if `len` is 0. The bytes
    /// must belong to pages that no snapshot can see.
    pub(crate) fn extent(self: &Arc<Self>, offset: u64, len: usize) -> Option<WritableExtent> {
        let end = offset.checked_add(len as u64)?;
        if len == 0 || end > self.stretch.len() || !self.claims.claim(offset, end) {
            return None;
        }
        debug_assert!(
            offset < end && end <= self.stretch.len(),
            "a writable extent is inside of the address range"
        );
        // SAFETY: offset <= end <= the length of the range.
        let start = unsafe { self.stretch.base().add(offset as usize) };
        Some(WritableExtent {
            start,
            len,
            offset,
            mapping: Arc::clone(self),
        })
    }
}

/// Bytes of the file that one owner may write to. They are in the file at once. Only a flush can
/// tell whether they are on the disk.
pub(crate) struct WritableExtent {
    start: NonNull<u8>,
    len: usize,
    offset: u64,
    mapping: Arc<WritableMapping>,
}

// SAFETY: an extent is the only owner of its bytes, like a `Box<[u8]>`, and keeps them mapped.
unsafe impl Send for WritableExtent {}
// SAFETY: a shared extent gives out shared slices only.
unsafe impl Sync for WritableExtent {}

impl Deref for WritableExtent {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are inside of the range, which `mapping` keeps, and inside of the file,
        // which cannot be truncated here while the claim lives; blocks are allocated. Only this
        // extent may write there, and it is borrowed.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for WritableExtent {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`; the claim makes this extent the only one with these bytes, and it
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
