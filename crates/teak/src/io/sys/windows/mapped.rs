//! Mapped files.

use super::{check, files::id, section::Section, sections, system_page_len};
use crate::io::{
    mutex::lock,
    sys::types::{Access, Advice, Failure},
};
use std::{
    fs::File,
    io,
    ops::Range,
    ptr::{self, NonNull},
    sync::Mutex,
};
use windows_sys::Win32::{
    Foundation::ERROR_WORKING_SET_QUOTA,
    System::{
        Memory::{
            MEM_COMMIT, MEM_DECOMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc,
            VirtualFree, VirtualLock, VirtualUnlock,
        },
        Threading::{GetCurrentProcess, GetProcessWorkingSetSize, SetProcessWorkingSetSize},
    },
};

/// The most addresses to reserve for a file: no database is longer. A process has 128 TiB.
const RESERVED_MAX: usize = 16 << 40;

/// Addresses that belong to this value, and what is mapped there.
#[derive(Debug)]
pub(crate) struct Mapped {
    base: NonNull<u8>,
    len: usize,
    is_file: bool,
    pinned: Mutex<Vec<Range<usize>>>,
}

// SAFETY: the addresses belong to this value, and only their owner says what is read and written
// there.
unsafe impl Send for Mapped {}
// SAFETY: the methods that change what is mapped lock it.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps the bytes of a file from `offset` on. For reading, `len` may reach past the end of the
    /// file; what the file grows by has to be [shown](Self::show). For writing, the file becomes as
    /// long as that.
    pub(crate) fn file(file: &File, offset: u64, len: usize, access: Access) -> io::Result<Self> {
        if len > RESERVED_MAX {
            return Err(Failure::NoMemory.error());
        }
        let len = len.next_multiple_of(system_page_len());
        let shared = match access {
            Access::ReadOnly => None,
            Access::ReadWrite => Some(id(file)?),
        };
        let mapped = Self::at(sections::reserve(shared, len, offset, access)?, len, true)?;
        match access {
            Access::ReadWrite => {
                let section = Section::of_len(file, offset + len as u64)?;
                sections::show(mapped.address(), section, len)?;
            }
            Access::ReadOnly => mapped.show(file, file.metadata()?.len())?,
        }
        Ok(mapped)
    }

    /// Zeros of this process. The system provides each page at its first access.
    pub(crate) fn private(len: usize) -> io::Result<Self> {
        let kind = MEM_RESERVE | MEM_COMMIT;
        // SAFETY: the system chooses the address.
        let base = unsafe { VirtualAlloc(ptr::null(), len, kind, PAGE_READWRITE) };
        Self::at(base.cast(), len, false)
    }

    /// Addresses of this process. Bytes are zeros once they are [committed](Self::commit).
    pub(crate) fn reserved(len: usize) -> io::Result<Self> {
        // SAFETY: the system chooses the address.
        let base = unsafe { VirtualAlloc(ptr::null(), len, MEM_RESERVE, PAGE_READWRITE) };
        Self::at(base.cast(), len, false)
    }

    /// Makes reserved bytes accessible. Bytes that are accessible already stay unchanged.
    pub(crate) fn commit(&self, range: Range<usize>) -> io::Result<()> {
        let address = self.inside(&range).cast();
        // SAFETY: the addresses are reserved here. Committed bytes do not change.
        let base = unsafe { VirtualAlloc(address, range.len(), MEM_COMMIT, PAGE_READWRITE) };
        match base.is_null() {
            true => Err(io::Error::last_os_error()),
            false => Ok(()),
        }
    }

    /// The address of bytes of what is mapped.
    fn inside(&self, range: &Range<usize>) -> *mut u8 {
        assert!(
            range.start < range.end && range.end <= self.len,
            "bytes of what is mapped"
        );
        self.base.as_ptr().wrapping_add(range.start)
    }

    fn at(base: *mut u8, len: usize, is_file: bool) -> io::Result<Self> {
        let base = NonNull::new(base).ok_or_else(io::Error::last_os_error)?;
        Ok(Self {
            base,
            len,
            is_file,
            pinned: Mutex::default(),
        })
    }

    #[inline]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn address(&self) -> usize {
        self.base.as_ptr().addr()
    }

    /// Makes bytes accessible up to `file_len`, the length of the file.
    pub(crate) fn show(&self, file: &File, file_len: u64) -> io::Result<()> {
        let Some(wanted) = sections::missing(self.address(), file_len) else {
            return Ok(());
        };
        sections::show(self.address(), Section::of_file(file)?, wanted)
    }

    /// Keeps pages in memory.
    pub(crate) fn pin(&self, range: Range<usize>) -> io::Result<()> {
        self.inside(&range);
        let pinned = self.virtual_lock(&range).or_else(|error| {
            if error.raw_os_error() != Some(ERROR_WORKING_SET_QUOTA as i32) {
                return Err(error);
            }
            allow_pages(range.len())?;
            self.virtual_lock(&range)
        });
        pinned.map(|()| lock(&self.pinned).push(range))
    }

    fn virtual_lock(&self, range: &Range<usize>) -> io::Result<()> {
        let address = self.base.as_ptr().wrapping_add(range.start);
        // SAFETY: the bytes are mapped; this changes no content.
        check(unsafe { VirtualLock(address.cast(), range.len()) })
    }

    /// Lets the system take all pages out of memory.
    pub(crate) fn unpin_all(&self) -> io::Result<()> {
        for range in lock(&self.pinned).drain(..) {
            let address = self.base.as_ptr().wrapping_add(range.start);
            // SAFETY: the bytes are mapped; this changes no content. They may be unlocked already,
            // with another range that has some of their pages.
            let _ = unsafe { VirtualUnlock(address.cast(), range.len()) };
        }
        Ok(())
    }
}

/// Allows this process to keep `len` bytes more in memory.
fn allow_pages(len: usize) -> io::Result<()> {
    let (mut least, mut most) = (0, 0);
    // SAFETY: both numbers are valid for writing, and the process is this one.
    unsafe {
        let process = GetCurrentProcess();
        check(GetProcessWorkingSetSize(process, &mut least, &mut most))?;
        let more = len + 16 * system_page_len();
        check(SetProcessWorkingSetSize(process, least + more, most + more))
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        match self.is_file {
            true => sections::release(self.address()),
            // SAFETY: allocated by `private` or `reserved`, and nobody uses it any more.
            false => unsafe {
                let _ = VirtualFree(self.base.as_ptr().cast(), 0, MEM_RELEASE);
            },
        }
    }
}

/// There is no advice about views.
pub(crate) fn advise(_mapped: &Mapped, _range: Range<usize>, _advice: Advice) {}

/// Dumps have what their writer asks for, and there are no child processes with this memory.
pub(crate) fn hide(_mapped: &Mapped, _range: Range<usize>) {}

/// Gives the memory of reserved bytes back. They are zeros when they are committed again. `false`
/// if that fails.
///
/// # Safety
///
/// Nobody accesses the bytes meanwhile. They are whole system pages.
pub(crate) unsafe fn discard(mapped: &Mapped, range: Range<usize>) -> bool {
    let address = mapped.inside(&range).cast();
    // SAFETY: the addresses are reserved by `mapped`; the caller's promise.
    unsafe { VirtualFree(address, range.len(), MEM_DECOMMIT) != 0 }
}

/// It is not known which pages are in memory.
pub(crate) fn is_absent(_mapped: &Mapped, _offset: usize) -> bool {
    false
}

/// Callers read the file instead.
pub(crate) fn populate(_mapped: &Mapped, _range: Range<usize>) -> io::Result<bool> {
    Ok(false)
}
