//! The free pages of the file, in memory: one bit per page and a tree of summaries over them.
//!
//! Invariants: no bit at or after `page_count` is set; `ready_count` is the number of set bits; a
//! page in a hole is free, and has no bit here; every bitmap page whose bits may differ from those
//! on disk is in `changed`; no page below `none_below` is free.

mod bitmaps;

use super::{
    bits::Bits,
    dirty_bitmaps::DirtyBitmaps,
    holes::Holes,
    summary::{GROUP_PAGES, GROUP_WORDS, Summaries},
};
use crate::types::{Extent, PageNumber};
use std::ops::Range;

/// Fragments of free space are searched in this many words of bits before the summaries are
/// consulted.
const NEARBY_WORDS: usize = 64;
/// [`NEARBY_WORDS`] in pages.
const NEARBY_PAGES: u64 = 64 * NEARBY_WORDS as u64;

/// How pages are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PlacementPolicy {
    /// Exactly as many consecutive pages as requested: the lowest extent that fits.
    Contiguous,
    /// At most as many as requested, at least one: the lowest extent that fits all, else the
    /// longest extent (the lowest of those).
    UpTo,
    /// At most as many as requested, at least one: the lowest free extent, however short.
    Fragmented,
}

/// Which pages are free.
#[derive(Debug)]
pub(super) struct FreeMap {
    bits: Bits,
    page_count: u64,
    /// Free pages that are not in a hole.
    ready_count: u64,
    holes: Holes,
    none_below: u64,
    summaries: Summaries,
    pages_per_bitmap: u32,
    changed: DirtyBitmaps,
}

impl FreeMap {
    /// Creates the map of a file of `page_count` pages, none free.
    pub(super) fn new(pages_per_bitmap: u32, page_count: u64) -> Self {
        assert!(
            pages_per_bitmap.is_multiple_of(64),
            "a bitmap page covers whole words, so none of them is in two bitmap pages"
        );
        let mut map = Self {
            bits: Bits::default(),
            page_count: 0,
            ready_count: 0,
            holes: Holes::default(),
            none_below: 0,
            summaries: Summaries::default(),
            pages_per_bitmap,
            changed: DirtyBitmaps::default(),
        };
        map.resize(page_count);
        map
    }

    pub(super) fn page_count(&self) -> u64 {
        self.page_count
    }

    pub(super) fn free_count(&self) -> u64 {
        self.ready_count + self.holes.page_count()
    }

    /// Free pages that are not known to be in a hole.
    pub(super) fn ready_count(&self) -> u64 {
        self.ready_count
    }

    pub(super) fn is_free(&self, page: PageNumber) -> bool {
        let page = u64::from(page.0);
        self.bits.get(page) || self.holes.bits().get(page)
    }

    /// Whether no page of the extent is free.
    pub(super) fn none_free(&self, extent: Extent) -> bool {
        self.bits.none(extent) && self.holes.bits().none(extent)
    }

    /// Counts the free pages of the extent.
    pub(super) fn count_free(&self, extent: Extent) -> u64 {
        self.count_ready(extent) + self.count_in_holes(extent)
    }

    /// Counts the free pages of the extent that are in no hole.
    pub(super) fn count_ready(&self, extent: Extent) -> u64 {
        self.bits.count(extent)
    }

    /// Returns the lowest free page that is in no hole and has `count` such pages before it.
    pub(super) fn first_free_page_after(&self, count: u64) -> Option<u64> {
        let mut left = count;
        for (index, word) in self.bits.words().iter().enumerate() {
            let free = u64::from(word.count_ones());
            if left >= free {
                left -= free;
                continue;
            }
            let rest = (0..left).fold(*word, |word, _| word & (word - 1));
            return Some(index as u64 * 64 + u64::from(rest.trailing_zeros()));
        }
        None
    }

    fn count_in_holes(&self, extent: Extent) -> u64 {
        match self.holes.bits().none(extent) {
            true => 0,
            false => self.holes.bits().count(extent),
        }
    }

