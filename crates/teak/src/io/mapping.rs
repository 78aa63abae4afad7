//! The file as readers see it: one address range, and how much of it is file.
//!
//! The file is written all the time, so there are two ways to read it. [`Mapping::copy`] copies
//! bytes that may change meanwhile. `bytes` borrows them, from a [`Pinned`] mapping only: that is
//! the witness that the pages do not change, and the head of its module has the reasons. The lock
//! on the file, which the mapping holds, keeps other programs out.
//!
//! Arguments of the `SAFETY` comments:
//!
//! 1. *Inside.* [`Mapping::contains`] has compared the bytes with `readable`, which is at most the
//!    length of the range, and that is at most `isize::MAX`. The range stays mapped while the
//!    mapping lives. If the file is shorter nevertheless, because another program truncated it, the
//!    handler of `io/faults.rs` puts zeros there, or the process ends.
//! 2. *Any thread.* `base` points into `address_range`, which is `Send` and `Sync` itself. No
//!    method writes through it, and each read has argument 3 or 4, which hold in any thread.
//! 3. *Pinned.* The bytes do not change while they are borrowed, because a `Pinned` was borrowed.
//! 4. *Atomic.* The bytes are loaded as relaxed atomics, which is sound next to writes by any
//!    thread or process, and on memory mapped for reading only.
//! 5. *Prefetch.* A prefetch does not access memory as far as the program can tell. It never
//!    faults, whatever the address.

mod coded;

use super::{
    address_range::AddressRange, coded_file::CodedFile, faults::Faults, fetched::FetchedParts,
    forks::ForkGeneration, io_wait::IoWaitEstimator, page_codec::Content, pinned::Pinned,
    sys::Advice,
};
use std::{
    fmt, io,
    ptr::NonNull,
    slice,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
};

/// Number of announced positions that are checked for being in memory: a check takes as long as an
/// announcement.
const RESIDENCY_CHECKS_MAX: usize = 4;
/// Bytes of a cache line.
const LINE: usize = 64;

/// A view of the file for reading, valid while it is held. It shows growth of the file as far as
/// its address range reaches.
// Aligned so that the reference counts of an `Arc` around it, which change with each reader, do not
// share a cache line with the fields that every access reads.
#[repr(align(64))]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    /// Readable bytes from `base` on: the length of the file or of the range, whichever is less.
    /// The storage keeps it up to date.
    readable: AtomicU64,
    generation: ForkGeneration,
    /// The fault counter of `address_range`.
    faults: &'static Faults,
    address_range: Arc<AddressRange>,
    io_wait: IoWaitEstimator,
    /// A file that is read by a function. Nothing is readable from `base` on then.
    fetched: Option<Box<FetchedParts>>,
    /// A file with a codec. The address range has its frames then.
    coded: Option<Arc<CodedFile>>,
}

// SAFETY: argument 2 of this module's head.
unsafe impl Send for Mapping {}
// SAFETY: argument 2 of this module's head.
unsafe impl Sync for Mapping {}

impl Pinned<Mapping> {
    /// `len` bytes of the file from `offset` on. `None` if they are not all inside of the file and
    /// of the address range, or if the mapping [`is_inherited`](Mapping::is_inherited).
    #[inline]
    pub(crate) fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        if !self.is_readable(offset, len) || self.is_inherited() {
            return self.fetched_bytes(offset, len);
        }
        debug_assert!(
            offset + len as u64 <= self.address_range.len(),
            "readable bytes are inside of the address range"
        );
        // SAFETY: arguments 1 and 3 of this module's head.
        Some(unsafe { slice::from_raw_parts(self.base.as_ptr().add(offset as usize), len) })
    }
}

impl Mapping {
    /// A file that is read by a function.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`.
    pub(super) fn fetching(fetched: FetchedParts) -> io::Result<Self> {
        let nothing = Arc::new(AddressRange::zeroed(LINE)?);
        Ok(Self {
            fetched: Some(Box::new(fetched)),
            ..Self::new(nothing, 0)
        })
    }

    /// A file with a codec, which is shown through its frames.
    pub(super) fn coded_file(
        frames: Arc<AddressRange>,
        file_len: u64,
        file: Arc<CodedFile>,
    ) -> Self {
        Self {
            coded: Some(file),
            ..Self::new(frames, file_len)
        }
    }

