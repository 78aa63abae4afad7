//! Free extents for a transaction, taken from the free-space map or from a grown file.

use super::WritePages;
use crate::{
    Error, Extent, Result,
    alloc::{FIRST_PAGE, PlacementPolicy},
    error::is_full,
    io::{Fill, WritableExtent, WritableMapping},
    observe::events::Event,
    record::durability::Durability,
};
use std::{
    io::{self, IoSlice},
    sync::Arc,
    time::{Duration, Instant},
};

/// A durable transaction up to this size prefers contiguous pages to fragmented ones. For any
/// transaction of this size the file grows little.
const SMALL_TRANSACTION_PAGES: u64 = 64;
/// A file that is not small grows in steps of this size, so that it consists of huge pages.
const HUGE_PAGE_LEN: u64 = 2 << 20;
/// The most bytes by which the file grows beyond what is needed.
const GROWTH_MAX: u64 = 8 << 20;
/// A file that has grown twice within this time is expected to grow again.
const GROWN_AGAIN: Duration = Duration::from_secs(1);
/// When the disk is full, this many holes are passed over in the search for free pages with blocks.
const HOLES_PASSED_MAX: usize = 64;

impl WritePages {
    /// Takes an extent of free pages, and grows the file if there is none. The extent has its disk
    /// blocks if the system can promise them.
    pub(super) fn take_extent(&mut self, want: u32, is_exact: bool) -> Result<Extent> {
        let mut passed_over = 0;
        loop {
            let extent = self.find_extent(want, is_exact);
            let extent = extent.inspect_err(|_| self.want_space(want))?;
            debug_assert!(
                extent.len > 0 && (extent.len == want || !is_exact && extent.len < want),
                "an extent has no more pages than were asked for, and exactly those if it matters"
            );
            debug_assert!(
                extent.end() <= self.writer.space.page_count(),
                "an extent is inside of the file"
            );
            match self.secure(extent) {
                Ok(is_secured) => {
                    self.supply.is_secured &= is_secured;
                    self.forget(extent);
                    return Ok(extent);
                }
                // Other free pages may have blocks.
                Err(error) if is_full(&error) && passed_over < HOLES_PASSED_MAX => {
                    self.pass_over_hole(extent);
                    passed_over += 1;
                }
                Err(error) => {
                    self.writer.space.give_back(extent);
                    // Relocated pages do not need the space.
                    if is_full(&error) && self.supply.low_boundary.is_some() {
                        return Err(self.full());
                    }
                    self.want_space(want);
                    return Err(Error::io("allocating blocks")(error));
                }
            }
        }
    }

    /// Takes contiguous pages for the journal and fills them, so that their blocks are written
    /// before they are needed. `None` if there are none.
    ///
    /// # Errors
    ///
    /// The system's error if writing them fails.
    pub(crate) fn take_journal(&mut self, pages: u32) -> Result<Option<Extent>> {
        let mut extent = self
            .writer
            .space
            .allocate(pages, PlacementPolicy::Contiguous);
        if extent.is_none() && self.grow(pages.into(), Fill::Nothing).is_ok() {
            extent = self
                .writer
                .space
                .allocate(pages, PlacementPolicy::Contiguous);
        }
        let Some(extent) = extent else {
            return Ok(None);
        };
        assert_eq!(
            extent.len, pages,
            "the journal has one extent, with all its pages"
        );
        if !matches!(self.secure(extent), Ok(true)) {
            self.writer.space.give_back(extent);
            return Ok(None);
        }
        let zeros = vec![0; 1 << self.file.page_shift];
        let parts = vec![IoSlice::new(&zeros); extent.len as usize];
        if let Err(error) = self
            .file
            .storage
            .write(self.offset_of(extent.start), &parts)
        {
            self.writer.space.give_back(extent);
            return Err(Error::io("filling the journal")(error));
        }
        self.forget(extent);
        self.writer.arena.add_written(extent);
        self.supply.taken_count += u64::from(extent.len);
        Ok(Some(extent))
    }

