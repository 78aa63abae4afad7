//! Mapped memory.

use super::process::{borrow, system_page_len};
use crate::io::sys::types::{Access, Advice};
use rustix::{
    io::Errno,
    mm::{self, MapFlags, ProtFlags},
};
use std::{
    fs::File,
    io,
    ops::Range,
    ptr::{self, NonNull},
};

/// Addresses that are mapped while this lives.
#[derive(Debug)]
pub(crate) struct Mapped {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the addresses are owned, and accesses there have their own safety arguments.
unsafe impl Send for Mapped {}
// SAFETY: the addresses do not change.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps `len` bytes of a file from `offset` on, which is at a system page. They may reach past
    /// the end of the file: nobody may access those before the file has grown.
    pub(crate) fn file(file: &File, offset: u64, len: usize, access: Access) -> io::Result<Self> {
        assert!(
            len > 0 && offset.is_multiple_of(system_page_len() as u64),
            "bytes are mapped from the start of a system page on"
        );
        let (none, flags) = (ptr::null_mut(), MapFlags::SHARED);
        // SAFETY: the system chooses the address, so no memory in use is replaced.
        let base = unsafe { mm::mmap(none, len, protection(access), flags, file, offset)? };
        Self::at(base, len)
    }

    /// Zeros of this process. The system provides each page at its first access.
    pub(crate) fn private(len: usize) -> io::Result<Self> {
        let protection = protection(Access::ReadWrite);
        let (none, flags) = (ptr::null_mut(), MapFlags::PRIVATE);
        // SAFETY: the system chooses the address, so no memory in use is replaced.
        let base = unsafe { mm::mmap_anonymous(none, len, protection, flags)? };
        Self::at(base, len)
    }

    /// Addresses of this process, for bytes that are zeros at first. They take no memory before
    /// they are written to, and the system does not count it before that, if it can.
    pub(crate) fn reserved(len: usize) -> io::Result<Self> {
        let protection = protection(Access::ReadWrite);
        let (none, flags) = (ptr::null_mut(), MapFlags::PRIVATE | NO_RESERVE);
        // SAFETY: the system chooses the address, so no memory in use is replaced.
        let base = unsafe { mm::mmap_anonymous(none, len, protection, flags)? };
        Self::at(base, len)
    }

    /// Makes reserved bytes accessible. Here they are from the start.
    pub(crate) fn commit(&self, range: Range<usize>) -> io::Result<()> {
        debug_assert!(range.end <= self.len, "bytes of what is reserved");
        Ok(())
    }

