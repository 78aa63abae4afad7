//! The free-space map in memory: which pages are free, and which are dead and may still be seen.

use super::{
    checked_pages::FIRST_PAGE,
    free_map::{FreeMap, PlacementPolicy},
    log,
    page_array::{PageArray, SpaceRoots},
    pending::Pending,
    pins::Pins,
};
use crate::{
    page::{
        array, bitmap,
        deaths::{self, Death},
    },
    types::{Extent, PageNumber, TransactionId},
};
use std::ops::Range;

/// Every page that the database's content does not use.
#[derive(Debug)]
pub(crate) struct Census {
    /// Free extents, in order.
    pub(crate) free: Vec<Extent>,
    /// Dead extents that some pin may see, in no order.
    pub(crate) pending: Vec<Death>,
    /// Bitmap pages, segments and array nodes, in order.
    pub(crate) own: Vec<PageNumber>,
}

/// The free-space map.
#[derive(Debug)]
pub(crate) struct Space {
    pub(super) page_size: usize,
    pub(super) pages_per_bitmap: u32,
    pub(super) deaths_per_segment: usize,
    pub(super) free: FreeMap,
    pub(super) pending: Pending,
    pub(super) bitmaps: PageArray,
    pub(super) segments: PageArray,
    pub(super) log: Vec<u8>,
    /// The transaction of the log's last group.
    pub(super) log_transaction: TransactionId,
}

impl Space {
    /// Creates the free-space map of an empty database: the records, and no pages after them.
    pub(crate) fn new(page_size: usize, first_page: u32) -> Self {
        let pages_per_bitmap = bitmap::capacity(page_size);
        let fanout = array::fanout(page_size);
        Self {
            page_size,
            pages_per_bitmap,
            deaths_per_segment: deaths::capacity(page_size),
            free: FreeMap::new(pages_per_bitmap, u64::from(first_page)),
            pending: Pending::default(),
            bitmaps: PageArray::new(fanout),
            segments: PageArray::new(fanout),
            log: Vec::new(),
            log_transaction: TransactionId(0),
        }
    }

    /// Frees the pages that no pin sees any more. The newest commit is among the pins.
    pub(crate) fn reclaim(&mut self, pins: &Pins) {
        let unused = self.free_count() + self.pending_count();
        self.pending.reclaim(pins, &mut self.free);
        debug_assert_eq!(
            self.free_count() + self.pending_count(),
            unused,
            "reclaiming makes pending pages free, and no other page"
        );
    }

    /// Asserts that pages may be handed out: no pin sees them.
    fn handed_out(&self, extent: Option<Extent>) -> Option<Extent> {
        debug_assert!(
            extent.is_none_or(|extent| !self.pending.has_dead(extent)),
            "a page that a pin may see is not handed out"
        );
        debug_assert!(
            extent.is_none_or(|extent| extent.start.0 >= FIRST_PAGE),
            "a commit record is not handed out"
        );
        extent
    }

    /// Allocates at most `want` consecutive free pages according to `policy`. `None` if there are
    /// none, or none that fit: the caller then grows the file, with [`Self::grow`].
    pub(crate) fn allocate(&mut self, want: u32, policy: PlacementPolicy) -> Option<Extent> {
        let extent = self.free.take_extent(want, policy);
        self.handed_out(extent)
    }

    /// Like [`Self::allocate`], but without pages in `zone`.
    pub(crate) fn allocate_outside(
        &mut self,
        want: u32,
        policy: PlacementPolicy,
        zone: &Range<u64>,
    ) -> Option<Extent> {
        let extent = self.free.take_outside(want, policy, zone);
        self.handed_out(extent)
    }

    /// Allocates at most `want` consecutive free pages within `zone`: the first extent that is long
    /// enough, searching from `from` and wrapping around, else the longest one.
    pub(crate) fn allocate_within(
        &mut self,
        want: u32,
        zone: &Range<u64>,
        from: u64,
    ) -> Option<Extent> {
        let extent = self.free.take_within(want, zone, from);
        self.handed_out(extent)
    }

    /// Returns the lowest extent of `want` free pages, or the longest one if none is as long.
    pub(crate) fn longest_free(&mut self, want: u32) -> Option<Extent> {
        self.free.longest(want)
    }

    /// Counts the pages of the extent that are free and in no hole.
    pub(crate) fn count_ready(&self, extent: Extent) -> u64 {
        self.free.count_ready(extent)
    }

    /// Frees pages that were allocated and not used.
    pub(crate) fn give_back(&mut self, extent: Extent) {
        debug_assert!(
            self.free.none_free(extent),
            "{extent:?} is given back twice"
        );
        self.free.free(extent);
    }

    /// Returns the end of the highest free extent that has at least `least` pages and is in no
    /// hole, about `most` pages long.
    pub(crate) fn highest_free(&mut self, least: u32, most: u32) -> Option<Extent> {
        self.free.highest(least, most)
    }

