//! Free pages without blocks: parts of the file that were returned to the file system.
//!
//! They are as free as other free pages, and on disk nothing distinguishes them. But they are
//! allocated only after the hole was opened, which happens only if the file would have to grow
//! otherwise. So pages that have blocks are used first. An unknown hole is allocated like any free
//! page, and gets its blocks then. Forgetting a hole, or remembering one that another process has
//! filled, does no harm: the pages are only used earlier or later than necessary.

use super::{
    bits::Bits,
    summary::{GROUP_PAGES, GROUP_WORDS, Summaries},
};
use crate::types::Extent;

/// The known holes. No memory is used as long as there were none.
#[derive(Default, Debug)]
pub(super) struct Holes {
    bits: Bits,
    summaries: Summaries,
    page_count: u64,
}

impl Holes {
    /// Pages that are in holes.
    pub(super) fn page_count(&self) -> u64 {
        self.page_count
    }

    pub(super) fn bits(&self) -> &Bits {
        &self.bits
    }

    /// Adds pages that are in no hole, in a file of `page_count` pages.
    pub(super) fn add(&mut self, extent: Extent, page_count: u64) {
        debug_assert!(
            extent.end() <= page_count,
            "a hole ends before the end of the file"
        );
        debug_assert!(self.bits.none(extent), "a page is in one hole at most");
        let group_count = page_count.div_ceil(GROUP_PAGES) as usize;
        if self.bits.words().len() < group_count * GROUP_WORDS {
            self.bits.resize(group_count * GROUP_WORDS);
            self.summaries.resize(group_count);
        }
        self.bits.set(extent);
        self.page_count += u64::from(extent.len);
        self.touch(extent);
    }

    /// Removes pages that are in holes.
    pub(super) fn remove(&mut self, extent: Extent) {
        debug_assert!(self.bits.all(extent), "{extent:?} is no hole");
        self.bits.clear(extent);
        self.page_count -= u64::from(extent.len);
        self.touch(extent);
    }

    /// The first pages of the lowest hole of at least `least` pages: at most `most` of them.
    pub(super) fn lowest(&mut self, least: u32, most: u32) -> Option<Extent> {
        if self.page_count < u64::from(least) || self.page_count == 0 {
            return None;
        }
        self.summaries.refresh(self.bits.words());
        let start = self.summaries.find(self.bits.words(), least)?;
        let end = self
            .bits
            .next_clear(start, start + u64::from(most.max(least)));
        debug_assert!(
            end - start >= u64::from(least),
            "the hole that was found is as long as requested"
        );
        Some(Extent::new(start as u32, (end - start) as u32))
    }

    /// Counts the pages directly before `end` that are in holes.
    pub(super) fn before(&self, end: u64) -> u64 {
        let known = self.bits.words().len() as u64 * 64;
        match end <= known {
            true => self.bits.set_before(end),
            false => 0,
        }
    }

    /// The holes in order, up to `end`.
    pub(super) fn below(&self, end: u64) -> Vec<Extent> {
        let extents = self
            .bits
            .extents()
            .take_while(|extent| u64::from(extent.start.0) < end);
        let clipped = extents.map(|extent| {
            let len = end.min(extent.end()) - u64::from(extent.start.0);
            Extent::new(extent.start.0, len as u32)
        });
        clipped.collect()
    }

    fn touch(&mut self, extent: Extent) {
        for group in u64::from(extent.start.0) / GROUP_PAGES..extent.end().div_ceil(GROUP_PAGES) {
            self.summaries.touch(group as usize);
        }
    }
}
