//! Cutting a range in parts that have about as many records each.
//!
//! In a tree that counts the cuts are records by their number. Elsewhere the pages of a level are listed, from the top
//! down, until they have enough entries for each part: those of one level weigh about the same, and the entries of leaves are
//! records.

use super::{
    PageSource, TreeRoot,
    count::{self, Ends},
    enter, visit_inner, visit_leaf,
};
use crate::{PageNumber, Result};
use std::ops::{Bound, Range};

/// More parts are not made, so that the lists stay short.
pub(crate) const PARTS_MAX: usize = 1 << 16;

/// Entries that a part is put together of, at least, if they are not records.
const ENTRIES_OF_A_PART: usize = 64;

/// The keys with which the parts of a range begin, but the first.
pub(crate) fn split<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
    parts: usize,
) -> Result<Vec<Vec<u8>>> {
    let parts = parts.min(PARTS_MAX);
    match count::ends(source, root, low, high)? {
        Some(ends) if root.counted => split_counted(source, root, &ends, parts),
        Some(ends) => split_listed(source, root, &ends, parts),
        None => Ok(Vec::new()),
    }
}

fn split_counted<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    ends: &Ends,
    parts: usize,
) -> Result<Vec<Vec<u8>>> {
    let first = count::before(source, root, &ends.low)?;
    let records = count::between(source, root, ends)?;
    let mut keys = Vec::new();
    for cut in cuts(records, parts) {
        let position = count::nth(source, root, first + cut)?;
        let Some((leaf, index)) = position.and_then(|position| position.record()) else {
            break;
        };
        keys.push(first_key(source, leaf, 0, index)?);
    }
    Ok(keys)
}

fn split_listed<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    ends: &Ends,
    parts: usize,
) -> Result<Vec<Vec<u8>>> {
    let mut pages = vec![enter::root(source, root, "split")?];
    let mut keys = Vec::new();
    for (depth, level) in (0..root.depth).rev().enumerate() {
        let entries = entries_of(source, ends, &pages, depth, level)?;
        let count: usize = entries.iter().map(ExactSizeIterator::len).sum();
        if level > 0 && count < parts * ENTRIES_OF_A_PART {
            pages = children_of(source, &pages, &entries, level)?;
            continue;
        }
        let mut listed = pages.iter().zip(&entries);
        let (mut page, mut passed) = (listed.next(), 0);
        for cut in cuts(count as u64, parts) {
            while let Some((&number, range)) = page {
                let at = cut as usize - passed;
                if at < range.len() {
                    keys.push(first_key(source, number, level, range.start + at)?);
                    break;
                }
                passed += range.len();
                page = listed.next();
            }
        }
        break;
    }
    Ok(keys)
}

/// Where parts of equal size begin, but the first.
fn cuts(count: u64, parts: usize) -> impl Iterator<Item = u64> {
    let parts = count.min(parts as u64);
    (1..parts).map(move |part| (u128::from(count) * u128::from(part) / u128::from(parts)) as u64)
}

/// Which entries of each of these pages, all there are on a level between the ends, are in the range.
fn entries_of<S: PageSource + ?Sized>(
    source: &S,
    ends: &Ends,
    pages: &[PageNumber],
    depth: usize,
    level: u8,
) -> Result<Vec<Range<usize>>> {
    let mut entries = Vec::with_capacity(pages.len());
    for &page in pages {
        source.refuse_cancelled()?;
        let count = match level {
            0 => visit_leaf(source, page, "split")?.count(),
            _ => visit_inner(source, page, level, "split")?.count(),
        };
        entries.push(0..count);
    }
    if let (Some(first), Some(low)) = (entries.first_mut(), ends.low.get(depth)) {
        first.start = low.index.min(first.end);
    }
    if let (Some(last), Some(high)) = (entries.last_mut(), ends.high.get(depth)) {
        // The child that the end is in is in the range, the record behind the end is not.
        let end = if level > 0 {
            high.index + 1
        } else {
            high.index
        };
        last.end = end.clamp(last.start, last.end);
    }
    Ok(entries)
}

fn children_of<S: PageSource + ?Sized>(
    source: &S,
    pages: &[PageNumber],
    entries: &[Range<usize>],
    level: u8,
) -> Result<Vec<PageNumber>> {
    let mut children = Vec::new();
    for (&page, range) in pages.iter().zip(entries) {
        let inner = visit_inner(source, page, level, "split")?;
        for index in range.clone() {
            children.push(enter::child(source, &inner, page, index, "split")?);
        }
    }
    Ok(children)
}

/// The key of an entry of a leaf, or the first key below that of an inner page.
fn first_key<S: PageSource + ?Sized>(
    source: &S,
    mut page: PageNumber,
    level: u8,
    mut index: usize,
) -> Result<Vec<u8>> {
    for level in (1..=level).rev() {
        let inner = visit_inner(source, page, level, "split")?;
        page = enter::child(source, &inner, page, index, "split")?;
        index = 0;
    }
    let key = visit_leaf(source, page, "split")?.key(index);
    key.map_err(|damage| damage.at(page, "split"))
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
