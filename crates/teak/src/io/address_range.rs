//! An address range that stays valid while it lives: a mapped file, heap memory of the simulated
//! disk, or addresses for decoded pages.
//!
//! A mapped range holds its file, and with it the lock on the file. No other process can therefore
//! change bytes that are still being read here, even when the storage itself is long gone.

use super::{
    faults::{FaultWatch, Faults},
    held_file::HeldFile,
    locked::LockedFile,
    sys::{self, Access, Advice, Failure, FileAt, Limit, Mapped, system_page_len},
};
use std::{fs::File, io, ops::Range, ptr::NonNull, sync::Arc};

/// An address range of `len` bytes from `base`.
#[derive(Debug)]
pub(super) struct AddressRange {
    base: NonNull<u8>,
    len: u64,
    origin: Origin,
    /// `None` if there is no file.
    watch: Option<FaultWatch>,
}

#[derive(Debug)]
enum Origin {
    /// The file is held for its lock, and read by calls if memory cannot be populated.
    File {
        mapped: Mapped,
        locked: Arc<LockedFile>,
    },
    Heap {
        start: NonNull<u8>,
        layout: std::alloc::Layout,
    },
    /// Words that threads share, or processes if a file backs them. Only words are read or written
    /// there. Or bytes that one owner writes, and nobody reads.
    Shared(#[allow(dead_code)] Mapped),
    /// Addresses for decoded pages, and memory where [`Frames`](super::frames::Frames) fills them.
    Reserved(Mapped),
}

// SAFETY: the range owns its addresses and gives out only their values. Each access there has its
// own safety argument.
unsafe impl Send for AddressRange {}
// SAFETY: no method changes the range itself.
unsafe impl Sync for AddressRange {}

impl AddressRange {
    /// Maps `file` from its start: `wanted` bytes, or half of that if the address space is not
    /// available, and so on down to `needed`.
    pub(super) fn map(
        file: &Arc<LockedFile>,
        needed: u64,
        wanted: u64,
        access: Access,
    ) -> io::Result<Self> {
        let page_size = system_page_len() as u64;
        let round = |bytes: u64| {
            bytes
                .max(1)
                .checked_next_multiple_of(page_size)
                .unwrap_or(u64::MAX)
        };
        let needed = round(needed);
        let mut len = round(wanted).max(needed);
        // A child process keeps the mapping, and must not keep the lock.
        let unlocked = file.held().for_mapping(access)?;
        let mapped = unlocked.as_ref().unwrap_or(file);
        loop {
            match map_exactly(mapped, 0, len, access) {
                Ok(mapped) => {
                    let (base, address) = (mapped.base(), mapped.base().addr().get());
                    assert!(
                        len >= needed && len.is_multiple_of(page_size),
                        "a mapping has whole system pages, and all that was asked for"
                    );
                    // SAFETY: the range keeps the addresses and the file until it is dropped, which
                    // drops the watch first.
                    let watch =
                        unsafe { FaultWatch::new(address, len as usize, sys::raw(file), access) };
                    return Ok(Self {
                        base,
                        len,
                        origin: Origin::File {
                            mapped,
                            locked: Arc::clone(file),
                        },
                        watch: Some(watch),
                    });
                }
                Err(error) if len == needed => return Err(error),
                Err(_) => len = round(len / 2).max(needed),
            }
        }
    }

    /// Maps words of a file that processes share. If some of them become inaccessible, this process
    /// stops sharing all of them, and those of `head`.
    ///
    /// The pages are touched one by one all over the file, and most are holes. With read-ahead the
    /// system would zero megabytes of memory for the first of them, and release it when the file is
    /// removed.
    ///
    /// # Safety
    ///
    /// `head` must have words only, and live until nobody accesses this range any more. In this
    /// range, too, only words are accessed, as atomics; or one owner writes bytes there, and nobody
    /// reads them through it.
    pub(super) unsafe fn shared(
        file: &HeldFile,
        offset: u64,
        len: usize,
        head: Option<&Self>,
    ) -> io::Result<Self> {
        assert!(
            offset.is_multiple_of(system_page_len() as u64) && len > 0,
            "shared words are mapped from the start of a system page"
        );
        // A child process keeps the mapping, and must not keep the locks.
        let unlocked = file.for_mapping(Access::ReadWrite)?;
        let mapped = unlocked.as_ref().unwrap_or(file);
        let mapped = map_exactly(mapped, offset, len as u64, Access::ReadWrite)?;
        sys::advise(&mapped, 0..len, Advice::Random);
        let base = mapped.base();
        let own = (base.addr().get(), len);
        let head = head.map_or(own, |head| (head.base.as_ptr() as usize, head.len as usize));
        // SAFETY: the range keeps its addresses until it is dropped, which drops the watch first.
        // The head lives as long, as the caller promises, and both have words only.
        let watch = unsafe { FaultWatch::of_words(own, head) };
        Ok(Self {
            base,
            len: len as u64,
            origin: Origin::Shared(mapped),
            watch: Some(watch),
        })
    }

