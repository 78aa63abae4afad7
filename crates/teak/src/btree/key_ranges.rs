//! The pages of a level that have enough entries to split a range into parts.

use crate::btree::{
    PageSource, TreeRoot,
    count::Ends,
    enter,
    position::{PathStep, Position},
    visit_inner, visit_leaf,
};
use crate::{Error, PageNumber, Result};
use std::ops::Range;

/// The maximum number of parts, so that the lists stay short.
pub(crate) const PARTS_MAX: usize = 1 << 16;

/// The minimum number of entries of a part, if they are not records.
const ENTRIES_OF_A_PART: usize = 64;

/// The pages of the highest level that has enough entries between two ends, or the leaves, and
/// which of their entries are between the ends.
pub(crate) struct SplitLevel {
    pub(crate) level: u8,
    pub(crate) pages: Vec<(PageNumber, Range<usize>)>,
}

impl SplitLevel {
    pub(crate) fn new<S: PageSource + ?Sized>(
        source: &S,
        root: &TreeRoot,
        ends: &Ends,
        parts: usize,
    ) -> Result<Self> {
        let mut pages = vec![enter::root(source, root, "split")?];
        let (mut depth, mut level) = (0, root.depth - 1);
        loop {
            let entries = entries_of(source, ends, &pages, depth, level)?;
            let count: usize = entries.iter().map(ExactSizeIterator::len).sum();
            if level == 0 || count >= parts * ENTRIES_OF_A_PART {
                let pages = pages.into_iter().zip(entries).collect();
                return Ok(Self { level, pages });
            }
            if count as u64 > source.page_limit() {
                let detail =
                    "its pages lead to more pages than there are: some are below several pages";
                return Err(Error::corrupted(root.page, "split", detail));
            }
            pages = children_of(source, &pages, &entries, level)?;
            (depth, level) = (depth + 1, level - 1);
        }
    }

    fn entry_count(&self) -> usize {
        self.pages.iter().map(|(_, entries)| entries.len()).sum()
    }

    /// The approximate position of record `number` of `records`.
    pub(crate) fn about<S: PageSource + ?Sized>(
        &self,
        source: &S,
        number: u64,
        records: u64,
    ) -> Result<Position> {
        let entries = self.entry_count() as u128;
        let mut at = (u128::from(number) * entries / u128::from(records.max(1))) as usize;
        for (page, entries) in &self.pages {
            if at < entries.len() {
                return first_below(source, *page, self.level, entries.start + at);
            }
            at -= entries.len();
        }
        Ok(Position::default())
    }
}

/// Where parts of equal size begin, except the first.
pub(crate) fn cuts(count: u64, parts: usize) -> impl Iterator<Item = u64> {
    let parts = count.min(parts as u64);
    (1..parts).map(move |part| (u128::from(count) * u128::from(part) / u128::from(parts)) as u64)
}

/// The entries in the range of each of these pages, which are all the pages of a level between the
/// ends.
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
        // The child that contains the end is in the range; the record after the end is not.
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

/// The position of an entry of a leaf, or of the first one below that of an inner page. It does not
/// support steps.
pub(crate) fn first_below<S: PageSource + ?Sized>(
    source: &S,
    mut page: PageNumber,
    level: u8,
    mut index: usize,
) -> Result<Position> {
    for level in (1..=level).rev() {
        let inner = visit_inner(source, page, level, "split")?;
        page = enter::child(source, &inner, page, index, "split")?;
        index = 0;
    }
    let count = index + 1;
    Ok(Position::on(vec![PathStep { page, index, count }]))
}

#[cfg(test)]
#[path = "key_ranges_tests.rs"]
mod tests;
