//! Address ranges that show files: which views are where.
//!
//! A range is reserved as a placeholder. A part of a placeholder is replaced by a view of the file,
//! or by memory of this process where the file cannot be read, and both can become placeholders
//! again. In between the addresses are not accessible. A thread that reads there waits in the
//! handler of `faults.rs` for the lock of this module.

use super::{
    check,
    events::WordEvents,
    section::{Section, protection},
    system_page_len,
};
use crate::io::sys::types::{Access, FileId};
use std::{
    collections::BTreeMap,
    ffi::c_void,
    io,
    ops::Range,
    ptr,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};
use windows_sys::Win32::System::{
    Memory::{
        MEM_COMMIT, MEM_PRESERVE_PLACEHOLDER, MEM_RELEASE, MEM_REPLACE_PLACEHOLDER, MEM_RESERVE,
        MEM_RESERVE_PLACEHOLDER, MEMORY_MAPPED_VIEW_ADDRESS, PAGE_NOACCESS, UnmapViewOfFile2,
        VirtualAlloc2, VirtualFree,
    },
    Threading::GetCurrentProcess,
};

/// All ranges by their first address. Nobody touches mapped memory while holding the lock.
static RANGES: RwLock<BTreeMap<usize, MappedRange>> = RwLock::new(BTreeMap::new());

/// The ranges, which do not change meanwhile. Waits while one is being changed.
fn ranges() -> RwLockReadGuard<'static, BTreeMap<usize, MappedRange>> {
    RANGES.read().unwrap_or_else(PoisonError::into_inner)
}

/// The ranges, to be changed.
fn ranges_mut() -> RwLockWriteGuard<'static, BTreeMap<usize, MappedRange>> {
    RANGES.write().unwrap_or_else(PoisonError::into_inner)
}

/// All ranges that there ever were are between these addresses. Faults elsewhere are those of other
/// code, and wait for no lock.
static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

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
    /// The end of the file when its last part was shown. It may be inside of the last page.
    file_end: usize,
    /// The file, if it has words on which processes wait.
    shared: Option<FileId>,
    /// The events of words on which somebody has waited, by their distance from the start. `None`
    /// if the system refused them.
    events: BTreeMap<usize, Option<Arc<WordEvents>>>,
}

#[derive(Debug)]
struct MappedPart {
    len: usize,
    shown: Shown,
}

/// The bytes that a part of a range shows.
#[derive(Clone, Debug)]
enum Shown {
    /// The file.
    File(Arc<Section>),
    /// Zeros of this process.
    Zeros,
    /// Nothing: it is a placeholder, because the system refused to show something else.
    Nothing,
}

/// Reserves addresses for a file from `offset` on. `shared` identifies a file with words on which
/// processes wait.
pub(super) fn reserve(
    shared: Option<FileId>,
    len: usize,
    offset: u64,
    access: Access,
) -> io::Result<*mut u8> {
    assert!(
        len.is_multiple_of(system_page_len()),
        "whole pages are reserved, so that no page belongs to two ranges"
    );
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
        file_end: 0,
        shared,
        events: BTreeMap::new(),
    };
    LOWEST.fetch_min(base.addr(), Relaxed);
    HIGHEST.fetch_max(base.addr() + len, Relaxed);
    ranges_mut().insert(base.addr(), range);
    Ok(base.cast())
}

/// The end of the addresses that have to be shown for a file of this length; `None` if they are.
pub(super) fn missing(base: usize, file_len: u64) -> Option<usize> {
    ranges().get(&base)?.missing(file_len)
}

/// Shows the file up to this distance from the base.
pub(super) fn show(base: usize, section: Section, wanted: usize) -> io::Result<()> {
    let mut ranges = ranges_mut();
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
    let shown = section.map_pages(address, offset, (page_len, len), range.access);
    if let Err(error) = shown {
        if start + page_len < range.len {
            join(base + start, range.len - start);
        }
        return Err(error);
    }
    let part = MappedPart {
        len: page_len,
        shown: Shown::File(Arc::new(section)),
    };
    range.parts.insert(start, part);
    range.end = start + page_len;
    range.file_end = start + len;
    assert!(
        range.file_end <= range.end && range.end <= range.len,
        "a range shows the file to its end, and nothing after the range"
    );
    Ok(())
}