    /// Frees pages. Pages that are free already, which is only possible in a damaged file, stay
    /// free.
    pub(super) fn free(&mut self, extent: Extent) {
        debug_assert!(extent.end() <= self.page_count, "{extent:?} is not there");
        if !self.none_free(extent) {
            return self.free_the_rest(extent);
        }
        self.bits.set(extent);
        self.none_below = self.none_below.min(u64::from(extent.start.0));
        self.ready_count += u64::from(extent.len);
        self.touch(extent);
    }

    #[cold]
    fn free_the_rest(&mut self, extent: Extent) {
        let used = extent.pages().filter(|page| !self.is_free(*page));
        for page in used.collect::<Vec<_>>() {
            self.free(Extent::new(page.0, 1));
        }
    }

    /// Allocates free pages that are in no hole.
    pub(super) fn take(&mut self, extent: Extent) {
        debug_assert!(self.bits.all(extent), "{extent:?} is not free");
        self.bits.clear(extent);
        self.ready_count -= u64::from(extent.len);
        self.touch(extent);
    }

    /// Allocates an extent according to `policy`; `None` if there is none.
    pub(super) fn take_extent(&mut self, want: u32, policy: PlacementPolicy) -> Option<Extent> {
        if want == 0 || self.ready_count == 0 {
            return None;
        }
        let start = self.find(want, policy)?;
        let extent = self.extent_at(start, want);
        debug_assert!(
            extent.len == want || policy != PlacementPolicy::Contiguous,
            "a request for contiguous pages is met in full or not at all"
        );
        self.take(extent);
        Some(extent)
    }

    /// Returns the lowest extent of `want` free pages, or the longest one if none is as long.
    pub(super) fn longest(&mut self, want: u32) -> Option<Extent> {
        let start = self.find(want, PlacementPolicy::UpTo)?;
        Some(self.extent_at(start, want))
    }

    fn extent_at(&self, start: u64, want: u32) -> Extent {
        let end = self.bits.next_clear(start, start + u64::from(want));
        Extent::new(start as u32, (end - start) as u32)
    }

    /// Allocates an extent according to `policy`, without pages in `zone`: the lowest one before
    /// the zone or not far after it, else one in the highest part.
    pub(super) fn take_outside(
        &mut self,
        want: u32,
        policy: PlacementPolicy,
        zone: &Range<u64>,
    ) -> Option<Extent> {
        self.summaries.refresh(self.bits.words());
        let mut least = match policy {
            PlacementPolicy::Fragmented => 1,
            PlacementPolicy::UpTo => want.min(self.summaries.longest()),
            PlacementPolicy::Contiguous => want,
        };
        while least > 0 {
            let found = self.outside(least, want, zone);
            if let Some(extent) = found {
                debug_assert!(
                    extent.end() <= zone.start || u64::from(extent.start.0) >= zone.end,
                    "an extent outside of the zone shares no page with it"
                );
                self.take(extent);
                return Some(extent);
            }
            least = match policy {
                PlacementPolicy::Contiguous => 0,
                _ => least - least.div_ceil(4),
            };
        }
        None
    }

    /// Returns at least `least` and at most `want` pages. Only valid right after the summaries were
    /// refreshed.
    fn outside(&self, least: u32, want: u32, zone: &Range<u64>) -> Option<Extent> {
        let extent = |start: u64, limit: u64| {
            let end = self
                .bits
                .next_clear(start, limit.min(start + u64::from(want)));
            let len = end - start;
            (len >= least.into()).then(|| Extent::new(start as u32, len as u32))
        };
        let lowest = self.summaries.find(self.bits.words(), least)?;
        if !zone.contains(&lowest) {
            let limit = if lowest < zone.start {
                zone.start
            } else {
                u64::MAX
            };
            if let Some(before) = extent(lowest, limit) {
                return Some(before);
            }
        }
        let mut nearby = zone.end;
        while let Some(start) = self.bits.next_set_within(nearby, NEARBY_WORDS)
            && start < zone.end + NEARBY_PAGES
        {
            if let Some(later) = extent(start, u64::MAX) {
                return Some(later);
            }
            nearby = self.bits.next_clear(start, u64::MAX);
        }
        let end = self.summaries.find_last(self.bits.words(), least)?;
        let start = end - self.bits.set_before(end);
        extent(start.max(zone.end), end.max(zone.end))
    }

