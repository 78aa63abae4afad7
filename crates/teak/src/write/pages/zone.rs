//! The zone: where durable transactions put pages that will soon be rewritten.
//!
//! The cost of a flush depends on the number of separate pieces
//! (docs/decisions/0011-zone-for-short-lived-pages.md). In a file with little free space most free
//! pages are isolated, so each page taken anywhere is a piece of its own. Inner pages and recently
//! written leaves die soon, and there are few of them. The *zone* is a part of the file several
//! times as large. Nothing else is put there, so it is mostly free, and the short-lived
//! pages of a transaction find contiguous space in it. Long-lived leaves are put elsewhere.
//! (Log-structured file systems separate hot and cold blocks for the same reason: Rosenblum and
//! Ousterhout, 1992.)
//!
//! The zone is only a preference. Nothing about it is on the disk, other processes have zones of
//! their own, and pages that were in the zone before it was chosen die over time.

use super::WritePages;
use crate::{
    Extent, PageNumber, Result, TransactionId, btree::PageSource, io::Fill, page::header::Header,
    record::durability::Durability,
};

/// A smaller file has no zone: the pages that a transaction changes find contiguous space anyway.
const FILE_PAGES_MIN: u64 = 2048;
/// The zone is one part in this many of the file: several times the inner pages of a table with
/// small records.
const ZONE_PART: u64 = 32;
const ZONE_PAGES_MIN: u32 = 64;
const ZONE_PAGES_MAX: u32 = 4096;
/// The most bytes by which the file grows for the zone, once. The new part is filled with zeros
/// while a thread waits.
const GROWN_MAX: u64 = 4 << 20;
/// After this many transactions the choice of the zone is reconsidered.
const RENEWED_APART: u64 = 1024;
/// A page that is rewritten after at most this many transactions is expected to be rewritten again.
const HOT_AGE: u64 = 64;
/// The most pages of one transaction in the zone, and (below) the most contiguous pages to look
/// for.
const HOT_MAX: u32 = 256;
const ROW_MAX: u32 = 64;

impl WritePages {
    /// A page in the zone for the copy of this one, if there is space and the page is short-lived.
    pub(super) fn take_hot(&mut self, number: PageNumber) -> Result<Option<PageNumber>> {
        let is_out = self.supply.has_no_zone || self.supply.low_boundary.is_some();
        if is_out || self.limits.expected == Durability::Lazy || self.supply.hot_count >= HOT_MAX {
            return Ok(None);
        }
        let header = Header::read(self.page(number)?);
        let is_young = header.birth.0.saturating_add(HOT_AGE) >= self.transaction.0;
        if header.is_leaf() && !is_young {
            return Ok(None);
        }
        self.make_room()?;
        if self.supply.hot_extent.len == 0 {
            self.supply.hot_extent = match self.take_hot_extent() {
                Some(extent) => extent,
                None => return Ok(None),
            };
        }
        debug_assert!(
            self.supply.hot_count < HOT_MAX && self.supply.hot_extent.len > 0,
            "one transaction fills only a part of the zone"
        );
        let new = self.supply.hot_extent.start;
        self.supply.hot_extent = Extent::new(new.0.wrapping_add(1), self.supply.hot_extent.len - 1);
        self.supply.hot_count += 1;
        self.writer.zone.next = u64::from(new.0) + 1;
        self.note_taken(new);
        Ok(Some(new))
    }

    fn take_hot_extent(&mut self) -> Option<Extent> {
        self.renew_zone();
        let writer = &mut *self.writer;
        let zone = &writer.zone;
        // With a journal, one flush is made for many transactions. It has the least to write if all
        // of them use the same few pages.
        let (want, from) = match self.sources.are_wanted() {
            true => (1, zone.pages.start),
            false => {
                let rest = zone.usual.saturating_sub(self.supply.hot_count);
                (rest.clamp(2, ROW_MAX), zone.next)
            }
        };
        let extent = (writer.space).allocate_within(want, &zone.pages, from)?;
        debug_assert!(
            extent.len <= want && zone.pages.contains(&u64::from(extent.start.0)),
            "pages that die soon are put into the zone"
        );
        let Ok(is_secured) = self.secure(extent) else {
            // Without blocks, or with a failing disk, the error is reported where the page is taken
            // elsewhere.
            self.writer.space.give_back(extent);
            self.writer.zone.pages = 0..0;
            return None;
        };
        self.supply.is_secured &= is_secured;
        self.forget(extent);
        Some(extent)
    }