/// Gives all addresses back.
pub(super) fn release(base: usize) {
    let Some(range) = ranges_mut().remove(&base) else {
        return;
    };
    for (start, part) in &range.parts {
        let address = (base + start) as *mut c_void;
        // SAFETY: the parts are mapped here, and nobody uses them any more.
        unsafe {
            match part.shown {
                Shown::File(_) => UnmapViewOfFile2(GetCurrentProcess(), view(address), 0),
                Shown::Zeros | Shown::Nothing => VirtualFree(address, 0, MEM_RELEASE),
            }
        };
    }
    if range.end < range.len {
        // SAFETY: the rest is a placeholder.
        unsafe { VirtualFree((base + range.end) as *mut c_void, 0, MEM_RELEASE) };
    }
}

/// Whether something is shown at an address. `None` if it is in no part of a range for this access.
/// Waits while its range is being changed.
pub(super) fn is_shown(address: usize, access: Access) -> Option<bool> {
    if !(LOWEST.load(Relaxed)..HIGHEST.load(Relaxed)).contains(&address) {
        return None;
    }
    let ranges = ranges();
    let (base, range) = ranges.range(..=address).next_back()?;
    match (access, range.access) {
        (Access::ReadWrite, Access::ReadOnly) => None,
        _ => range.is_shown(address - base),
    }
}

/// Whether these bytes are in a range, and all of them show something. Waits while ranges are being
/// changed.
pub(super) fn are_shown(address: usize, len: usize) -> bool {
    let ranges = ranges();
    let Some((base, range)) = ranges.range(..=address).next_back() else {
        return false;
    };
    let (from, to) = (address - base, address - base + len);
    let mut shown_end = from;
    for start in range.starts(from, to) {
        let part = &range.parts[&start];
        match part.shown {
            Shown::Nothing => return false,
            Shown::File(_) | Shown::Zeros => shown_end = start + part.len,
        }
    }
    shown_end >= to
}

/// The events of the word at an address; `None` if it is in no file that processes share.
pub(super) fn events_at(address: usize) -> Option<Arc<WordEvents>> {
    let known = {
        let ranges = ranges();
        let (base, range) = ranges.range(..=address).next_back()?;
        range.events.get(&(address - base)).cloned()
    };
    known.unwrap_or_else(|| open_events(address))
}

