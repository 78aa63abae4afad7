//! Building pages in the mapped file. Lazy commits do that for all pages, and other commits for
//! pages that were written early and change again.
//!
//! Arguments of the `SAFETY` comments:
//!
//! 1. *Inside.* The bytes are in the range, which `mapping` keeps mapped, and in the file, which is
//!    not truncated there: [`Claims`] refuse that under a live extent.
//! 2. *Unshared.* No two live [`WritableExtent`]s overlap, whichever mapping they come from: claims
//!    ensure that.
//! 3. *Unseen.* Nobody borrows the bytes through a [`Mapping`], or writes them by a call. That is
//!    what callers of [`WritableMapping::extent`] promise. They can, because the bytes belong to
//!    free pages that they have taken.
//!
//! So an extent is the only owner of its bytes, like a `Box<[u8]>`.
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

use super::{address_range::AddressRange, faults::Faults, mutex::lock};
use std::{
    collections::BTreeMap,
    fmt, io,
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
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
    address_range: Arc<AddressRange>,
    claims: Arc<Claims>,
}

impl WritableMapping {
    /// `address_range` is mapped for writing.
    pub(super) fn new(address_range: Arc<AddressRange>, claims: Arc<Claims>) -> Self {
        Self {
            address_range,
            claims,
        }
    }

    /// The most bytes of the file that the mapping can show, however long the file grows.
    pub(crate) fn address_range_len(&self) -> u64 {
        self.address_range.len()
    }

    /// The counter of failed reads and writes.
    pub(crate) fn faults(&self) -> &'static Faults {
        self.address_range.faults()
    }

    /// Copies `bytes` into the file, where others may be [copying](super::Mapping::copy) from.
    /// Returns whether that succeeded. The bytes must have their blocks.
    ///
    /// # Safety
    ///
    /// Nobody borrows these bytes of the file through a mapping.
    pub(crate) unsafe fn store(self: &Arc<Self>, offset: u64, bytes: &[u8]) -> bool {
        let before = self.faults().count();
        // SAFETY: the caller promises argument 3, except towards those who copy. The extent is only
        // a claim: the bytes are stored as atomics.
        let Some(claim) = (unsafe { self.extent(offset, bytes.len()) }) else {
            return false;
        };
        debug_assert_eq!(claim.len, bytes.len(), "the claim covers what is stored");
        // SAFETY: arguments 1 and 2 of this module's head. Those who copy load atomics too.
        unsafe { store_atomically(claim.start, bytes) };
        !self.faults().are_more_than(before)
    }

    /// The `len` bytes from `offset` on, for writing. `None` if they are not all inside of the file
    /// and of the address range, if a live extent contains one of them, or if `len` is 0.
    ///
    /// # Safety
    ///
    /// While the extent lives, nobody accesses these bytes of the file in another way, in any
    /// process: they belong to pages that no snapshot can see, and that the caller has taken.
    pub(crate) unsafe fn extent(
        self: &Arc<Self>,
        offset: u64,
        len: usize,
    ) -> Option<WritableExtent> {
        let end = offset.checked_add(len as u64)?;
        if len == 0 || end > self.address_range.len() || !self.claims.claim(offset, end) {
            return None;
        }
        debug_assert!(
            offset < end && end <= self.address_range.len(),
            "a writable extent is inside of the address range"
        );
        // SAFETY: the offset is inside of the range, as checked.
        let start = unsafe { self.address_range.base().add(offset as usize) };
        Some(WritableExtent {
            start,
            len,
            offset,
            mapping: Arc::clone(self),
        })
    }
}

#[cfg(test)]
impl WritableMapping {
    /// Like [`Self::extent`], for tests that do not access the bytes in another way meanwhile.
    pub(super) fn extent_at_rest(
        self: &Arc<Self>,
        offset: u64,
        len: usize,
    ) -> Option<WritableExtent> {
        // SAFETY: the test has the file to itself.
        unsafe { self.extent(offset, len) }
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

// SAFETY: arguments 1 to 3 of this module's head, in any thread.
unsafe impl Send for WritableExtent {}
// SAFETY: a shared extent gives out shared slices only.
unsafe impl Sync for WritableExtent {}

impl Deref for WritableExtent {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: arguments 1 to 3 of this module's head; the extent is borrowed.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for WritableExtent {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: arguments 1 to 3 of this module's head; the extent is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// Stores bytes by atomics, in words where possible.
///
/// # Safety
///
/// The bytes from `start` on are mapped for writing, and others access them by atomics only.
unsafe fn store_atomically(start: NonNull<u8>, bytes: &[u8]) {
    const WORD: usize = size_of::<u64>();
    /// Words that are stored without a loop in between: the compiler unrolls a constant number.
    const UNROLLED: usize = 8;
    let start = start.as_ptr();
    let is_aligned = start.align_offset(WORD) == 0;
    let words_len = if is_aligned {
        bytes.len() / WORD * WORD
    } else {
        0
    };
    let (words, rest) = bytes.split_at(words_len);
    let store = |index: usize, word: [u8; WORD]| {
        // SAFETY: the caller's promise; the word is aligned.
        let there = unsafe { AtomicU64::from_ptr(start.add(WORD * index).cast()) };
        there.store(u64::from_ne_bytes(word), Relaxed);
    };
    let (blocks, words) = words.as_chunks::<WORD>().0.as_chunks::<UNROLLED>();
    for (number, block) in blocks.iter().enumerate() {
        for (index, word) in block.iter().enumerate() {
            store(UNROLLED * number + index, *word);
        }
    }
    for (index, word) in words.iter().enumerate() {
        store(UNROLLED * blocks.len() + index, *word);
    }
    for (index, byte) in rest.iter().enumerate() {
        // SAFETY: the caller's promise; a byte is always aligned.
        unsafe { AtomicU8::from_ptr(start.add(words_len + index)) }.store(*byte, Relaxed);
    }
}

impl Drop for WritableExtent {
    fn drop(&mut self) {
        self.mapping.claims.release(self.offset);
    }
}

impl fmt::Debug for WritableExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WritableExtent({}+{})", self.offset, self.len)
    }
}

#[cfg(test)]
#[path = "writable_tests.rs"]
mod tests;