    #[cold]
    fn fetched_bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let fetched = self.fetched.as_ref().filter(|_| !self.is_inherited());
        fetched?.bytes(offset, len)
    }

    /// The number of reads of a function that failed.
    pub(crate) fn failed_reads(&self) -> u64 {
        let fetched = self.fetched.as_ref();
        fetched.map_or(0, |fetched| fetched.failed_reads())
    }

    /// Why a function did not read the bytes of the file that were needed last; `None` if it did,
    /// or if there is none.
    #[cold]
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.fetched.as_ref()?.take_failure()
    }

    pub(super) fn new(address_range: Arc<AddressRange>, file_len: u64) -> Self {
        assert!(
            address_range.base().as_ptr().align_offset(LINE) == 0,
            "a mapping begins at a cache line, as pages do"
        );
        assert!(
            isize::try_from(address_range.len()).is_ok(),
            "a slice of all bytes of a mapping is possible"
        );
        let mapping = Self {
            base: address_range.base(),
            readable: AtomicU64::new(0),
            generation: ForkGeneration::current(),
            faults: address_range.faults(),
            address_range,
            io_wait: IoWaitEstimator::default(),
            fetched: None,
            coded: None,
        };
        mapping.set_file_len(file_len);
        mapping
    }

    /// Makes bytes accessible up to `file_len`, and no longer accessible from there on.
    pub(super) fn set_file_len(&self, file_len: u64) {
        let len = file_len.min(self.address_range.len());
        // Bytes that the system cannot show yet stay outside.
        let len = match self.address_range.show(len) {
            Ok(()) => len,
            Err(_) => len.min(self.readable.load(Relaxed)),
        };
        // Relaxed: a thread learns of a page in the grown part through something that orders this
        // store before. Any other thread gets `None`.
        self.readable.store(len, Relaxed);
    }

    /// Borrows bytes as [`Pinned`] does, for tests that write nothing meanwhile.
    #[cfg(test)]
    pub(super) fn bytes_at_rest(&self, offset: u64, len: usize) -> Option<&[u8]> {
        // SAFETY: reason 4 of `io/pinned.rs`: the test has the file to itself.
        unsafe { Pinned::assume(self) }.bytes(offset, len)
    }

    /// The file offset of bytes, if they are a slice of this mapping.
    pub(crate) fn offset_of(&self, bytes: &[u8]) -> Option<u64> {
        let offset = bytes.as_ptr().addr().checked_sub(self.base.addr().get())?;
        Some(offset as u64).filter(|offset| *offset < self.address_range.len())
    }

    /// Whether this process is a child of the one that mapped the file. For a child nothing keeps
    /// pages unchanged.
    #[inline]
    pub(crate) fn is_inherited(&self) -> bool {
        self.generation.is_past()
    }

    /// The counter of reads that failed and returned zeros.
    #[inline]
    pub(crate) fn faults(&self) -> &'static Faults {
        self.faults
    }

    /// The estimator of whether reads wait for the disk.
    #[inline]
    pub(crate) fn io_wait(&self) -> &IoWaitEstimator {
        &self.io_wait
    }

    /// Brings bytes into memory before they are accessed, so that an unreadable sector is an error
    /// here and not a signal later. (The system may drop the bytes again before they are accessed;
    /// that cannot be prevented.)
    ///
    /// # Errors
    ///
    /// - The system's error from reading the bytes.
    /// - `UnexpectedEof` outside of the file.
    pub(crate) fn prefault(&self, offset: u64, len: usize, content: Content) -> io::Result<()> {
        if !self.contains(offset, len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(coded) = &self.coded {
            return coded.load(offset, len, content);
        }
        if let Some(fetched) = &self.fetched {
            return fetched.fetch(offset, len).map(drop);
        }
        // Zeros that replace the file would already be in memory.
        self.faults.count();
        self.address_range.populate(offset, len)
    }

    /// Asks the system to begin reading bytes that will be accessed soon. Only a hint.
    pub(crate) fn announce(&self, offset: u64, len: u64) {
        if let Some(coded) = &self.coded {
            return coded.encoded.announce(offset, len);
        }
        self.address_range.announce(offset, len);
    }

    /// Like [`Self::announce`], for bytes in several positions. If some of the first ones are not
    /// in memory, notes that reads wait for the disk.
    pub(crate) fn announce_all(&self, ranges: impl Iterator<Item = (u64, u64)>) {
        if let Some(coded) = &self.coded {
            return ranges.for_each(|(offset, len)| coded.encoded.announce(offset, len));
        }
        for (index, (offset, len)) in ranges.enumerate() {
            if index < RESIDENCY_CHECKS_MAX && self.address_range.is_absent(offset) {
                self.io_wait.note_absent();
            }
            self.announce(offset, len);
        }
    }

    /// Advises the system how the whole mapping will be read. Only a hint.
    pub(super) fn advise_all(&self, advice: Advice) {
        self.address_range
            .advise(0, self.address_range.len(), advice);
    }

    /// Brings bytes into memory and keeps them there while this mapping lives, or until they are
    /// [unlocked](Self::unlock_all).
    ///
    /// # Errors
    ///
    /// - The system's error. If a limit applies, the text states it.
    /// - `UnexpectedEof` outside of the file.
    pub(crate) fn lock(&self, offset: u64, len: usize) -> io::Result<()> {
        if let Some(coded) = &self.coded {
            return coded.encoded.lock(offset, len);
        }
        // The last system page may be in the file only in part.
        self.prefault(offset, len, Content::Raw)?;
        self.address_range.lock(offset, len)
    }

    /// Unlocks all bytes that were locked in memory.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(crate) fn unlock_all(&self) -> io::Result<()> {
        match &self.coded {
            Some(coded) => coded.encoded.unlock_all(),
            None => self.address_range.unlock_all(),
        }
    }

    /// Advises the system that the mapping is not needed for now. Only a hint.
    pub(crate) fn release(&self) {
        match &self.coded {
            Some(coded) => coded.encoded.release(),
            None => self.address_range.release(),
        }
    }

    /// Splits the large folio that contains the page at `offset`, if there is one. Only a hint.
    pub(super) fn split_folio(&self, offset: u64) {
        // Advice for one page of a folio splits the folio. Marking this page as cold has no other
        // effect that matters. Only a mapped page is split.
        if self.prefault(offset, 1, Content::Raw).is_ok() {
            self.address_range.advise(offset, 1, Advice::Cold);
        }
    }

    /// Prefetches cache lines from `offset` on. Harmless outside of the file.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64, lines: usize) {
        let first = self.base.as_ptr().wrapping_add(offset as usize);
        (0..lines).for_each(|line| prefetch_line(first.wrapping_add(line * LINE)));
    }

    /// Copies bytes that may be changed in place concurrently. The copy may then be a mix of old
    /// and new bytes, and must be verified. Returns `false` and copies nothing outside of the file.
    #[must_use]
    pub(crate) fn copy(&self, offset: u64, out: &mut [u8]) -> bool {
        if let Some(coded) = &self.coded {
            return coded.encoded.read(offset, out).is_ok();
        }
        if !self.is_readable(offset, out.len()) {
            return match self.fetched_bytes(offset, out.len()) {
                Some(bytes) => {
                    out.copy_from_slice(bytes);
                    true
                }
                None => false,
            };
        }
        debug_assert!(
            offset + out.len() as u64 <= self.address_range.len(),
            "readable bytes are inside of the address range"
        );
        let start = self.base.as_ptr().wrapping_add(offset as usize);
        let is_aligned = start.align_offset(size_of::<u64>()) == 0;
        let words_len = if is_aligned { out.len() / 8 * 8 } else { 0 };
        let (words, rest) = out.split_at_mut(words_len);
        for (index, word) in words.chunks_exact_mut(8).enumerate() {
            // SAFETY: arguments 1 and 4 of this module's head; the word is aligned.
            let loaded = unsafe { AtomicU64::from_ptr(start.add(8 * index).cast()).load(Relaxed) };
            word.copy_from_slice(&loaded.to_ne_bytes());
        }
        for (index, byte) in rest.iter_mut().enumerate() {
            // SAFETY: arguments 1 and 4 of this module's head; a byte is always aligned.
            *byte = unsafe { AtomicU8::from_ptr(start.add(words_len + index)).load(Relaxed) };
        }
        true
    }

    /// Whether `len` bytes from `offset` on are in the file.
    #[inline]
    pub(crate) fn contains(&self, offset: u64, len: usize) -> bool {
        let fetched = || self.fetched.as_ref();
        self.is_readable(offset, len)
            || fetched().is_some_and(|fetched| fetched.contains(offset, len))
    }

    /// Whether `len` bytes from `offset` on are in the file, and mapped.
    #[inline]
    fn is_readable(&self, offset: u64, len: usize) -> bool {
        offset
            .checked_add(len as u64)
            .is_some_and(|end| end <= self.readable.load(Relaxed))
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping")
            .field("readable_len", &self.readable.load(Relaxed))
            .field("address_range_len", &self.address_range.len())
            .finish()
    }
}

/// Prefetches the cache lines of `bytes`.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8]) {
    bytes
        .chunks(LINE)
        .for_each(|line| prefetch_line(line.as_ptr()));
}

/// Like [`prefetch`], for at most `lines` cache lines.
#[inline(always)]
pub(crate) fn prefetch_lines(bytes: &[u8], lines: usize) {
    let lines = bytes.chunks(LINE).take(lines);
    lines.for_each(|line| prefetch_line(line.as_ptr()));
}

#[inline(always)]
fn prefetch_line(address: *const u8) {
    // SAFETY: argument 5 of this module's head.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    // SAFETY: argument 5 of this module's head.
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