/// Like [`events_at`], for a word on which nobody has waited here.
#[cold]
fn open_events(address: usize) -> Option<Arc<WordEvents>> {
    let mut ranges = ranges_mut();
    let (base, range) = ranges.range_mut(..=address).next_back()?;
    let at = address - base;
    let file = range.shared.filter(|_| at < range.len)?;
    let open = || {
        WordEvents::open(file, range.offset + at as u64)
            .ok()
            .map(Arc::new)
    };
    range.events.entry(at).or_insert_with(open).clone()
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

    /// Whether something is shown at this distance from the base. `None` if it is in no part.
    fn is_shown(&self, at: usize) -> Option<bool> {
        let (start, part) = self.parts.range(..=at).next_back()?;
        (at - start < part.len).then_some(!matches!(part.shown, Shown::Nothing))
    }

    /// Replaces views by zeros of this process, from one page to another. After an error some of
    /// the parts show nothing.
    fn put_zeros(&mut self, base: usize, from: usize, to: usize) -> io::Result<()> {
        for start in self.starts(from, to) {
            let Some(part) = self.hidden(base, start, |shown| !matches!(shown, Shown::Zeros))?
            else {
                continue;
            };
            let end = start + part.len;
            let (from, to) = (from.clamp(start, end), to.clamp(start, end));
            let pieces = [
                (start..from, part.shown.clone()),
                (from..to, Shown::Zeros),
                (to..end, part.shown),
            ];
            let mut rest = start..end;
            for (piece, wanted) in pieces {
                if piece.is_empty() {
                    continue;
                }
                let is_last = piece.end == end;
                let cut = if is_last {
                    Ok(())
                } else {
                    split(base + piece.start, piece.len())
                };
                if cut.is_ok() {
                    rest.start = piece.end;
                }
                let put = cut.and_then(|()| {
                    let put = self.put(base, piece.clone(), &wanted);
                    self.note(piece, if put.is_ok() { wanted } else { Shown::Nothing });
                    put
                });
                if let Err(error) = put {
                    self.note(rest, Shown::Nothing);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Replaces zeros of this process by views. After an error the part has zeros, or shows nothing
    /// if the system refuses these, too.
    fn put_views(
        &mut self,
        base: usize,
        from: usize,
        to: usize,
        section: Section,
    ) -> io::Result<()> {
        let wanted = Shown::File(Arc::new(section));
        for start in self.starts(from, to) {
            let Some(part) = self.hidden(base, start, |shown| !matches!(shown, Shown::File(_)))?
            else {
                continue;
            };
            let bytes = start..start + part.len;
            let shown = self.put(base, bytes.clone(), &wanted);
            let now = match &shown {
                Ok(()) => wanted.clone(),
                Err(_) if self.put(base, bytes.clone(), &Shown::Zeros).is_ok() => Shown::Zeros,
                Err(_) => Shown::Nothing,
            };
            self.note(bytes, now);
            shown?;
        }
        Ok(())
    }

    /// Takes a part out that shows what is to be replaced, and makes it a placeholder.
    fn hidden(
        &mut self,
        base: usize,
        start: usize,
        is_replaced: impl FnOnce(&Shown) -> bool,
    ) -> io::Result<Option<MappedPart>> {
        let Some(part) = self
            .parts
            .get(&start)
            .filter(|part| is_replaced(&part.shown))
        else {
            return Ok(None);
        };
        let address = base + start;
        match part.shown {
            // SAFETY: a view of this module. The addresses stay reserved.
            Shown::File(_) => check(unsafe {
                let (process, kind) = (GetCurrentProcess(), MEM_PRESERVE_PLACEHOLDER);
                UnmapViewOfFile2(process, view(address as *mut c_void), kind)
            })?,
            Shown::Zeros => split(address, part.len)?,
            Shown::Nothing => {}
        }
        Ok(self.parts.remove(&start))
    }

    /// The starts of the parts that have bytes there.
    fn starts(&self, from: usize, to: usize) -> Vec<usize> {
        let parts = self.parts.range(..to);
        let touched = parts.filter(|(start, part)| **start + part.len > from);
        touched.map(|(start, _)| *start).collect()
    }

    /// Replaces a placeholder.
    fn put(&self, base: usize, bytes: Range<usize>, wanted: &Shown) -> io::Result<()> {
        let (address, offset) = (base + bytes.start, self.offset + bytes.start as u64);
        match wanted {
            Shown::File(section) => {
                assert!(
                    bytes.start < self.file_end,
                    "each page that shows the file has bytes of it"
                );
                let len = self.file_end.min(bytes.end) - bytes.start;
                section.map_pages(address, offset, (bytes.len(), len), self.access)
            }
            Shown::Zeros => put_memory(address, bytes.len(), self.access),
            Shown::Nothing => Ok(()),
        }
    }

    fn note(&mut self, bytes: Range<usize>, shown: Shown) {
        if !bytes.is_empty() {
            debug_assert!(bytes.end <= self.end, "parts are before the rest");
            let len = bytes.len();
            self.parts.insert(bytes.start, MappedPart { len, shown });
        }
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
    let mut ranges = ranges_mut();
    let found = ranges.range_mut(..=start).next_back();
    found.is_some_and(|(base, range)| {
        let at = start - base;
        range.put_zeros(*base, at, at + len).is_ok() && range.is_shown(at) == Some(true)
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
    let mut ranges = ranges_mut();
    let found = ranges.range_mut(..=start).next_back();
    let (base, range) = found.ok_or(io::ErrorKind::NotFound)?;
    range.put_views(*base, start - base, start - base + len, section)
}

#[cfg(test)]
#[path = "sections_tests.rs"]
mod tests;
