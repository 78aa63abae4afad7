//! Decoded pages of a file whose pages are encoded.
//!
//! Private memory mirrors the file: the *frame* of the byte at offset o is at base + o. So code
//! that computes addresses from page numbers works for both kinds of file. A frame is filled when
//! its page is first read. The memory is bounded: frames that were loaded long ago are given back
//! to the system, in batches.
//!
//! The caller keeps a bit for each page that may be borrowed without a call. The protocol:
//!
//! - A *borrower* announces itself, executes a `SeqCst` fence, and then reads bits. If a bit is
//!   set, it borrows the page. If not, it calls [`Frames::load`] first, and may set the bit in
//!   [`Frames::note_if_hot`].
//! - *Cooling*: [`Frames::cool`] clears the bits of a batch of pages. A page that is loaded
//!   meanwhile is hot again. The caller then executes a `SeqCst` fence, and waits until each
//!   borrower that it finds announced has ended. [`Frames::discard_cooled`] gives the memory of the
//!   pages back that are still cooling.
//!
//! Invariants:
//!
//! 1. A bit is set only while the page is hot: it is set and cleared with the lock held.
//! 2. A slice of a page exists only if its bit was set, or the page was loaded, after its borrower
//!    had announced itself. So no borrower that announces itself after a page was cooled has a
//!    slice of it while it cools: the two fences order the clearing of the bit before its read.
//! 3. The frame of an absent page has zeros only.
//!
//! Memory ordering: frames are written with the lock held. A thread that loads a page takes the
//! lock after that. A thread that finds a bit set does not take it, so bits have to be set with
//! `Release` and read with `Acquire`. Pages that were [stored](Frames::store) are published with
//! the state that refers to them.
//!
//! Arguments of the `SAFETY` comments:
//!
//! 1. *Inside.* The pages are inside of the range: [`Frames::pages`] has compared them with its
//!    length. They have memory that is readable and writable: [`AddressRange::commit`] succeeded
//!    for them, and they are not absent; or they were just committed.
//! 2. *One writer.* The lock is held, and nobody writes to a frame without it.
//! 3. *Not borrowed.* The page is absent: invariant 2, and the promise of the caller of
//!    [`Frames::discard_cooled`]. Or it is stale and its bytes differ, or is stored: the callers of
//!    [`Frames::load`], [`Frames::store`], [`Frames::forget`] and [`Frames::distrust_all`] promise
//!    it.

mod frame_table;

use super::{address_range::AddressRange, forks::ForkGeneration, mutex::lock, sys};
use frame_table::{FrameContent, FrameTable};
use std::{
    fmt, hint, io,
    ops::Range,
    ptr::{self, NonNull},
    slice,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Number of extents that are discarded while the lock is held.
const DISCARDED_TOGETHER_MAX: usize = 64;

/// Numbers of pages, and the memory of all frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FrameCounters {
    /// The memory of all frames.
    pub(crate) resident_bytes: u64,
    /// Pages that were decoded.
    pub(crate) loaded: u64,
    /// Pages that were loaded and did not have to be decoded.
    pub(crate) hits: u64,
    /// Pages whose memory was given back.
    pub(crate) discarded: u64,
}

/// The frames of a file.
pub(crate) struct Frames {
    address_range: Arc<AddressRange>,
    page_len: usize,
    /// Pages in a page of the system, from whose start on memory is given back. A power of two.
    granule: u32,
    limit_bytes: u64,
    generation: ForkGeneration,
    table: Mutex<FrameTable>,
    resident_bytes: AtomicU64,
    loaded: AtomicU64,
    hits: AtomicU64,
    discarded: AtomicU64,
}

