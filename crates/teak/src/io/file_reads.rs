//! Reads of file bytes that are prefaulted first, and writes of bytes without those that are zeros.

use crate::{
    Error, Extent, PageNumber, Result,
    io::{Content, Mapping},
};
use std::ops::Range;

/// The most pages of the free-space map that are brought into memory at once.
pub(crate) const AT_ONCE_MAX: u32 = 1024;

/// Copies bytes of the file after prefaulting them; `false` outside of the file.
pub(crate) fn copy(mapping: &Mapping, offset: u64, out: &mut [u8]) -> Result<bool> {
    if !mapping.contains(offset, out.len()) {
        return Ok(false);
    }
    if let Some(read) = mapping.read_encoded(offset, out) {
        return read.map(|()| true).map_err(Error::io("reading the file"));
    }
    let prefaulted = mapping.prefault(offset, out.len(), Content::Raw);
    prefaulted.map_err(Error::io("reading the file"))?;
    let fault_count = mapping.faults().count();
    let is_inside = mapping.copy(offset, out);
    match mapping.faults().are_more_than(fault_count) {
        false => Ok(is_inside),
        true => Err(Error::io("reading the file")(mapping.faults().last().1)),
    }
}

/// The parts of `bytes` that are not zeros, where `hole_len` bytes from a multiple of that on count
/// together.
pub(crate) fn parts_with_data(bytes: &[u8], hole_len: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for together in bytes.chunks(hole_len) {
        let end = start + together.len();
        if together.iter().any(|byte| *byte != 0) {
            match parts.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => parts.push(start..end),
            }
        }
        start = end;
    }
    parts
}

/// Sorts pages, and combines them into extents.
pub(crate) fn into_extents(pages: &mut [PageNumber]) -> Vec<Extent> {
    pages.sort_unstable();
    let mut extents: Vec<Extent> = Vec::with_capacity(pages.len());
    for page in pages {
        match extents.last_mut() {
            Some(last) if last.end() > u64::from(page.0) => {}
            Some(last) if last.end() == u64::from(page.0) && last.len < AT_ONCE_MAX => {
                last.len += 1;
            }
            _ => extents.push(Extent::new(page.0, 1)),
        }
    }
    debug_assert!(
        Extent::are_apart(&extents),
        "each page is in one of the extents"
    );
    extents
}
