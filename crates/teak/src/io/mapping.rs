//! The file as readers see it: one stretch of addresses, and how much of it is file.
//!
//! [`Mapping::bytes`] is a safe function, although the file behind it is written to all the time.
//! What makes it sound is the rule that the whole engine keeps: *a slice into the mapping exists
//! only for pages of a snapshot that a live transaction holds; copy-on-write makes them immutable
//! for that time*. Other processes are kept out by the lock on the file, which the mapping holds.

use super::{
    address_range::AddressRange, faults::Faults, forks::ForkGeneration, io_wait::IoWaitEstimator,
};
use rustix::mm::Advice;
use std::{
    fmt, io,
    ptr::NonNull,
    slice,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
};

/// Places of those that are announced together, of which it is asked whether they are in memory: that takes as long as announcing.
const LOOKED_AT: usize = 4;
/// Bytes of a cache line.
const LINE: usize = 64;

/// A view of the file for reading, valid as long as it is held. It shows a growth of the file as
/// far as its stretch of addresses goes.
// Aligned so that the counts of an `Arc` around it, which change with each reader, do not share a
// cache line with what every access reads.
#[repr(align(64))]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    /// Bytes from `base` on that may be read: the length of the file or of the stretch, whichever
    /// is less. The storage keeps it up to date.
    readable: AtomicU64,
    generation: ForkGeneration,
    /// Those of `stretch`.
    faults: &'static Faults,
    stretch: Arc<AddressRange>,
    io_wait: IoWaitEstimator,
}