    /// Forgets what was read from pages that are about to be rewritten.
    pub(super) fn forget(&self, extent: Extent) {
        debug_assert!(
            extent.start.0 >= FIRST_PAGE,
            "commit records are not pages that are taken"
        );
        if self.file.mapping.is_coded() {
            self.verified.forget_everywhere(extent);
            // SAFETY: the transaction has taken these pages, which no snapshot can see.
            unsafe { self.file.mapping.forget(extent) };
        } else {
            self.verified.forget(extent);
        }
    }

    /// Notes that `pages` free pages were missing, unless they were only wanted for relocation.
    pub(crate) fn want_space(&mut self, pages: u32) {
        if self.supply.low_boundary.is_none() {
            // The total need of the transaction is not known; twice the taken pages is an estimate.
            let pages = 2 * self.supply.taken_count + u64::from(pages);
            self.writer.dropped.want(pages);
        }
    }

    pub(super) fn secure(&self, extent: Extent) -> io::Result<bool> {
        let len = u64::from(extent.len) << self.file.page_shift;
        self.file.storage.secure(self.offset_of(extent.start), len)
    }

    /// Notes that pages lie in a hole for which there are no blocks.
    fn pass_over_hole(&mut self, extent: Extent) {
        let data = self.file.storage.next_data(self.offset_of(extent.start));
        let end = data.map_or(0, |data| data >> self.file.page_shift);
        self.writer.space.give_back_hole(extent, end);
    }

    /// Hands out pages of a hole again, at least `least` contiguous ones. Returns whether there
    /// were any.
    fn open_hole(&mut self, least: u32) -> bool {
        let step = self.growth_step(self.writer.space.page_count());
        for most in [u32::try_from(step).unwrap_or(u32::MAX), least] {
            let Some(extent) = self.writer.space.open_hole(least, most) else {
                return false;
            };
            if self.secure(extent).is_ok() {
                return true;
            }
            self.writer.space.add_hole(extent);
        }
        false
    }

    fn find_extent(&mut self, want: u32, is_exact: bool) -> Result<Extent> {
        let is_small = self.limits.expected != Durability::Lazy
            && self.supply.taken_count < SMALL_TRANSACTION_PAGES;
        let boundary = self.writer.shrink.tail.boundary();
        let writer = &mut *self.writer;
        let zone = writer.zone.pages();
        let space = &mut writer.space;
        let found = if is_exact {
            space.allocate(want, PlacementPolicy::Contiguous)
        } else if is_small && self.supply.low_boundary.is_none() {
            let in_a_row = space.allocate_outside(want, PlacementPolicy::Contiguous, zone);
            match (in_a_row, boundary) {
                (Some(extent), Some(boundary)) if extent.end() > boundary => {
                    space.give_back(extent);
                    space.allocate(want, PlacementPolicy::Fragmented)
                }
                (Some(extent), _) => Some(extent),
                (None, Some(_)) => space.allocate(want, PlacementPolicy::Fragmented),
                // With so little free space the file grows instead.
                (None, None) if space.ready_count() * 10 < space.page_count() => None,
                (None, None) => space.allocate_outside(want, PlacementPolicy::UpTo, zone),
            }
        } else {
            space.allocate(want, PlacementPolicy::Fragmented)
        };
        if let Some(extent) = found {
            return Ok(extent);
        }
        let policy = if is_exact {
            PlacementPolicy::Contiguous
        } else {
            PlacementPolicy::UpTo
        };
        let least = if is_exact { want.into() } else { 1 };
        if self.supply.low_boundary.is_some() {
            // Relocation neither grows the file nor asks readers for space.
            return Err(self.full());
        }
        if self.open_hole(least as u32)
            && let Some(extent) = self.writer.space.allocate(want, policy)
        {
            return Ok(extent);
        }
        if let Some(extent) = self.ask_readers(want, least, policy)? {
            return Ok(extent);
        }
        // A large value is written by one call.
        let fill = match is_exact {
            true => Fill::Nothing,
            false => Fill::HugePages,
        };
        if self.grow(least, fill).is_err() {
            // The rest of the file and of the open extent may suffice, or suffice with a few more
            // pages.
            self.give_back_rest();
            if let Some(extent) = self.writer.space.allocate(want, policy) {
                return Ok(extent);
            }
            self.grow(least, fill)?;
        }
        let writer = &mut *self.writer;
        let (space, zone) = (&mut writer.space, writer.zone.pages());
        let new = match is_exact {
            true => None,
            false => space.allocate_outside(want, policy, zone),
        };
        let found = new.or_else(|| writer.space.allocate(want, policy));
        found.ok_or_else(|| self.full())
    }