    /// Records that free pages are in a hole of the file: they are not allocated until it is
    /// opened.
    pub(crate) fn add_hole(&mut self, extent: Extent) {
        self.free.add_hole(extent);
    }

    /// Like [`Self::add_hole`], for allocated pages and for the free pages directly after them, up
    /// to `end`.
    pub(crate) fn give_back_hole(&mut self, extent: Extent, end: u64) {
        self.free.free(extent);
        let hole = self.free.ready_from(extent, end.max(extent.end()));
        self.free.add_hole(hole);
    }

    /// Makes the first pages of the lowest hole with at least `least` pages allocatable again, at
    /// most `most` of them. Returns which.
    pub(crate) fn open_hole(&mut self, least: u32, most: u32) -> Option<Extent> {
        self.free.open_hole(least, most)
    }

    /// Makes pages below `end` that are in holes allocatable again.
    pub(crate) fn forget_holes(&mut self, end: u64) {
        self.free.forget_holes(end);
    }

    /// Grows the file of the map to `page_count` pages, with the new pages free.
    pub(crate) fn grow(&mut self, page_count: u64) {
        assert!(
            page_count >= self.page_count(),
            "growing does not make shorter"
        );
        self.free.set_page_count(page_count);
    }

    /// Truncates the end of the file, in which all pages are free.
    pub(crate) fn shrink(&mut self, page_count: u64) {
        let Some(cut) = self
            .page_count()
            .checked_sub(page_count)
            .filter(|cut| *cut > 0)
        else {
            return;
        };
        assert!(cut <= self.trailing_free(), "only free pages are cut off");
        self.free.set_page_count(page_count);
    }

    /// Pages of the file, including records and free pages.
    pub(crate) fn page_count(&self) -> u64 {
        self.free.page_count()
    }

    /// Pages that are in use, or dead and seen by some pin.
    pub(crate) fn used_count(&self) -> u64 {
        self.page_count() - self.free_count()
    }

    /// Free pages, including those in holes.
    pub(crate) fn free_count(&self) -> u64 {
        self.free.free_count()
    }

    /// Free pages that are not known to be in a hole of the file.
    pub(crate) fn ready_count(&self) -> u64 {
        self.free.ready_count()
    }

    /// Dead pages that some pin may see.
    pub(crate) fn pending_count(&self) -> u64 {
        self.pending.page_count()
    }

    /// Counts the dead pages that none of these pins sees. `pins` ascends.
    pub(crate) fn unseen_count(&self, pins: &[TransactionId]) -> u64 {
        debug_assert!(pins.is_sorted(), "pins ascend");
        let is_unseen = |death: &Death| {
            let below = pins.partition_point(|pin| *pin < death.died);
            pins[..below].last().is_none_or(|pin| *pin < death.birth)
        };
        let unseen = self.pending.deaths().filter(is_unseen);
        unseen.map(|death| u64::from(death.extent.len)).sum()
    }

    /// Returns for each pin how many dead pages only this pin sees. `pins` ascends.
    pub(crate) fn kept_alone(&self, pins: &[TransactionId]) -> Vec<u64> {
        debug_assert!(pins.is_sorted(), "pins ascend");
        let mut kept = vec![0; pins.len()];
        for death in self.pending.deaths() {
            let below = pins.partition_point(|pin| *pin < death.died);
            let seen = pins.partition_point(|pin| *pin < death.birth)..below;
            if seen.len() == 1 {
                kept[seen.start] += u64::from(death.extent.len);
            }
        }
        kept
    }

    /// Counts the consecutive free pages at the end of the file.
    pub(crate) fn trailing_free(&self) -> u64 {
        self.free.trailing_free()
    }

    /// Counts the consecutive free pages at the end of the file that [`Self::allocate`] finds,
    /// because they are in no hole.
    pub(crate) fn trailing_ready(&self) -> u64 {
        self.free.trailing_ready()
    }

    pub(super) fn append_group(
        &mut self,
        transaction: TransactionId,
        taken: &[Extent],
        deaths: impl ExactSizeIterator<Item = (Extent, TransactionId)>,
    ) {
        log::append(
            &mut self.log,
            self.log_transaction,
            transaction,
            taken,
            deaths,
        );
        self.log_transaction = transaction;
    }

    /// The present roots.
    pub(crate) fn roots(&self) -> SpaceRoots {
        SpaceRoots {
            bitmaps: self.bitmaps.root(),
            deaths: self.segments.root(),
        }
    }

    /// Classifies all pages that are free, pending, or part of the free-space map itself.
    pub(crate) fn classify(&self) -> Census {
        let mut own: Vec<_> = self.bitmaps.pages().chain(self.segments.pages()).collect();
        own.sort_unstable();
        debug_assert!(
            own.is_sorted_by(|a, b| a < b),
            "each page of the map has one place in it"
        );
        Census {
            free: self.free.extents(),
            pending: self.pending.deaths().collect(),
            own,
        }
    }
}