    /// Makes all words private to this process, as after a fault.
    #[cfg(test)]
    pub(super) fn lose(&self) {
        if let Some(watch) = &self.watch {
            watch.faults().lose_words();
        }
    }

    /// Zeroed memory of this process. The system provides each page at its first access.
    pub(super) fn anonymous(len: usize) -> io::Result<Self> {
        assert!(len > 0, "an address range has bytes");
        let mapped = Mapped::private(len)?;
        Ok(Self {
            base: mapped.base(),
            len: len as u64,
            origin: Origin::Shared(mapped),
            watch: None,
        })
    }

    /// Addresses of this process without memory. Bytes must be [committed](Self::commit) before
    /// they are accessed. They are zeros then. The range is not in core dumps, and child processes
    /// do not get its bytes, where the system can do that.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `Unsupported` if the system cannot reserve addresses.
    pub(super) fn reserved(len: u64) -> io::Result<Self> {
        let exact = usize::try_from(len).ok();
        let exact = exact.filter(|len| *len > 0 && isize::try_from(*len).is_ok());
        let exact = exact.ok_or(io::ErrorKind::OutOfMemory)?;
        let mapped = Mapped::reserved(exact)?;
        sys::hide(&mapped, 0..exact);
        Ok(Self {
            base: mapped.base(),
            len,
            origin: Origin::Reserved(mapped),
            watch: None,
        })
    }

    fn reserved_bytes(&self, offset: u64, len: usize) -> (&Mapped, Range<usize>) {
        self.assert_inside(offset, len);
        let Origin::Reserved(mapped) = &self.origin else {
            panic!("memory is committed and discarded in reserved addresses");
        };
        (mapped, offset as usize..offset as usize + len)
    }

    /// Makes reserved bytes accessible. Bytes that are accessible already stay unchanged.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(super) fn commit(&self, offset: u64, len: usize) -> io::Result<()> {
        let (mapped, bytes) = self.reserved_bytes(offset, len);
        match bytes.is_empty() {
            true => Ok(()),
            false => mapped.commit(bytes),
        }
    }

    /// Gives the memory of reserved bytes back to the system: they are zeros when they are
    /// committed again. The bytes are whole pages of the system. Returns `false` if the system
    /// refuses.
    ///
    /// # Safety
    ///
    /// Nobody borrows these bytes.
    pub(super) unsafe fn discard(&self, offset: u64, len: usize) -> bool {
        let (mapped, bytes) = self.reserved_bytes(offset, len);
        let page_len = system_page_len();
        assert!(
            bytes.start.is_multiple_of(page_len) && len.is_multiple_of(page_len),
            "whole system pages are given back"
        );
        // SAFETY: the caller's promise.
        unsafe { sys::discard(mapped, bytes) }
    }

    /// Replaces shared words by private memory of this process, all zeros.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn detach(&self) -> io::Result<()> {
        assert!(
            matches!(self.origin, Origin::Shared(_)),
            "words that are shared"
        );
        let (start, len) = (self.base.addr().get(), self.len as usize);
        // SAFETY: the addresses are those of this range and stay valid. They are only read and
        // written as atomic words, which may have any value at any time.
        match unsafe { sys::zeros_over(start, len, Access::ReadWrite) } {
            true => Ok(()),
            false => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }

    /// Zeroed heap memory, at the start of a page. The system provides it at the first access.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`.
    pub(super) fn zeroed(len: usize) -> io::Result<Self> {
        // With page alignment the allocator would fill the memory itself.
        const ALIGN: usize = 4096;
        let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
        let padded = len.checked_add(ALIGN).ok_or_else(no_memory)?;
        let layout = std::alloc::Layout::from_size_align(padded, 16).map_err(|_| no_memory())?;
        // SAFETY: the layout is not of size 0.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or_else(no_memory)?;
        // SAFETY: less than ALIGN bytes are skipped, and the allocation has ALIGN more than `len`.
        let base = unsafe { start.add(start.align_offset(ALIGN)) };
        assert!(
            base.addr().get() + len <= start.addr().get() + layout.size(),
            "the aligned bytes are all in the allocation"
        );
        Ok(Self {
            base,
            len: len as u64,
            origin: Origin::Heap { start, layout },
            watch: None,
        })
    }

    /// Heap memory whose `len` bytes a function fills.
    ///
    /// # Errors
    ///
    /// - The error of the function.
    /// - `OutOfMemory`.
    pub(super) fn filled(
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<Self> {
        let memory = Self::zeroed(len)?;
        // SAFETY: the memory has `len` bytes, all zeros, and nobody else knows of it yet.
        fill(unsafe { std::slice::from_raw_parts_mut(memory.base.as_ptr(), len) })?;
        Ok(memory)
    }

    /// Writes to heap memory that other threads may be copying from.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn store(&self, offset: u64, bytes: &[u8]) {
        use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
        assert!(
            !self.is_mapped(),
            "a mapped file is written to by calls or through a writable extent"
        );
        let end = offset.checked_add(bytes.len() as u64);
        assert!(
            end.is_some_and(|end| end <= self.len),
            "a write inside of the address range"
        );
        for (index, byte) in bytes.iter().enumerate() {
            // SAFETY: inside the range, as checked. Concurrent readers of these bytes use atomic
            // loads, see `Mapping::copy`.
            unsafe {
                AtomicU8::from_ptr(self.base.as_ptr().add(offset as usize + index))
                    .store(*byte, Relaxed)
            };
        }
    }