    /// Builds the pages of the open extent at their final position, if possible. Pages of a commit
    /// that needs no flush then need no write.
    pub(super) fn map_open_extent(&mut self) -> Result<()> {
        let extent = self.supply.open_extent;
        if let Some(bytes) = self.writable_extent(extent)? {
            self.writer.arena.map(extent, bytes);
        }
        Ok(())
    }

    /// The mapped memory of an extent, to build pages in. `None` if its pages are better written,
    /// or have to be.
    pub(super) fn writable_extent(&mut self, extent: Extent) -> Result<Option<WritableExtent>> {
        match self.limits.expected {
            Durability::Lazy => self.mapped_extent(extent),
            _ => Ok(None),
        }
    }

    /// Like [`Self::writable_extent`], for any durability; `None` if mapping is not possible.
    pub(super) fn mapped_extent(&mut self, extent: Extent) -> Result<Option<WritableExtent>> {
        self.writer.committer().refuse_evicted()?;
        if !self.supply.is_secured {
            return Ok(None);
        }
        let Ok(len) = usize::try_from(u64::from(extent.len) << self.file.page_shift) else {
            return Ok(None);
        };
        let end = extent.end() << self.file.page_shift;
        let last = self.file.writable.last();
        if last.is_none_or(|(writable, _)| writable.address_range_len() < end) {
            let writable = self.file.storage.writable();
            let writable = writable.map_err(Error::io("mapping the file for writing"))?;
            let counted = writable.map(|writable| {
                let fault_count = writable.faults().count();
                (writable, fault_count)
            });
            self.file.writable.extend(counted);
        }
        debug_assert!(
            extent.start.0 >= FIRST_PAGE,
            "no page is built over a commit record"
        );
        let offset = self.offset_of(extent.start);
        let last = self.file.writable.last();
        // SAFETY: the transaction has taken these pages from the free-space map and has written
        // them nowhere else: no snapshot can see them. It reads them from the arena.
        Ok(last.and_then(|(writable, _)| unsafe { writable.extent(offset, len) }))
    }

    /// The writable mapping, if pages were built in it.
    pub(crate) fn mapped(&self) -> Option<&Arc<WritableMapping>> {
        self.file.writable.last().map(|(writable, _)| writable)
    }

    /// Marks the pages that were built at their final position as written.
    pub(crate) fn mark_mapped(&self) {
        for extent in self.arena().mapped_extents() {
            let len = u64::from(extent.len) << self.file.page_shift;
            self.file
                .storage
                .mark_written(self.offset_of(extent.start), len);
        }
    }

    /// Makes sure that the next transactions find `pages` free pages, if this one takes no others.
    pub(crate) fn reserve(&mut self, pages: u64) -> Result<()> {
        match self.writer.space.ready_count() >= pages {
            true => Ok(()),
            false => self.grow(pages, Fill::Nothing),
        }
    }

    fn full(&self) -> Error {
        Error::Full {
            limit_bytes: self.size_limit_pages() << self.file.page_shift,
        }
    }

