//! Address ranges that show files: which views are where.
//!
//! A range is reserved as a placeholder. A part of a placeholder is replaced by a view of the file,
//! or by memory of this process where the file cannot be read, and both can become placeholders
//! again. In between the addresses are not accessible. A thread that reads there waits in the
//! handler of `faults.rs` for the lock of this module.

use super::{check, system_page_len};
use crate::io::{mutex::lock, sys::types::Access};
use std::{
    collections::BTreeMap,
    ffi::c_void,
    fs::File,
    io,
    os::windows::io::AsRawHandle,
    ptr,
    sync::{Arc, Mutex},
};
use windows_sys::Win32::{
    Foundation::{CloseHandle, HANDLE},
    System::{
        Memory::{
            CreateFileMappingW, MEM_COMMIT, MEM_PRESERVE_PLACEHOLDER, MEM_RELEASE,
            MEM_REPLACE_PLACEHOLDER, MEM_RESERVE, MEM_RESERVE_PLACEHOLDER,
            MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile3, PAGE_NOACCESS, PAGE_READONLY,
            PAGE_READWRITE, UnmapViewOfFile2, VirtualAlloc2, VirtualFree,
        },
        Threading::GetCurrentProcess,
    },
};

/// All ranges by their first address. Nobody touches mapped memory while holding the lock.
static RANGES: Mutex<BTreeMap<usize, MappedRange>> = Mutex::new(BTreeMap::new());

/// A range of addresses. Its parts follow each other from the start, and a placeholder is the rest.
#[derive(Debug)]
struct MappedRange {
    len: usize,
    /// Offset of the first byte in the file.
    offset: u64,
    access: Access,
    /// Parts by their distance from the start.
    parts: BTreeMap<usize, MappedPart>,
    /// The end of the last part.
    end: usize,
}

#[derive(Debug)]
struct MappedPart {
    len: usize,
    /// `None` for zeros of this process.
    section: Option<Arc<Section>>,
}

/// A file that can be mapped.
#[derive(Debug)]
pub(super) struct Section(HANDLE);

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

fn protection(access: Access) -> u32 {
    match access {
        Access::ReadOnly => PAGE_READONLY,
        Access::ReadWrite => PAGE_READWRITE,
    }
}

/// Reserves addresses for a file from `offset` on.
pub(super) fn reserve(len: usize, offset: u64, access: Access) -> io::Result<*mut u8> {
    let kind = MEM_RESERVE | MEM_RESERVE_PLACEHOLDER;
    let (none, nothing) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the system chooses the address.
    let base = unsafe {
        VirtualAlloc2(
            GetCurrentProcess(),
            none,
            len,
            kind,
            PAGE_NOACCESS,
            nothing,
            0,
        )
    };
    if base.is_null() {
        return Err(io::Error::last_os_error());
    }
    let range = MappedRange {
        len,
        offset,
        access,
        parts: BTreeMap::new(),
        end: 0,
    };
    lock(&RANGES).insert(base.addr(), range);
    Ok(base.cast())
}

/// The end of the addresses that have to be shown for a file of this length; `None` if they are.
pub(super) fn missing(base: usize, file_len: u64) -> Option<usize> {
    lock(&RANGES).get(&base)?.missing(file_len)
}

/// Shows the file up to this distance from the base.
pub(super) fn show(base: usize, section: Section, wanted: usize) -> io::Result<()> {
    let mut ranges = lock(&RANGES);
    let range = ranges.get_mut(&base).ok_or(io::ErrorKind::NotFound)?;
    let (start, len) = (range.end, wanted.saturating_sub(range.end));
    if len == 0 {
        return Ok(());
    }
    let page_len = len.next_multiple_of(system_page_len());
    if start + page_len < range.len {
        split(base + start, page_len)?;
    }
    let (address, offset) = (base + start, range.offset + start as u64);
    let shown = section.map(address, offset, page_len, range.access);
    // The file may end inside of its last page.
    let shown = shown.or_else(|error| match len < page_len {
        true => section.map(address, offset, len, range.access),
        false => Err(error),
    });
    if let Err(error) = shown {
        if start + page_len < range.len {
            join(base + start, range.len - start);
        }
        return Err(error);
    }
    let part = MappedPart {
        len: page_len,
        section: Some(Arc::new(section)),
    };
    range.parts.insert(start, part);
    range.end = start + page_len;
    Ok(())
}

/// Gives all addresses back.
pub(super) fn release(base: usize) {
    let Some(range) = lock(&RANGES).remove(&base) else {
        return;
    };
    for (start, part) in &range.parts {
        let address = (base + start) as *mut c_void;
        // SAFETY: the parts are mapped here, and nobody uses them any more.
        unsafe {
            match part.section {
                Some(_) => UnmapViewOfFile2(GetCurrentProcess(), view(address), 0),
                None => VirtualFree(address, 0, MEM_RELEASE),
            }
        };
    }
    if range.end < range.len {
        // SAFETY: the rest is a placeholder.
        unsafe { VirtualFree((base + range.end) as *mut c_void, 0, MEM_RELEASE) };
    }
}

