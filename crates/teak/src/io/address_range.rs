//! An address range that stays valid while it lives: a mapped file, or heap memory of the simulated
//! disk.
//!
//! A mapped range holds its file, and with it the lock on the file. No other process can therefore
//! change bytes that are still being read here, even when the storage itself is long gone.

use super::{
    faults::{FaultWatch, Faults},
    held_file::HeldFile,
    locked::LockedFile,
};
use rustix::{
    io::Errno,
    mm::{self, Advice, MapFlags, ProtFlags},
};
use std::{
    fs::File,
    io,
    num::NonZeroU64,
    os::{fd::AsFd, unix::fs::FileExt},
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// Set once the system has reported that it cannot populate memory on demand (Linux before 5.14).
static CANNOT_POPULATE: AtomicBool = AtomicBool::new(false);

/// How a file is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protection {
    Read,
    ReadWrite,
}

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
    File { locked: Arc<LockedFile> },
    Heap {
        start: NonNull<u8>,
        layout: std::alloc::Layout,
    },
    /// Words that threads share, or processes if a file backs them. Only words are read or written
    /// there.
    Shared,
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
        protection: Protection,
    ) -> io::Result<Self> {
        let page_size = rustix::param::page_size() as u64;
        let round = |bytes: u64| {
            bytes
                .max(1)
                .checked_next_multiple_of(page_size)
                .unwrap_or(u64::MAX)
        };
        let needed = round(needed);
        let mut len = round(wanted).max(needed);
        let is_writable = protection == Protection::ReadWrite;
        // A child process keeps the mapping, and must not keep the lock.
        let unlocked = file.held().for_mapping(is_writable)?;
        let mapped = unlocked.as_ref().unwrap_or(file);
        loop {
            match map_exactly(mapped, 0, len, protection) {
                Ok(base) => {
                    let address = base.as_ptr() as usize;
                    assert!(
                        len >= needed && len.is_multiple_of(page_size),
                        "a mapping has whole system pages, and all that was asked for"
                    );
                    // SAFETY: the range keeps the addresses and the file until it is dropped, which
                    // drops the watch first.
                    let watch = unsafe {
                        FaultWatch::new(address, len as usize, file.as_fd(), is_writable)
                    };
                    return Ok(Self {
                        base,
                        len,
                        origin: Origin::File {
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
    /// `head` must have words only, and live until nobody accesses this range any more.
    pub(super) unsafe fn shared(
        file: &HeldFile,
        offset: u64,
        len: usize,
        head: Option<&Self>,
    ) -> io::Result<Self> {
        assert!(
            offset.is_multiple_of(rustix::param::page_size() as u64) && len > 0,
            "shared words are mapped from the start of a system page"
        );
        // A child process keeps the mapping, and must not keep the locks.
        let unlocked = file.for_mapping(true)?;
        let mapped = unlocked.as_ref().unwrap_or(file);
        let base = map_exactly(mapped, offset, len as u64, Protection::ReadWrite)?;
        // SAFETY: the memory is mapped, and the advice does not change its content.
        let _ = unsafe { mm::madvise(base.as_ptr().cast(), len, Advice::Random) };
        let own = (base.as_ptr() as usize, len);
        let head = head.map_or(own, |head| (head.base.as_ptr() as usize, head.len as usize));
        // SAFETY: the range keeps its addresses until it is dropped, which drops the watch first.
        // The head lives as long, as the caller promises, and both have words only.
        let watch = unsafe { FaultWatch::of_words(own, head) };
        Ok(Self {
            base,
            len: len as u64,
            origin: Origin::Shared,
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
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses the address, so no memory in use is replaced.
        let base = unsafe {
            mm::mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE)?
        };
        Ok(Self {
            base: NonNull::new(base.cast()).ok_or(Errno::NOMEM)?,
            len: len as u64,
            origin: Origin::Shared,
            watch: None,
        })
    }

    /// Replaces shared words by private memory of this process, all zeros.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn detach(&self) -> io::Result<()> {
        assert!(
            matches!(self.origin, Origin::Shared),
            "words that are shared"
        );
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let address = self.base.as_ptr().cast();
        // SAFETY: the addresses are those of this range and stay valid. They are only read and
        // written as atomic words, which may have any value at any time.
        unsafe { mm::mmap_anonymous(address, self.len as usize, protection, flags)? };
        Ok(())
    }

    /// Zeroed heap memory, at the start of a page. The system provides it at the first access.
    pub(super) fn zeroed(len: usize) -> Self {
        // With page alignment the allocator would fill the memory itself.
        const ALIGN: usize = 4096;
        let layout = std::alloc::Layout::from_size_align(len + ALIGN, 16)
            .expect("a capacity that memory can have");
        // SAFETY: the layout is not of size 0.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            std::alloc::handle_alloc_error(layout)
        };
        // SAFETY: less than ALIGN bytes are skipped, and the allocation has ALIGN more than `len`.
        let base = unsafe { start.add(start.align_offset(ALIGN)) };
        assert!(
            base.addr().get() + len <= start.addr().get() + layout.size(),
            "the aligned bytes are all in the allocation"
        );
        Self {
            base,
            len: len as u64,
            origin: Origin::Heap { start, layout },
            watch: None,
        }
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

    /// Advises the system about the memory pages that these bytes touch. A hint: errors are
    /// ignored, and so are bytes outside of the range.
    pub(super) fn advise(&self, offset: u64, len: u64, advice: Advice) {
        if !self.is_mapped() {
            return;
        }
        let page_size = rustix::param::page_size() as u64;
        let start = offset - offset % page_size;
        let end = offset.saturating_add(len).min(self.len);
        if start >= end {
            return;
        }
        debug_assert!(
            start.is_multiple_of(page_size) && end <= self.len,
            "advice is for system pages of this range"
        );
        // SAFETY: start < end <= len, so the bytes are inside of what this range has mapped. No
        // advice used here changes content.
        let _ = unsafe {
            let address = self.base.add(start as usize).as_ptr();
            mm::madvise(address.cast(), (end - start) as usize, advice)
        };
    }

    /// Asks the system to begin reading bytes. A hint: errors are ignored.
    pub(super) fn announce(&self, offset: u64, len: u64) {
        if let (Origin::File { locked }, Some(len)) = (&self.origin, NonZeroU64::new(len)) {
            // `madvise` would look up the mapping first, which takes as long again.
            let soon = rustix::fs::Advice::WillNeed;
            let _ = rustix::fs::fadvise(locked.as_fd(), offset, Some(len), soon);
        }
    }

    /// Whether the memory page at `offset` is not in memory, as far as the system reports.
    pub(super) fn is_absent(&self, offset: u64) -> bool {
        if !self.is_mapped() || offset >= self.len {
            return false;
        }
        let page_size = rustix::param::page_size();
        let start = offset as usize / page_size * page_size;
        let mut state = 1u8;
        // SAFETY: the page is inside of what this range has mapped, and its state takes one byte.
        let answer = unsafe {
            let address = self.base.add(start).as_ptr();
            libc::mincore(address.cast(), page_size, &mut state)
        };
        answer == 0 && state & 1 == 0
    }

    /// Locks these bytes in memory. They must be inside of the range, and of the file.
    ///
    /// # Errors
    ///
    /// The system's error. If a limit applies, the text states it.
    pub(super) fn lock(&self, offset: u64, len: usize) -> io::Result<()> {
        if !self.is_mapped() {
            return Ok(());
        }
        let end = offset.checked_add(len as u64);
        assert!(
            end.is_some_and(|end| end <= self.len),
            "bytes inside of the address range"
        );
        let skipped = offset % rustix::param::page_size() as u64;
        // SAFETY: the bytes are inside of what this range has mapped; locking changes no content.
        let locked = unsafe {
            let address = self.base.add((offset - skipped) as usize).as_ptr();
            mm::mlock(address.cast(), len + skipped as usize)
        };
        locked.map_err(explain_lock)
    }

    /// Unlocks everything that was locked.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(super) fn unlock_all(&self) -> io::Result<()> {
        if !self.is_mapped() {
            return Ok(());
        }
        // SAFETY: exactly what this range has mapped; unlocking changes no content.
        unsafe { mm::munlock(self.base.as_ptr().cast(), self.len as usize)? };
        Ok(())
    }

    /// Advises the system that the file is not needed in memory for now.
    pub(super) fn release(&self) {
        let Origin::File { locked } = &self.origin else {
            return;
        };
        // Mapped pages stay in the cache regardless of advice about the file, so they are unmapped
        // first. They are read again when touched.
        self.advise(0, self.len, Advice::LinuxDontNeed);
        let all = rustix::fs::Advice::DontNeed;
        let _ = rustix::fs::fadvise(locked.as_fd(), 0, None, all);
    }

    /// Brings these bytes into memory now, so that an unreadable sector is an error here and not a
    /// signal at the later access. The bytes must be inside of the range.
    ///
    /// # Errors
    ///
    /// The system's error from reading the bytes: another program may have truncated the file, or
    /// the disk may fail to read a sector.
    pub(super) fn populate(&self, offset: u64, len: usize) -> io::Result<()> {
        let file = match &self.origin {
            Origin::File { locked } => locked,
            Origin::Heap { .. } | Origin::Shared => return Ok(()),
        };
        let end = offset
            .checked_add(len as u64)
            .filter(|end| *end <= self.len);
        assert!(end.is_some(), "bytes inside of the address range");
        if CANNOT_POPULATE.load(Relaxed) {
            return read_through(file, offset, len);
        }
        let skipped = offset % rustix::param::page_size() as u64;
        let (start, len_bytes) = (offset - skipped, len + skipped as usize);
        loop {
            // SAFETY: the bytes are inside of what this range has mapped (the end is rounded up to
            // a system page, like the length of the range), and populating changes no content.
            let populated = unsafe {
                let address = self.base.add(start as usize).as_ptr();
                mm::madvise(address.cast(), len_bytes, Advice::LinuxPopulateRead)
            };
            return match populated {
                Ok(()) => Ok(()),
                Err(Errno::INTR) => continue,
                // The system has no memory to spare just now. That does not concern the bytes.
                Err(Errno::AGAIN | Errno::NOMEM) => read_through(file, offset, len),
                Err(Errno::INVAL) => {
                    CANNOT_POPULATE.store(true, Relaxed);
                    read_through(file, offset, len)
                }
                // Accessing the memory would raise a signal; reading the file returns the reason.
                Err(error) => read_through(file, offset, len).and(Err(error.into())),
            };
        }
    }

    fn is_mapped(&self) -> bool {
        match self.origin {
            Origin::File { .. } => true,
            Origin::Heap { .. } | Origin::Shared => false,
        }
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

fn map_exactly(
    file: &File,
    offset: u64,
    len: u64,
    protection: Protection,
) -> io::Result<NonNull<u8>> {
    let len = usize::try_from(len)
        .ok()
        .filter(|len| isize::try_from(*len).is_ok())
        .ok_or(rustix::io::Errno::NOMEM)?;
    let protection = match protection {
        Protection::Read => ProtFlags::READ,
        Protection::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
    };
    // SAFETY: the system chooses the address, so no memory in use is replaced.
    let base = unsafe {
        mm::mmap(
            std::ptr::null_mut(),
            len,
            protection,
            MapFlags::SHARED,
            file,
            offset,
        )?
    };
    assert!(
        (base as usize).is_multiple_of(rustix::param::page_size()),
        "the system maps whole pages"
    );
    Ok(NonNull::new(base.cast()).ok_or(rustix::io::Errno::NOMEM)?)
}

/// An error with advice if the system refuses to lock more memory.
fn explain_lock(error: Errno) -> io::Error {
    if !matches!(error, Errno::NOMEM | Errno::PERM | Errno::AGAIN) {
        return error.into();
    }
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is valid for writing.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) } == 0;
    let allowed = match limit.rlim_cur {
        bytes if is_known && bytes != libc::RLIM_INFINITY => {
            format!("this process may lock {bytes} bytes (RLIMIT_MEMLOCK)")
        }
        _ => "there may be too little memory".to_owned(),
    };
    let text =
        format!("{error}; {allowed}; raise the limit, as with `ulimit -l`, or use WarmUp::Read");
    io::Error::new(io::Error::from(error).kind(), text)
}

impl Drop for AddressRange {
    fn drop(&mut self) {
        self.watch = None;
        match &self.origin {
            // SAFETY: these addresses were mapped here, once, and every reader of them holds the
            // range.
            Origin::File { .. } | Origin::Shared => unsafe {
                let _ = mm::munmap(self.base.as_ptr().cast(), self.len as usize);
            },
            // SAFETY: allocated by `zeroed` with this layout.
            Origin::Heap { start, layout } => unsafe {
                std::alloc::dealloc(start.as_ptr(), *layout)
            },
        }
    }
}

#[cfg(test)]
#[path = "address_range_tests.rs"]
mod tests;