// SAFETY: `base` points into `stretch`, which is `Send` and `Sync` itself; reading through it from
// any thread is what the rule above allows.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(super) fn new(stretch: Arc<AddressRange>, file_len: u64) -> Self {
        let mapping = Self {
            base: stretch.base(),
            readable: AtomicU64::new(0),
            generation: ForkGeneration::current(),
            faults: stretch.faults(),
            stretch,
            io_wait: IoWaitEstimator::default(),
        };
        mapping.set_file_len(file_len);
        mapping
    }

    /// Makes bytes accessible up to `file_len`, or no longer accessible from there on.
    pub(super) fn set_file_len(&self, file_len: u64) {
        // Relaxed: whoever learns of a page in the grown part learns it by way of something that
        // orders this store before; whoever does not is told `None`.
        self.readable
            .store(file_len.min(self.stretch.len()), Relaxed);
    }

    pub(super) fn stretch_len(&self) -> u64 {
        self.stretch.len()
    }

    /// `len` bytes of the file from `offset` on; `None` when they are not all inside the file and
    /// the stretch of this mapping, or [`Self::is_inherited`]. Only for what does not change while the slice lives: see the
    /// head of this module.
    #[inline]
    pub(crate) fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        if !self.contains(offset, len) || self.is_inherited() {
            return None;
        }
        // SAFETY: the range is inside the stretch, which lives as long as `self` and has at most
        // `isize::MAX` bytes, and inside the file; nobody changes these bytes by the rule above.
        Some(unsafe { slice::from_raw_parts(self.base.as_ptr().add(offset as usize), len) })
    }

    /// Where bytes stand in the file, if they are a slice of this mapping.
    pub(crate) fn offset_of(&self, bytes: &[u8]) -> Option<u64> {
        let offset = bytes.as_ptr().addr().checked_sub(self.base.addr().get())?;
        Some(offset as u64).filter(|offset| *offset < self.stretch.len())
    }

    /// Whether this process is a child of the one that mapped the file: nothing keeps pages as they are for it.
    #[inline]
    pub(crate) fn is_inherited(&self) -> bool {
        self.generation.is_past()
    }

    /// Counts what could not be read, and looked like zeros.
    #[inline]
    pub(crate) fn faults(&self) -> &'static Faults {
        self.faults
    }

    /// Whether reading it waits for the disk.
    #[inline]
    pub(crate) fn io_wait(&self) -> &IoWaitEstimator {
        &self.io_wait
    }

    /// Has the system bring bytes into memory before somebody looks at them: what the disk does not
    /// give is an error here, where it would be a signal there. (Bytes may be dropped from memory
    /// again before they are looked at; that is not to be helped.)
    ///
    /// # Errors
    /// What the system answers to reading them; `UnexpectedEof` outside of the file.
    pub(crate) fn prefault(&self, offset: u64, len: usize) -> io::Result<()> {
        if !self.contains(offset, len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Zeros that stand in the place of the file would be there.
        self.faults.count();
        self.stretch.populate(offset, len)
    }

    /// Has the system begin to read bytes that will be [demanded](Self::demand). No more than a hint.
    pub(crate) fn announce(&self, offset: u64, len: u64) {
        self.stretch.announce(offset, len);
    }

    /// The same for bytes in several places. Where some of the first are not in memory it is noted that reading waits.
    pub(crate) fn announce_all(&self, places: impl Iterator<Item = (u64, u64)>) {
        for (index, (offset, len)) in places.enumerate() {
            if index < LOOKED_AT && self.stretch.is_absent(offset) {
                self.io_wait.note_absent();
            }
            self.announce(offset, len);
        }
    }

    /// Says how all of it will be read. No more than a hint.
    pub(super) fn advise_all(&self, advice: Advice) {
        self.stretch.advise(0, self.stretch.len(), advice);
    }

    /// Has the system bring bytes into memory and keep them there, as long as this mapping lives or until they are
    /// [unlocked](Self::unlock_all).
    ///
    /// # Errors
    /// What the system answers, and what that means where it has a limit; `UnexpectedEof` outside of the file.
    pub(crate) fn lock(&self, offset: u64, len: usize) -> io::Result<()> {
        // The last page of the system may be in the file only in part.
        self.prefault(offset, len)?;
        self.stretch.lock(offset, len)
    }

    /// Has the system keep nothing in memory any more that was locked there.
    ///
    /// # Errors
    /// What the system answers.
    pub(crate) fn unlock_all(&self) -> io::Result<()> {
        self.stretch.unlock_all()
    }

    /// Says that nothing of it is needed just now. No more than a hint.
    pub(crate) fn release(&self) {
        self.stretch.release();
    }

    /// Has the system take the folio apart, if it is a large one, in which the page at `offset` is.
    /// No more than a hint.
    pub(super) fn split_folio(&self, offset: u64) {
        // What is said of one page of a folio splits it: that this one is cold, although it is not,
        // does nothing else that matters. Only what is mapped is split.
        if self.prefault(offset, 1).is_ok() {
            self.stretch.advise(offset, 1, Advice::LinuxCold);
        }
    }

    /// Asks the processor for cache lines from `offset` on. Harmless outside of the file.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64, lines: usize) {
        let first = self.base.as_ptr().wrapping_add(offset as usize);
        (0..lines).for_each(|line| prefetch_line(first.wrapping_add(line * LINE)));
    }

    /// Copies bytes that may be changed in place meanwhile: the copy may then be a mix of old and
    /// new, and is to be verified. Returns false, and copies nothing, outside of the file.
    #[must_use]
    pub(crate) fn copy(&self, offset: u64, out: &mut [u8]) -> bool {
        if !self.contains(offset, out.len()) {
            return false;
        }
        let start = self.base.as_ptr().wrapping_add(offset as usize);
        let is_aligned = start.align_offset(size_of::<u64>()) == 0;
        let words_len = if is_aligned { out.len() / 8 * 8 } else { 0 };
        let (words, rest) = out.split_at_mut(words_len);
        for (index, word) in words.chunks_exact_mut(8).enumerate() {
            // SAFETY: the word is inside the stretch and the file, and aligned. A relaxed load is sound
            // beside any write, and on memory mapped for reading only.
            let loaded = unsafe { AtomicU64::from_ptr(start.add(8 * index).cast()).load(Relaxed) };
            word.copy_from_slice(&loaded.to_ne_bytes());
        }
        for (index, byte) in rest.iter_mut().enumerate() {
            // SAFETY: as above, for one byte.
            *byte = unsafe { AtomicU8::from_ptr(start.add(words_len + index)).load(Relaxed) };
        }
        true
    }

    /// Whether so many bytes from `offset` on are in the file.
    #[inline]
    pub(crate) fn contains(&self, offset: u64, len: usize) -> bool {
        offset
            .checked_add(len as u64)
            .is_some_and(|end| end <= self.readable.load(Relaxed))
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping")
            .field("readable_len", &self.readable.load(Relaxed))
            .field("stretch_len", &self.stretch.len())
            .finish()
    }
}

/// Asks the processor for the cache lines of `bytes`.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8]) {
    bytes
        .chunks(LINE)
        .for_each(|line| prefetch_line(line.as_ptr()));
}

/// The same for so many of them at most.
#[inline(always)]
pub(crate) fn prefetch_lines(bytes: &[u8], lines: usize) {
    let lines = bytes.chunks(LINE).take(lines);
    lines.for_each(|line| prefetch_line(line.as_ptr()));
}

#[inline(always)]
fn prefetch_line(address: *const u8) {
    // SAFETY: a prefetch does not access memory as far as the program can tell: it never faults,
    // whatever the address.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    // SAFETY: as above.
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

#[cfg(test)]
#[path = "mapping_tests.rs"]
mod tests;