/// Whether the address is mapped and readable. Waits while its range is being changed.
pub(super) fn is_mapped(address: usize) -> bool {
    let ranges = lock(&RANGES);
    let found = ranges.range(..=address).next_back();
    found.is_some_and(|(base, range)| address - base < range.end)
}

fn view(address: *mut c_void) -> MEMORY_MAPPED_VIEW_ADDRESS {
    MEMORY_MAPPED_VIEW_ADDRESS { Value: address }
}

/// Makes a placeholder of the first bytes of a longer one, or of memory.
fn split(address: usize, len: usize) -> io::Result<()> {
    let kind = MEM_RELEASE | MEM_PRESERVE_PLACEHOLDER;
    // SAFETY: the addresses belong to a range of this module, and stay reserved.
    check(unsafe { VirtualFree(address as *mut c_void, len, kind) })
}

/// Makes one placeholder of several.
fn join(address: usize, len: usize) {
    /// Not in the metadata that the declarations are made from.
    const MEM_COALESCE_PLACEHOLDERS: u32 = 1;
    let kind = MEM_RELEASE | MEM_COALESCE_PLACEHOLDERS;
    // SAFETY: the addresses are placeholders of a range of this module.
    unsafe { VirtualFree(address as *mut c_void, len, kind) };
}

impl MappedRange {
    fn missing(&self, file_len: u64) -> Option<usize> {
        let shown = file_len.saturating_sub(self.offset).min(self.len as u64) as usize;
        (shown > self.end).then_some(shown)
    }

    /// Replaces views by zeros of this process, from one page to another.
    fn put_zeros(&mut self, base: usize, from: usize, to: usize) -> io::Result<()> {
        let touched = self
            .parts
            .range(..to)
            .filter(|(start, part)| **start + part.len > from && part.section.is_some());
        let starts: Vec<usize> = touched.map(|(start, _)| *start).collect();
        for start in starts {
            let Some(part) = self.parts.remove(&start) else {
                continue;
            };
            let Some(section) = part.section else {
                continue;
            };
            let address = (base + start) as *mut c_void;
            // SAFETY: a view of this module. The addresses stay reserved.
            check(unsafe {
                let (process, kind) = (GetCurrentProcess(), MEM_PRESERVE_PLACEHOLDER);
                UnmapViewOfFile2(process, view(address), kind)
            })?;
            let end = start + part.len;
            let cuts = [start, from.clamp(start, end), to.clamp(start, end), end];
            for (index, cut) in cuts.windows(2).enumerate() {
                let (cut, len) = (cut[0], cut[1] - cut[0]);
                if len == 0 {
                    continue;
                }
                if cut + len < end {
                    split(base + cut, len)?;
                }
                let section = (index != 1).then(|| Arc::clone(&section));
                match &section {
                    Some(section) => {
                        section.map(base + cut, self.offset + cut as u64, len, self.access)?
                    }
                    None => put_memory(base + cut, len, self.access)?,
                }
                self.parts.insert(cut, MappedPart { len, section });
            }
        }
        Ok(())
    }

    /// Replaces zeros of this process by views.
    fn put_views(
        &mut self,
        base: usize,
        from: usize,
        to: usize,
        section: Section,
    ) -> io::Result<()> {
        let section = Arc::new(section);
        for (start, part) in self.parts.range_mut(from..to) {
            if part.section.is_none() {
                split(base + start, part.len)?;
                section.map(
                    base + start,
                    self.offset + *start as u64,
                    part.len,
                    self.access,
                )?;
                part.section = Some(Arc::clone(&section));
            }
        }
        Ok(())
    }
}

fn put_memory(address: usize, len: usize, access: Access) -> io::Result<()> {
    let kind = MEM_RESERVE | MEM_COMMIT | MEM_REPLACE_PLACEHOLDER;
    let (process, nothing) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: only a placeholder is replaced, which nobody accesses.
    let memory = unsafe {
        VirtualAlloc2(
            process,
            address as *const c_void,
            len,
            kind,
            protection(access),
            nothing,
            0,
        )
    };
    match memory.is_null() {
        true => Err(io::Error::last_os_error()),
        false => Ok(()),
    }
}

/// Puts zeros in place of mapped pages. The handler of faults calls this too.
///
/// # Safety
///
/// The pages must be mapped, and their owner must allow any content there.
pub(crate) unsafe fn zeros_over(start: usize, len: usize, _access: Access) -> bool {
    let mut ranges = lock(&RANGES);
    let found = ranges.range_mut(..=start).next_back();
    found.is_some_and(|(base, range)| {
        range
            .put_zeros(*base, start - base, start - base + len)
            .is_ok()
    })
}

/// Maps a file in place of zeros.
///
/// # Safety
///
/// The pages must be mapped, the file must be open, and the owner must allow its content there.
pub(crate) unsafe fn file_over(
    start: usize,
    len: usize,
    raw: isize,
    _offset: u64,
    _access: Access,
) -> io::Result<()> {
    // SAFETY: the file is open.
    let file = unsafe { super::borrow(raw) };
    let section = Section::of_file(&file)?;
    let mut ranges = lock(&RANGES);
    let found = ranges.range_mut(..=start).next_back();
    let (base, range) = found.ok_or(io::ErrorKind::NotFound)?;
    range.put_views(*base, start - base, start - base + len, section)
}