    /// Grows the file by at least `pages`, for which `fill` is meant.
    pub(super) fn grow(&mut self, pages: u64, fill: Fill) -> Result<()> {
        let old = self.writer.space.page_count();
        let step = self.growth_step(old);
        let lower = self.limits.geometry.lower_limit_bytes >> self.file.page_shift;
        let step = match lower.saturating_sub(old) {
            0 => step.max(pages),
            lacking => lacking.max(pages),
        };
        let limit = self.size_limit_pages().min(u64::from(u32::MAX));
        let trailing = self.writer.space.trailing_ready();
        let huge = HUGE_PAGE_LEN >> self.file.page_shift;
        let new = if old >= 4 * huge {
            (old + step).next_multiple_of(huge)
        } else {
            old + step
        };
        let new = new.min(limit);
        if new < old + pages.saturating_sub(trailing) || new == old {
            return Err(self.full());
        }
        let least = old + pages.saturating_sub(trailing);
        // The part beyond `pages` is used by others.
        let fill = match 2 * pages < new - old {
            true => Fill::HugePages,
            false => fill,
        };
        let new = self
            .extend_file(new, fill)
            .or_else(|_| self.extend_file(least, fill))?;
        assert!(
            new >= least && new <= limit.max(least),
            "the file grows by what is needed, and not beyond its limit"
        );
        if fill == Fill::HugePages {
            self.grow_ahead(new, limit);
        }
        self.refresh_mapping()?;
        if self.file.mapping.is_coded() {
            // Pages that are written early have to be read again.
            self.verified = self.verified.covering(new);
        }
        self.writer.space.grow(new);
        self.supply.has_grown = true;
        Ok(())
    }

    /// Lets the storage prepare the next growth, if that is expected soon.
    fn grow_ahead(&mut self, page_count: u64, limit: u64) {
        let before = self.writer.last_growth.replace(Instant::now());
        let is_soon = before.is_some_and(|before| before.elapsed() < GROWN_AGAIN);
        let huge = HUGE_PAGE_LEN >> self.file.page_shift;
        // Another process would not profit from it.
        let is_alone = || match &self.writer.committer().shared {
            Some(shared) => matches!(shared.lock_file.has_others(), Ok(false)),
            None => true,
        };
        if is_soon && page_count > 4 * huge && is_alone() {
            let most = GROWTH_MAX >> self.file.page_shift;
            let next = page_count + self.growth_step(page_count).clamp(huge, most);
            self.file
                .storage
                .grow_ahead(next.min(limit) << self.file.page_shift);
        }
    }

    /// By how many pages a file of `old` pages grows, if that suffices.
    fn growth_step(&self, old: u64) -> u64 {
        // The new part is filled with zeros. A small transaction should not wait for many, and a
        // durable commit should not wait until many are on the disk.
        let is_small = self.supply.taken_count < SMALL_TRANSACTION_PAGES;
        let step_max = match self.limits.expected {
            Durability::Lazy if !is_small => GROWTH_MAX,
            _ => HUGE_PAGE_LEN,
        };
        // A small file grows by a quarter, a large one by less than a hundredth.
        let step = (old / 128).max((old / 4).min(256));
        match self.limits.geometry.growth_step_bytes >> self.file.page_shift {
            0 => step.clamp(16, step_max >> self.file.page_shift),
            asked => asked,
        }
    }

    /// Grows the file to this many pages, if it is shorter.
    pub(crate) fn extend_file(&self, pages: u64, fill: Fill) -> Result<u64> {
        let bytes = pages << self.file.page_shift;
        let old_bytes = self.file.storage.len();
        if bytes > old_bytes {
            self.file
                .storage
                .grow(bytes, fill)
                .map_err(Error::io("growing the file"))?;
            self.writer.committer().events.note(|| Event::Grown {
                old_bytes,
                file_bytes: bytes,
            });
        }
        Ok(pages)
    }

    /// Gives the rest of the open extent back.
    pub(super) fn give_back_rest(&mut self) {
        let rest = std::mem::replace(&mut self.supply.open_extent, Extent::new(0, 0));
        if rest.len > 0 {
            self.writer.space.give_back(rest);
        }
        self.give_back_hot();
    }
}