    fn at(base: *mut std::ffi::c_void, len: usize) -> io::Result<Self> {
        debug_assert!(
            base.addr().is_multiple_of(system_page_len()),
            "the system maps whole pages"
        );
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, len })
    }

    #[inline]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Makes bytes up to the new end of the file accessible, before anyone learns of them. Here
    /// they are from the start.
    pub(crate) fn show(&self, _file: &File, file_len: u64) -> io::Result<()> {
        debug_assert!(
            file_len <= self.len as u64,
            "only bytes of what is mapped become accessible"
        );
        Ok(())
    }

    /// Keeps pages in memory.
    pub(crate) fn pin(&self, range: Range<usize>) -> io::Result<()> {
        // SAFETY: inside of what is mapped; this changes no content.
        unsafe { mm::mlock(self.address(&range).cast(), range.len()) }.map_err(io::Error::from)
    }

    /// Undoes every [`Self::pin`].
    pub(crate) fn unpin_all(&self) -> io::Result<()> {
        // SAFETY: exactly what is mapped; this changes no content.
        unsafe { mm::munlock(self.base.as_ptr().cast(), self.len) }.map_err(io::Error::from)
    }

    /// The address of bytes, of which the last may be in the last system page after the end.
    pub(in crate::io::sys) fn address(&self, range: &Range<usize>) -> *mut u8 {
        assert!(
            range.start < range.end && range.end <= self.len,
            "bytes of what is mapped"
        );
        // SAFETY: inside of what is mapped.
        unsafe { self.base.add(range.start) }.as_ptr()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: these addresses were mapped here, once, and every reader of them holds this.
        let _ = unsafe { mm::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

fn protection(access: Access) -> ProtFlags {
    match access {
        Access::ReadOnly => ProtFlags::READ,
        Access::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
    }
}

/// Tells the system of the coming use of pages. A hint.
pub(crate) fn advise(mapped: &Mapped, range: Range<usize>, advice: Advice) {
    let advice = match advice {
        Advice::Normal => mm::Advice::Normal,
        Advice::Random => mm::Advice::Random,
        Advice::Cold | Advice::NotNeeded => return,
    };
    let address = mapped.address(&range);
    // SAFETY: inside of what is mapped. The advice changes no content.
    let _ = unsafe { mm::madvise(address.cast(), range.len(), advice) };
}

/// Keeps reserved bytes out of core dumps and of child processes. A hint; here, nothing is done.
pub(crate) fn hide(_mapped: &Mapped, _range: Range<usize>) {}

/// Gives the memory of reserved bytes back: they are zeros afterwards. `false` if that fails.
///
/// # Safety
///
/// Nobody accesses the bytes meanwhile. They are whole system pages.
pub(crate) unsafe fn discard(mapped: &Mapped, range: Range<usize>) -> bool {
    let address = mapped.address(&range);
    // SAFETY: reserved addresses, with the access that they had; the caller's promise.
    unsafe { zeros_over(address.addr(), range.len(), Access::ReadWrite) }
}

/// Whether the page with this byte is not in memory, as far as the system reports.
pub(crate) fn is_absent(mapped: &Mapped, offset: usize) -> bool {
    debug_assert!(offset < mapped.len, "a byte of what is mapped");
    let page_len = system_page_len();
    let start = offset / page_len * page_len;
    let mut state = 1_u8;
    // SAFETY: the page is inside of what is mapped, and its state takes one byte.
    let answer = unsafe {
        let address = mapped.address(&(start..start + 1));
        libc::mincore(address.cast(), page_len, (&raw mut state).cast())
    };
    answer == 0 && state & 1 == 0
}

/// Maps zeros over addresses. A signal handler may call this.
///
/// # Safety
///
/// The addresses are mapped and stay so, and readers there expect zeros at any time.
pub(crate) unsafe fn zeros_over(start: usize, len: usize, access: Access) -> bool {
    let flags = MapFlags::PRIVATE | MapFlags::FIXED | NO_RESERVE;
    // SAFETY: the caller's promise.
    unsafe { mm::mmap_anonymous(start as *mut _, len, protection(access), flags) }.is_ok()
}

/// Maps a file over addresses.
///
/// # Safety
///
/// The addresses belong to the caller, and show the same bytes of the same file afterwards. The
/// file with the number `raw` is open.
pub(crate) unsafe fn file_over(
    start: usize,
    len: usize,
    raw: isize,
    offset: u64,
    access: Access,
) -> io::Result<()> {
    debug_assert!(
        start.is_multiple_of(system_page_len()) && offset.is_multiple_of(system_page_len() as u64),
        "whole system pages are mapped again"
    );
    // SAFETY: the caller's promise; the file is not closed here.
    let file = unsafe { borrow(raw) };
    let (start, flags) = (start as *mut _, MapFlags::SHARED | MapFlags::FIXED);
    // SAFETY: the caller's promise; the advice changes no content.
    unsafe {
        mm::mmap(start, len, protection(access), flags, &*file, offset)?;
        let _ = mm::madvise(start, len, mm::Advice::Random);
    }
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const NO_RESERVE: MapFlags = MapFlags::NORESERVE;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const NO_RESERVE: MapFlags = MapFlags::empty();