    #[inline]
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Number of bytes, at most `isize::MAX`.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The fault counter of this range.
    pub(super) fn faults(&self) -> &'static Faults {
        self.watch
            .as_ref()
            .map_or(Faults::none(), FaultWatch::faults)
    }

    /// Makes bytes of the range accessible that the file has grown by, before other code learns of
    /// them.
    ///
    /// # Errors
    ///
    /// The system's error. They are not accessible then.
    pub(super) fn show(&self, file_len: u64) -> io::Result<()> {
        match &self.origin {
            Origin::File { mapped, locked } => mapped.show(locked, file_len.min(self.len)),
            Origin::Heap { .. } | Origin::Shared(_) | Origin::Reserved(_) => Ok(()),
        }
    }

    /// The mapped file, and the bytes of these that are in the range, from the start of a system
    /// page on. `None` if there are none, or if there is no file.
    fn mapped_pages(&self, offset: u64, len: u64) -> Option<(&Mapped, Range<usize>)> {
        let start = offset - offset % system_page_len() as u64;
        let end = offset.saturating_add(len).min(self.len);
        match &self.origin {
            Origin::File { mapped, .. } if start < end => {
                Some((mapped, start as usize..end as usize))
            }
            _ => None,
        }
    }

    /// Advises the system about the memory pages that these bytes touch. A hint: errors are
    /// ignored, and so are bytes outside of the range.
    pub(super) fn advise(&self, offset: u64, len: u64, advice: Advice) {
        if let Some((mapped, pages)) = self.mapped_pages(offset, len) {
            sys::advise(mapped, pages, advice);
        }
    }

    /// Asks the system to begin reading bytes. A hint: errors are ignored.
    pub(super) fn announce(&self, offset: u64, len: u64) {
        if let Origin::File { locked, .. } = &self.origin {
            sys::read_soon(locked, offset, len);
        }
    }

    /// Whether the memory page at `offset` is not in memory, as far as the system reports.
    pub(super) fn is_absent(&self, offset: u64) -> bool {
        let page = self.mapped_pages(offset, 1);
        page.is_some_and(|(mapped, page)| sys::is_absent(mapped, page.start))
    }

    /// Locks these bytes in memory. They must be inside of the range, and of the file.
    ///
    /// # Errors
    ///
    /// The system's error. If a limit applies, the text states it.
    pub(super) fn lock(&self, offset: u64, len: usize) -> io::Result<()> {
        self.assert_inside(offset, len);
        match self.mapped_pages(offset, len as u64) {
            Some((mapped, pages)) => mapped.pin(pages).map_err(explain_lock),
            None => Ok(()),
        }
    }

    /// Unlocks everything that was locked.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(super) fn unlock_all(&self) -> io::Result<()> {
        match &self.origin {
            Origin::File { mapped, .. } => mapped.unpin_all(),
            Origin::Heap { .. } | Origin::Shared(_) | Origin::Reserved(_) => Ok(()),
        }
    }

    /// Advises the system that the file is not needed in memory for now.
    pub(super) fn release(&self) {
        // Mapped pages stay in the cache regardless of advice about the file, so they are unmapped
        // first. They are read again when touched.
        self.advise(0, self.len, Advice::NotNeeded);
        if let Origin::File { locked, .. } = &self.origin {
            sys::drop_cache(locked);
        }
    }

    /// Brings these bytes into memory now, so that an unreadable sector is an error here and not a
    /// signal at the later access. The bytes must be inside of the range.
    ///
    /// # Errors
    ///
    /// The system's error from reading the bytes: another program may have truncated the file, or
    /// the disk may fail to read a sector.
    pub(super) fn populate(&self, offset: u64, len: usize) -> io::Result<()> {
        self.assert_inside(offset, len);
        let Origin::File { locked, .. } = &self.origin else {
            return Ok(());
        };
        let Some((mapped, pages)) = self.mapped_pages(offset, len as u64) else {
            return Ok(());
        };
        match sys::populate(mapped, pages) {
            Ok(true) => Ok(()),
            Ok(false) => read_through(locked, offset, len),
            // Accessing the memory would raise a signal; reading the file returns the reason.
            Err(error) => read_through(locked, offset, len).and(Err(error)),
        }
    }

    fn assert_inside(&self, offset: u64, len: usize) {
        let end = offset.checked_add(len as u64);
        assert!(
            end.is_some_and(|end| end <= self.len),
            "bytes inside of the address range"
        );
    }

    #[cfg(any(test, feature = "testing"))]
    fn is_mapped(&self) -> bool {
        matches!(self.origin, Origin::File { .. })
    }
}

/// Reads bytes of a file only to find out whether that succeeds.
fn read_through(file: &File, offset: u64, len: usize) -> io::Result<()> {
    let mut scratch = [0; 4096];
    for done in (0..len).step_by(scratch.len()) {
        let part = scratch.len().min(len - done);
        file.read_exact_at(&mut scratch[..part], offset + done as u64)?;
    }
    Ok(())
}

fn map_exactly(file: &File, offset: u64, len: u64, access: Access) -> io::Result<Mapped> {
    let len = usize::try_from(len).ok();
    let len = len.filter(|len| isize::try_from(*len).is_ok());
    let mapped = Mapped::file(file, offset, len.ok_or(io::ErrorKind::OutOfMemory)?, access)?;
    assert!(
        mapped.base().addr().get().is_multiple_of(system_page_len()),
        "the system maps whole pages"
    );
    Ok(mapped)
}

/// An error with advice if the system refuses to lock more memory.
fn explain_lock(error: io::Error) -> io::Error {
    let is_limit = matches!(
        Failure::of_error(&error),
        Some(Failure::NoMemory | Failure::NotAllowed | Failure::TryAgain)
    );
    if !is_limit {
        return error;
    }
    let limit = Limit::LockedMemory;
    let allowed = match sys::limit(limit) {
        Some(bytes) => format!("this process may lock {bytes} bytes ({})", limit.name()),
        None => "there may be too little memory".to_owned(),
    };
    let text = format!("{error}; {allowed}; raise the limit, or use WarmUp::Read");
    io::Error::new(error.kind(), text)
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        // The mapped addresses are released after this.
        self.watch = None;
        if let Origin::Heap { start, layout } = &self.origin {
            // SAFETY: allocated by `zeroed` with this layout.
            unsafe { std::alloc::dealloc(start.as_ptr(), *layout) };
        }
    }
}

#[cfg(test)]
#[path = "address_range_tests.rs"]
mod tests;