    /// Allocates the first extent of `want` pages within `zone`, searching from `from` and wrapping
    /// around, or the longest extent there.
    pub(super) fn take_within(
        &mut self,
        want: u32,
        zone: &Range<u64>,
        from: u64,
    ) -> Option<Extent> {
        let from = from.clamp(zone.start, zone.end);
        let mut found: Option<Extent> = None;
        for (start, end) in [(from, zone.end), (zone.start, from)] {
            let mut at = start;
            let words = (end - start) as usize / 64 + 2;
            while at < end
                && found.is_none_or(|found| found.len < want)
                && let Some(start) = self.bits.next_set_within(at, words)
                && start < end
            {
                at = self
                    .bits
                    .next_clear(start, end.min(start + u64::from(want)));
                let extent = Extent::new(start as u32, (at - start) as u32);
                found = found
                    .filter(|found| found.len >= extent.len)
                    .or(Some(extent));
            }
        }
        debug_assert!(
            found.is_none_or(|extent| {
                u64::from(extent.start.0) >= zone.start && extent.end() <= zone.end
            }),
            "an extent within the zone has all its pages there"
        );
        found.inspect(|extent| self.take(*extent))
    }

    fn find(&mut self, want: u32, policy: PlacementPolicy) -> Option<u64> {
        if policy == PlacementPolicy::Fragmented {
            // Close to the previous one it is found without the summaries, which then need not be
            // updated page by page.
            let nearby = self.bits.next_set_within(self.none_below, NEARBY_WORDS);
            let found = nearby.or_else(|| {
                self.summaries.refresh(self.bits.words());
                self.summaries.find(self.bits.words(), 1)
            })?;
            debug_assert!(
                self.bits.next_set(0) == Some(found),
                "no page below the lowest free one is free"
            );
            self.none_below = found;
            return Some(found);
        }
        self.summaries.refresh(self.bits.words());
        let least = match policy {
            PlacementPolicy::UpTo => want.min(self.summaries.longest()),
            _ => want,
        };
        self.summaries.find(self.bits.words(), least)
    }

    /// Grows the file, with the new pages free, or truncates it and drops the bits past its end.
    pub(super) fn set_page_count(&mut self, page_count: u64) {
        let old = self.page_count;
        if page_count > old {
            self.resize(page_count);
            for extent in extents_between(old, page_count) {
                self.free(extent);
            }
        } else {
            for extent in self.holes.below(old) {
                let start = page_count.max(u64::from(extent.start.0));
                extents_between(start, extent.end()).for_each(|cut| self.holes.remove(cut));
            }
            for extent in extents_between(page_count, old) {
                self.ready_count -= self.bits.count(extent);
                self.bits.clear(extent);
                self.touch_groups(extent);
            }
            self.resize(page_count);
        }
        debug_assert!(
            self.bits.next_set(page_count).is_none(),
            "no page at or after the end of the file is free"
        );
    }

    fn resize(&mut self, page_count: u64) {
        assert!(page_count <= 1 << 32, "page numbers have 32 bits");
        let group_count = page_count.div_ceil(GROUP_PAGES) as usize;
        self.bits.resize(group_count * GROUP_WORDS);
        self.summaries.resize(group_count);
        self.page_count = page_count;
    }

    /// Counts the consecutive free pages at the end of the file.
    pub(super) fn trailing_free(&self) -> u64 {
        let mut start = self.page_count;
        loop {
            let ready = self.bits.set_before(start);
            let in_hole = self.holes.before(start - ready);
            start -= ready + in_hole;
            if in_hole == 0 {
                return self.page_count - start;
            }
        }
    }

    /// Counts the consecutive free pages at the end of the file that can be allocated, because they
    /// are in no hole.
    pub(super) fn trailing_ready(&self) -> u64 {
        self.bits.set_before(self.page_count)
    }

    /// All free extents, in order.
    pub(super) fn extents(&self) -> Vec<Extent> {
        if self.holes.page_count() == 0 {
            return self.bits.extents().collect();
        }
        let mut all = self.bits.clone();
        self.holes
            .below(self.page_count)
            .into_iter()
            .for_each(|hole| all.set(hole));
        all.extents().collect()
    }

