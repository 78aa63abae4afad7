//! Changes of an inner page in its place.

use super::{
    format::{COUNTED, InnerArrays, InnerFormat, put},
    view::Inner,
};
use crate::page::{PageDamage, child::Child, header::Header};
use crate::{Checksum, PageNumber};

/// Replaces the children in `range` by `new`, without laying out the page again. The first of them
/// keeps the existing separator. Returns `false`, and changes nothing, if there is no room for
/// that, if a separator does not have the page's prefix, or if there would be fewer children.
pub(crate) fn splice(
    page: &mut [u8],
    format: InnerFormat,
    range: std::ops::Range<usize>,
    new: &[Child],
) -> Result<bool, PageDamage> {
    let inner = Inner::parse(page)?;
    if inner.flags != format.flags() {
        return Err(PageDamage("it is laid out for another table"));
    }
    let count = inner.count();
    if new.len() < range.len() || range.is_empty() || range.end > count {
        return Ok(false);
    }
    let prefix_len = inner.prefix.len();
    let added = new.len() - range.len();
    let mut needed = added * format.slot_len();
    for child in &new[1..] {
        if !child.separator.starts_with(inner.prefix) {
            return Ok(false);
        }
        needed += format.child_len(prefix_len, child.separator.len()) - format.slot_len();
    }
    let mut header = Header::read(page);
    let heap_len = usize::from(header.heap_len);
    if inner.arrays().end + needed + heap_len > page.len() {
        return Ok(false);
    }
    let old_arrays = inner.arrays();
    let arrays = InnerArrays::new(prefix_len, count + added, format.counted);
    move_arrays(page, format, old_arrays, arrays, range.end, added);
    let mut heap_start = page.len() - heap_len;
    for (index, child) in (range.start..).zip(new) {
        if index > range.start {
            let rest = &child.separator[prefix_len..];
            let (head, offset) = format.write_separator(page, &mut heap_start, index, rest);
            put(page, arrays.heads + 4 * index, &head.to_le_bytes());
            put(page, arrays.offsets + 2 * index, &offset.to_le_bytes());
        }
        format.write_child(page, arrays, index, child);
    }
    header.count = (count + added) as u16;
    header.heap_len = (page.len() - heap_start) as u16;
    header.write(page);
    Ok(true)
}

/// Makes room for `added` children before child `at`: moves every array to its new offset, the last
/// array first.
fn move_arrays(
    page: &mut [u8],
    format: InnerFormat,
    old: InnerArrays,
    new: InnerArrays,
    at: usize,
    added: usize,
) {
    if added == 0 {
        return;
    }
    let mut shift = |old_start: usize, old_end: usize, new_start: usize, size: usize| {
        let middle = old_start + size * at;
        page.copy_within(middle..old_end, new_start + size * (at + added));
        page.copy_within(old_start..middle, new_start);
    };
    shift(old.offsets, old.end, new.offsets, 2);
    if format.counted {
        shift(old.counts, old.offsets, new.counts, 8);
    }
    shift(old.checksums, old.counts, new.checksums, 8);
    shift(old.children, old.checksums, new.children, 4);
    shift(old.heads, old.children, new.heads, 4);
}

/// Replaces the page of child `index`.
pub(crate) fn set_child(page: &mut [u8], index: usize, child: PageNumber) {
    let arrays = InnerArrays::of(&Header::read(page));
    put(page, arrays.children + 4 * index, &child.0.to_le_bytes());
}

/// Sets the checksum of child `index`.
pub(crate) fn set_checksum(page: &mut [u8], index: usize, checksum: Checksum) {
    let arrays = InnerArrays::of(&Header::read(page));
    put(
        page,
        arrays.checksums + 8 * index,
        &checksum.0.to_le_bytes(),
    );
}

/// Adds to the number of records below child `index`, in a counted tree.
pub(crate) fn add_records(page: &mut [u8], index: usize, difference: i64) {
    let header = Header::read(page);
    let at = InnerArrays::of(&header).counts + 8 * index;
    let records = page.get(at..).and_then(<[u8]>::first_chunk);
    if let (true, Some(&records)) = (header.flags & COUNTED != 0, records) {
        let records = u64::from_le_bytes(records).saturating_add_signed(difference);
        put(page, at, &records.to_le_bytes());
    }
}