impl Frames {
    /// Reserves addresses for a file of up to `max_bytes`, or half of that if they are not
    /// available, and so on down to `needed`. Frames may take `limit_bytes` of memory until
    /// [`Self::is_over_limit`].
    ///
    /// # Errors
    ///
    /// The system's error; `Unsupported` on systems that cannot reserve addresses.
    pub(crate) fn reserve(
        needed: u64,
        max_bytes: u64,
        page_len: usize,
        limit_bytes: u64,
    ) -> io::Result<Self> {
        assert!(
            page_len.is_power_of_two() && page_len >= 4096,
            "frames have the length of pages"
        );
        let granule = (sys::system_page_len() / page_len).max(1);
        let unit = (granule * page_len) as u64;
        let round = |bytes: u64| bytes.max(1).checked_next_multiple_of(unit);
        let needed = round(needed).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut len = round(max_bytes).unwrap_or(needed).max(needed);
        let address_range = loop {
            match AddressRange::reserved(len) {
                Ok(range) => break Arc::new(range),
                Err(error) if len == needed => return Err(error),
                Err(_) => len = round(len / 2).unwrap_or(needed).max(needed),
            }
        };
        Ok(Self {
            address_range,
            page_len,
            granule: granule as u32,
            limit_bytes,
            generation: ForkGeneration::current(),
            table: Mutex::default(),
            resident_bytes: AtomicU64::new(0),
            loaded: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            discarded: AtomicU64::new(0),
        })
    }