    /// Returns the end of the highest free extent of at least `least` pages that is in no hole,
    /// about `most` pages long.
    pub(super) fn highest(&mut self, least: u32, most: u32) -> Option<Extent> {
        self.summaries.refresh(self.bits.words());
        let end = self.summaries.find_last(self.bits.words(), least)?;
        let len = self.bits.set_before_within(end, most.into());
        Some(Extent::new((end - len) as u32, len as u32))
    }

    /// Records that free pages are in a hole.
    pub(super) fn add_hole(&mut self, extent: Extent) {
        debug_assert!(self.bits.all(extent), "{extent:?} is not free");
        self.bits.clear(extent);
        self.ready_count -= u64::from(extent.len);
        self.touch_groups(extent);
        self.holes.add(extent, self.page_count);
    }

    /// The free pages from the first one of `extent` on, up to `end`, that are in no hole.
    pub(super) fn ready_from(&self, extent: Extent, end: u64) -> Extent {
        let start = u64::from(extent.start.0);
        let end = self.bits.next_clear(start, end.min(self.page_count));
        Extent::new(extent.start.0, (end - start) as u32)
    }

    /// Makes the first pages of the lowest hole of at least `least` pages allocatable again: at
    /// most `most` of them.
    pub(super) fn open_hole(&mut self, least: u32, most: u32) -> Option<Extent> {
        let extent = self.holes.lowest(least, most)?;
        self.open(extent);
        Some(extent)
    }

    /// Makes all pages below `end` that are in holes allocatable again.
    pub(super) fn forget_holes(&mut self, end: u64) {
        if self.holes.page_count() > 0 {
            self.holes
                .below(end)
                .into_iter()
                .for_each(|extent| self.open(extent));
        }
    }

    fn open(&mut self, extent: Extent) {
        debug_assert!(
            self.bits.none(extent),
            "a free page is in a hole or ready, not both"
        );
        self.holes.remove(extent);
        self.bits.set(extent);
        self.none_below = self.none_below.min(u64::from(extent.start.0));
        self.ready_count += u64::from(extent.len);
        self.touch_groups(extent);
    }

    /// Whether the counts agree with the bits. Reads all bits.
    pub(super) fn is_consistent(&self) -> bool {
        let ready = self.bits.words().iter();
        let ready: u64 = ready.map(|word| u64::from(word.count_ones())).sum();
        ready == self.ready_count && self.bits.next_set(self.page_count).is_none()
    }

    /// The free pages that are in no hole, as bits.
    pub(super) fn ready(&self) -> &Bits {
        &self.bits
    }

    #[inline]
    fn touch(&mut self, extent: Extent) {
        if extent.len == 0 {
            return;
        }
        self.touch_groups(extent);
        let last = extent.start.0 + (extent.len - 1);
        for bitmap in extent.start.0 / self.pages_per_bitmap..=last / self.pages_per_bitmap {
            self.changed.insert(bitmap);
        }
    }

    #[inline]
    fn touch_groups(&mut self, extent: Extent) {
        for group in u64::from(extent.start.0) / GROUP_PAGES..extent.end().div_ceil(GROUP_PAGES) {
            self.summaries.touch(group as usize);
        }
    }

    /// The bitmap pages that may differ from those on disk.
    pub(super) fn changed(&mut self) -> &mut DirtyBitmaps {
        &mut self.changed
    }

    /// The indices of the bitmap pages that may differ from those on disk, in no order.
    pub(super) fn changed_bitmaps(&self) -> &[u32] {
        &self.changed.list
    }

    /// Records that all bitmaps that cover the extent differ from those on disk.
    pub(super) fn mark_changed(&mut self, extent: Extent) {
        self.touch(extent);
    }
}

/// Extents that together cover the pages from `start` to `end`; two if one length field is too
/// small.
fn extents_between(start: u64, end: u64) -> impl Iterator<Item = Extent> {
    let middle = end.min(start + u64::from(u32::MAX));
    [(start, middle), (middle, end)]
        .into_iter()
        .filter(|(start, end)| start < end)
        .map(|(start, end)| Extent::new(start as u32, (end - start) as u32))
}

#[cfg(test)]
mod tests;
