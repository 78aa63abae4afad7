//! Files that can be mapped.

use crate::io::sys::types::Access;
use std::{ffi::c_void, fs::File, io, os::windows::io::AsRawHandle, ptr};
use windows_sys::Win32::{
    Foundation::{CloseHandle, HANDLE},
    System::{
        Memory::{
            CreateFileMappingW, MEM_REPLACE_PLACEHOLDER, MapViewOfFile3, PAGE_READONLY,
            PAGE_READWRITE,
        },
        Threading::GetCurrentProcess,
    },
};

/// A file that can be mapped.
#[derive(Debug)]
pub(super) struct Section(pub(super) HANDLE);

// SAFETY: a handle may be used by any thread.
unsafe impl Send for Section {}
// SAFETY: a handle may be used by any thread.
unsafe impl Sync for Section {}

impl Section {
    /// The whole file, for reading.
    pub(super) fn of_file(file: &File) -> io::Result<Self> {
        Self::new(file, PAGE_READONLY, 0)
    }

    /// A file that becomes as long as this, for reading and writing.
    pub(super) fn of_len(file: &File, len: u64) -> io::Result<Self> {
        Self::new(file, PAGE_READWRITE, len)
    }

    fn new(file: &File, protection: u32, len: u64) -> io::Result<Self> {
        let (high, low) = ((len >> 32) as u32, len as u32);
        let (handle, none) = (file.as_raw_handle(), ptr::null());
        // SAFETY: the handle is open, and there is no name.
        let section =
            unsafe { CreateFileMappingW(handle, none, protection, high, low, ptr::null()) };
        match section.is_null() {
            true => Err(io::Error::last_os_error()),
            false => Ok(Self(section)),
        }
    }

    /// Replaces a placeholder of `page_len` bytes by a view. The file may end in its last page, and
    /// then has `len` bytes there: some systems map no more.
    pub(super) fn map_pages(
        &self,
        address: usize,
        offset: u64,
        (page_len, len): (usize, usize),
        access: Access,
    ) -> io::Result<()> {
        assert!(len <= page_len, "the file has no bytes after the view");
        let mapped = self.map(address, offset, page_len, access);
        mapped.or_else(|error| match len < page_len {
            true => self.map(address, offset, len, access),
            false => Err(error),
        })
    }

    /// Replaces a placeholder of this length by a view.
    fn map(&self, address: usize, offset: u64, len: usize, access: Access) -> io::Result<()> {
        // SAFETY: only placeholders are replaced, which nobody accesses.
        let view = unsafe {
            MapViewOfFile3(
                self.0,
                GetCurrentProcess(),
                address as *const c_void,
                offset,
                len,
                MEM_REPLACE_PLACEHOLDER,
                protection(access),
                ptr::null_mut(),
                0,
            )
        };
        match view.Value.is_null() {
            true => Err(io::Error::last_os_error()),
            false => Ok(()),
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and nobody else has it.
        unsafe { CloseHandle(self.0) };
    }
}

pub(super) fn protection(access: Access) -> u32 {
    match access {
        Access::ReadOnly => PAGE_READONLY,
        Access::ReadWrite => PAGE_READWRITE,
    }
}