    /// The frame of the first byte of the file.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.address_range.base()
    }

    /// Length of the addresses in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.address_range.len()
    }

    pub(crate) fn page_len(&self) -> usize {
        self.page_len
    }

    /// The memory that frames may take.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// The addresses, for a mapping of the decoded file. On Windows, an access to a page that was
    /// not loaded is a fault; elsewhere, zeros.
    pub(super) fn address_range(&self) -> &Arc<AddressRange> {
        &self.address_range
    }

    /// The numbers of pages, if they have frames.
    fn pages(&self, first: u32, count: u32) -> io::Result<Range<u32>> {
        let end = first.checked_add(count);
        let end = end.filter(|end| u64::from(*end) * self.page_len as u64 <= self.len());
        Ok(first..end.ok_or(io::ErrorKind::UnexpectedEof)?)
    }

    fn offset_of(&self, page: u32) -> u64 {
        u64::from(page) * self.page_len as u64
    }

    /// The address and the length of the frames of pages, which are inside of the range.
    fn memory(&self, pages: &Range<u32>) -> (*mut u8, usize) {
        let (start, end) = (self.offset_of(pages.start), self.offset_of(pages.end));
        assert!(end <= self.len(), "frames are inside of the address range");
        // SAFETY: argument 1 of this module's head.
        let address = unsafe { self.base().add(start as usize) };
        (address.as_ptr(), (end - start) as usize)
    }

    /// Ensures that the frames of `count` pages have their bytes: of one page of a tree, or all
    /// pages of a large value. If they do, they are hot afterwards. Otherwise `decode` fills a
    /// buffer without the lock, and what is missing is copied from there. Two threads may decode a
    /// page at the same time. Only one of them copies.
    ///
    /// # Errors
    ///
    /// - The error of `decode`. No frame has changed then.
    /// - `UnexpectedEof` if some of the pages have no frames.
    /// - `OutOfMemory`.
    /// - `Unsupported` in a child process.
    ///
    /// # Safety
    ///
    /// If a slice of one of these pages exists, `decode` must return the bytes which it shows.
    pub(crate) unsafe fn load(
        &self,
        first: u32,
        count: u32,
        decode: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        // The lock may have been held by a thread that the child does not have.
        if self.generation.is_past() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let pages = self.pages(first, count)?;
        let mut table = lock(&self.table);
        if table.revive(&pages) {
            self.hits.fetch_add(u64::from(count), Relaxed);
            return Ok(());
        }
        let load = table.begin_load(pages.clone());
        drop(table);
        // If `decode` panics, the load never ends. That is harmless.
        let buffer = DecodeBuffer::new(self.memory(&pages).1).and_then(|mut buffer| {
            decode(&mut buffer.0)?;
            Ok(buffer)
        });
        let mut table = lock(&self.table);
        let is_current = table.end_load(load);
        let buffer = buffer?;
        self.loaded.fetch_add(u64::from(count), Relaxed);
        self.address_range
            .commit(self.offset_of(first), buffer.0.len())?;
        for (page, bytes) in pages.clone().zip(buffer.0.chunks_exact(self.page_len)) {
            match table.content(page) {
                FrameContent::Valid => {}
                // SAFETY: arguments 1 and 2: nobody writes to the frame while it is compared.
                FrameContent::Stale if unsafe { self.has_bytes(page, bytes) } => {}
                // SAFETY: arguments 1 to 3 of this module's head. The page was just committed, and
                // is absent, or stale with other bytes.
                FrameContent::Stale | FrameContent::Absent => unsafe { self.write(page, bytes) },
            }
        }
        table.fill(&pages, is_current);
        self.publish(&table);
        Ok(())
    }

    /// Stores decoded pages that were just written to the file, one page from each part. The rest
    /// of a frame becomes zeros. If there is no memory for them, they are stale or absent.
    ///
    /// # Safety
    ///
    /// Nobody borrows these pages, and no reader knows of them yet.
    pub(crate) unsafe fn store(&self, first: u32, parts: &[&[u8]]) {
        assert!(
            parts.iter().all(|part| part.len() <= self.page_len),
            "a part is at most one page"
        );
        let count = u32::try_from(parts.len());
        let Some(pages) = count.ok().and_then(|count| self.pages(first, count).ok()) else {
            return;
        };
        let (offset, len) = (self.offset_of(first), self.memory(&pages).1);
        let mut table = lock(&self.table);
        table.mark_stale(&pages);
        if pages.is_empty() || self.address_range.commit(offset, len).is_err() {
            return;
        }
        for (page, part) in pages.clone().zip(parts) {
            // SAFETY: arguments 1 to 3 of this module's head: the page was just committed, and the
            // caller promises that nobody borrows it.
            unsafe {
                self.write(page, part);
                if table.content(page) != FrameContent::Absent {
                    let rest = self.memory(&(page..page + 1)).0.add(part.len());
                    ptr::write_bytes(rest, 0, self.page_len - part.len());
                }
            }
        }
        table.fill(&pages, true);
        self.publish(&table);
    }

    /// The content of these pages is about to change in the file. The caller has cleared their
    /// bits. They are decoded when they are loaded the next time.
    ///
    /// # Safety
    ///
    /// Nobody borrows these pages, and nobody will before they are stored or loaded.
    pub(crate) unsafe fn forget(&self, first: u32, count: u32) {
        if let Ok(pages) = self.pages(first, count) {
            lock(&self.table).mark_stale(&pages);
        }
    }

    /// Another process may have rewritten pages, and it is not known which. `clear` clears all
    /// bits. The next load of each page decodes it again. Only if its bytes differ they are written
    /// to the frame.
    ///
    /// # Safety
    ///
    /// Nobody borrows a page that was rewritten.
    pub(crate) unsafe fn distrust_all(&self, clear: impl FnOnce()) {
        let mut table = lock(&self.table);
        table.mark_all_stale();
        clear();
    }

    /// Calls `note` if all these pages are hot. It may set the caller's bits for them, also one bit
    /// for all of them: they cool together from now on.
    pub(crate) fn note_if_hot(&self, first: u32, count: u32, note: impl FnOnce()) {
        let Ok(pages) = self.pages(first, count) else {
            return;
        };
        let mut table = lock(&self.table);
        if table.join_if_hot(&pages) {
            note();
        }
    }

    /// If the frames take more memory than the limit, and no batch is cooling, cools pages in the
    /// order in which they were loaded, until the others take at most 7/8 of the limit. Calls
    /// `clear` for each extent (first page, number of pages), which clears the bits of all its
    /// pages. Returns whether a batch is cooling now that the caller has to discard.
    pub(crate) fn cool(&self, clear: impl FnMut(u32, u32)) -> bool {
        let resident_max = self.limit_bytes / self.page_len as u64;
        lock(&self.table).cool(resident_max, clear)
    }

    /// Gives the memory of pages back that are still cooling. Does nothing without a batch.
    ///
    /// # Safety
    ///
    /// Each borrower that was announced when [`Self::cool`] had returned has ended since.
    pub(crate) unsafe fn discard_cooled(&self) {
        loop {
            let mut table = lock(&self.table);
            let taken = table.take_cooled(DISCARDED_TOGETHER_MAX);
            for pages in &taken {
                self.discarded.fetch_add(pages.len() as u64, Relaxed);
                // SAFETY: arguments 2 and 3 of this module's head: nobody borrows these pages, as
                // the caller promises, and they are absent now.
                unsafe { self.discard(&table, pages) };
            }
            self.publish(&table);
            if !table.has_batch() {
                return;
            }
        }
    }

    /// Whether the frames take more memory than the limit.
    #[inline]
    pub(crate) fn is_over_limit(&self) -> bool {
        self.resident_bytes.load(Relaxed) > self.limit_bytes
    }

    pub(crate) fn counters(&self) -> FrameCounters {
        FrameCounters {
            resident_bytes: self.resident_bytes.load(Relaxed),
            loaded: self.loaded.load(Relaxed),
            hits: self.hits.load(Relaxed),
            discarded: self.discarded.load(Relaxed),
        }
    }

    /// Updates the number that is read without the lock, which is held.
    fn publish(&self, table: &FrameTable) {
        let bytes = table.resident_count() * self.page_len as u64;
        self.resident_bytes.store(bytes, Relaxed);
    }

    /// Whether the frame of a page has these bytes.
    ///
    /// # Safety
    ///
    /// Arguments 1 and 2 of this module's head hold for the page.
    unsafe fn has_bytes(&self, page: u32, bytes: &[u8]) -> bool {
        let (address, len) = self.memory(&(page..page + 1));
        // SAFETY: the caller's promise.
        (unsafe { slice::from_raw_parts(address, len) }) == bytes
    }

    /// Copies bytes to the start of the frame of a page.
    ///
    /// # Safety
    ///
    /// Arguments 1 to 3 of this module's head hold for the page.
    unsafe fn write(&self, page: u32, bytes: &[u8]) {
        let (address, len) = self.memory(&(page..page + 1));
        assert!(bytes.len() <= len, "a frame has one page");
        // SAFETY: the caller's promise. The bytes are in other memory, since the frame is not
        // borrowed.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) };
    }

    /// Gives the memory of pages back that are absent since now. If they share a page of the system
    /// with pages that are not absent, zeros are written to them instead.
    ///
    /// # Safety
    ///
    /// Arguments 2 and 3 of this module's head hold for the pages, which were resident.
    unsafe fn discard(&self, table: &FrameTable, pages: &Range<u32>) {
        let unit = self.granule;
        let are_absent =
            |mut pages: Range<u32>| pages.all(|page| table.content(page) == FrameContent::Absent);
        let (below, above) = (pages.start / unit * unit, pages.end.next_multiple_of(unit));
        let start = match are_absent(below..pages.start) {
            true => below,
            false => below + unit,
        };
        let end = match are_absent(pages.end..above) {
            true => above,
            false => above - unit,
        };
        // SAFETY: arguments 2 and 3: all these pages are absent.
        let is_done = start < end
            && unsafe {
                let len = self.memory(&(start..end)).1;
                self.address_range.discard(self.offset_of(start), len)
            };
        let rest = match is_done {
            true => [pages.start..start, end..pages.end],
            false => [pages.clone(), pages.end..pages.end],
        };
        for pages in rest.iter().filter(|pages| !pages.is_empty()) {
            let (address, len) = self.memory(pages);
            // SAFETY: arguments 1 to 3: the pages were resident, and their memory was not given
            // back.
            unsafe { ptr::write_bytes(address, 0, len) };
        }
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames")
            .field("address_range_len", &self.len())
            .field("page_len", &self.page_len)
            .field("limit_bytes", &self.limit_bytes)
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}

/// Heap memory for decoded bytes, which is overwritten before the allocator gets it back.
struct DecodeBuffer(Vec<u8>);

impl DecodeBuffer {
    fn new(len: usize) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let reserved = bytes.try_reserve_exact(len);
        reserved.map_err(|_| io::ErrorKind::OutOfMemory)?;
        bytes.resize(len, 0);
        Ok(Self(bytes))
    }
}

impl Drop for DecodeBuffer {
    fn drop(&mut self) {
        self.0.fill(0);
        // The compiler must not remove the stores.
        hint::black_box(&mut self.0);
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