    /// Finds a zone, or replaces one that is half full. There is none while the end of the file is
    /// being emptied.
    fn renew_zone(&mut self) {
        let boundary = self.writer.shrink.tail.boundary();
        let page_count = self.writer.space.page_count();
        let want = u32::try_from(page_count / ZONE_PART).unwrap_or(ZONE_PAGES_MAX);
        let want = want.clamp(ZONE_PAGES_MIN, ZONE_PAGES_MAX);
        let zone = &mut self.writer.zone;
        let is_too_long = zone.pages.end > page_count || zone.len() > 4 * u64::from(want);
        let is_out = boundary.is_some() || page_count < FILE_PAGES_MIN;
        if is_too_long || is_out {
            zone.pages = 0..0;
        }
        if is_out || self.transaction < zone.rests_until {
            return;
        }
        zone.rests_until = TransactionId(self.transaction.0.saturating_add(RENEWED_APART));
        let (start, len) = (zone.pages.start as u32, zone.len() as u32);
        let free = self.writer.space.count_ready(Extent::new(start, len));
        if len > 0 && free >= u64::from(len / 2) {
            return;
        }
        let mut found = self.writer.space.longest_free(want);
        let least = (want / 2).max(ZONE_PAGES_MIN);
        if found.is_none_or(|extent| extent.len < least) && self.may_grow_for_zone() {
            self.writer.zone.has_grown = true;
            let most = GROWN_MAX >> self.file.page_shift;
            // An error loses nothing.
            let _ = self.grow(most.min(want.into()), Fill::HugePages);
            found = self.writer.space.longest_free(want);
        }
        let is_better =
            |extent: &Extent| extent.len >= ZONE_PAGES_MIN && u64::from(extent.len) > free;
        if let Some(extent) = found.filter(is_better) {
            let zone = &mut self.writer.zone;
            zone.pages = extent.start.0.into()..extent.end();
            zone.next = zone.pages.start;
        }
    }

    /// Does not grow the file for the zone if its growth was configured.
    fn may_grow_for_zone(&self) -> bool {
        let geometry = &self.limits.geometry;
        let is_plain = geometry.growth_step_bytes == 0 && geometry.shrink_threshold_bytes == 0;
        is_plain && self.limits.slow_readers.is_none() && !self.writer.zone.has_grown
    }

    /// Gives up a zone that ends after `boundary`, for a while: the end of the file is emptied.
    /// Commits of all kinds do that, and only durable ones look at the zone.
    pub(crate) fn give_up_zone_after(&mut self, boundary: u64) {
        let zone = &mut self.writer.zone;
        if zone.pages.end > boundary {
            zone.pages = 0..0;
            zone.rests_until = TransactionId(self.transaction.0.saturating_add(RENEWED_APART));
        }
    }

    /// Uses no zone from now on: relocation decides the positions of pages itself.
    pub(crate) fn leave_zone(&mut self) {
        self.supply.has_no_zone = true;
        self.writer.zone.pages = 0..0;
    }

    /// Gives the rest of the zone's extent back.
    pub(super) fn give_back_hot(&mut self) {
        let rest = std::mem::replace(&mut self.supply.hot_extent, Extent::new(0, 0));
        if rest.len > 0 {
            self.writer.space.give_back(rest);
        }
        if self.supply.hot_count > 0 {
            self.writer.zone.usual = std::mem::take(&mut self.supply.hot_count);
        }
    }
}

#[cfg(test)]
#[path = "zone_tests.rs"]
mod tests;
