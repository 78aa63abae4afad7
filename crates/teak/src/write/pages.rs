//! The pages of a write transaction: those of its base state, and its own.

pub(crate) mod ask_readers;
mod copy_sources;
mod early_writes;
mod extents;
mod kept_pages;
mod large_values;
pub(crate) mod limits;
mod parked_trees;
mod recent_pages;
mod savepoints;
mod source;
mod supply;
mod transaction_file;
pub(crate) mod zone;

use crate::{
    Checksum, Error, Extent, PageNumber, Result, TransactionId,
    alloc::PlacementPolicy,
    btree::{PageSink, PageSource, TreeRoot},
    io::{Content, Mapping, Storage},
    page::{header::Header, value::ValueExtent},
    planted::planted,
};
use crate::{
    commit::disk::UnwrittenPage,
    instance::{arena::Arena, held_writer_lock::HeldWriterLock},
    observe::metrics::WriteWork,
    read::{
        snapshot::{Snapshot, outside},
        verified_bitmap::VerifiedBitmap,
    },
};
use copy_sources::CopySources;
use kept_pages::SavepointPages;
use limits::WriteLimits;
use parked_trees::ParkedTrees;
use recent_pages::RecentPages;
use std::sync::Arc;
use supply::{FIRST_EXTENT_LEN, PageSupply};
use transaction_file::TransactionFile;

const EXTENT_LEN_MAX: u32 = 1024;
/// Page access of one transaction: reading pages, and building new ones.
#[derive(Debug)]
pub(crate) struct WritePages {
    // Fields are dropped in this order: the writer lock is released before mappings are unmapped.
    pub(crate) writer: HeldWriterLock,
    /// The file, as this transaction maps and extends it.
    pub(crate) file: TransactionFile,
    /// The pages of the base state whose checksums were verified.
    verified: VerifiedBitmap,
    base: TransactionId,
    transaction: TransactionId,
    pub(crate) limits: WriteLimits,
    /// The source of new pages.
    pub(crate) supply: PageSupply,
    recent: RecentPages,
    /// Committed pages that this transaction no longer uses, with their births.
    pub(crate) deaths: Vec<(Extent, TransactionId)>,
    pub(crate) sources: CopySources,
    savepoints: SavepointPages,
    /// Remaining parts of trees that were too large to release at once.
    pub(crate) parked: ParkedTrees,
    /// Counted for `Database::metrics`.
    pub(crate) work: WriteWork,
}

impl WritePages {
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        mapping: Arc<Mapping>,
        base: &Snapshot,
        writer: HeldWriterLock,
        (limits, commit_count): (WriteLimits, u64),
    ) -> Self {
        debug_assert!(
            writer.unwritten.is_sorted_by(|a, b| a.number < b.number),
            "pages that are not in the file yet are found by bisection"
        );
        assert!(
            limits.room_at >= limits.memory_bytes,
            "leaves are not written early while there is memory for them"
        );
        // The file may have grown beyond the base state, in a transaction that was rolled back. A
        // page without a bit would count as one that is shown.
        let verified = match mapping.is_coded() {
            true => base.verified.covering(writer.space.page_count()),
            false => base.verified.clone(),
        };
        Self {
            file: TransactionFile::new(storage, mapping, &base.record),
            verified,
            base: base.transaction(),
            transaction: TransactionId(base.transaction().0 + commit_count),
            limits,
            writer,
            supply: PageSupply::default(),
            recent: RecentPages::default(),
            deaths: Vec::new(),
            sources: CopySources::new(base.record.journal.is_some()),
            savepoints: SavepointPages::default(),
            parked: ParkedTrees::default(),
            work: WriteWork::default(),
        }
    }

    /// Notes that a page is a copy of another.
    fn note_source(&mut self, new: PageNumber, old: PageNumber) {
        if self.sources.are_wanted() {
            let first = match self.arena().is_written(old) {
                true => self.sources.of(old),
                false => Some(old),
            };
            self.sources.pairs.extend(first.map(|first| (new, first)));
        }
    }

    fn arena(&self) -> &Arena {
        &self.writer.arena
    }

    /// Whether the bytes lie in a page that this transaction wrote.
    pub(crate) fn is_in_changed_page(&self, bytes: &[u8]) -> bool {
        let mappings = [&self.file.mapping].into_iter().chain(&self.file.outgrown);
        let mut offsets = mappings.filter_map(|mapping| mapping.offset_of(bytes));
        let written = offsets.any(|offset| {
            let number = u32::try_from(offset >> self.file.page_shift);
            number.is_ok_and(|number| self.arena().is_written(PageNumber(number)))
        });
        written || self.arena().holds(bytes)
    }

    /// A page of the base state that is not in the file yet.
    #[inline]
    fn unwritten(&self, number: PageNumber) -> Option<&UnwrittenPage> {
        let pages = &self.writer.unwritten;
        if pages.is_empty() {
            return None;
        }
        let found = pages.binary_search_by_key(&number, |page| page.number);
        found.ok().map(|index| &pages[index])
    }

    /// Whether no page was written and none died.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.supply.taken_count == 0 && self.deaths.is_empty()
    }

    /// The transaction id of the base state.
    pub(crate) fn base(&self) -> TransactionId {
        self.base
    }

    /// Number of pages that this transaction has taken and keeps.
    pub(crate) fn taken_count(&self) -> u64 {
        self.supply.taken_count
    }

    /// Number of committed pages that this transaction no longer uses.
    pub(crate) fn dead_count(&self) -> u64 {
        self.deaths
            .iter()
            .map(|(extent, _)| u64::from(extent.len))
            .sum()
    }

    /// From now on takes the lowest free pages, however short their extents are. With `None`, takes
    /// the extents that are best to write.
    pub(crate) fn allocate_low(&mut self, boundary: Option<u64>) {
        self.give_back_rest();
        self.supply.low_boundary = boundary;
        self.supply.next_extent_len = FIRST_EXTENT_LEN;
    }

    pub(crate) fn size_limit_pages(&self) -> u64 {
        self.limits.geometry.upper_limit_bytes >> self.file.page_shift
    }

    fn offset_of(&self, number: PageNumber) -> u64 {
        u64::from(number.0) << self.file.page_shift
    }

    /// Notes that a page will be built.
    fn note_taken(&mut self, number: PageNumber) {
        debug_assert!(
            !self.arena().is_written(number),
            "a page is taken once, unless it was given back meanwhile"
        );
        self.writer.arena.make_resident(number);
        self.supply.taken_count += 1;
        self.checksum_oldest_recent(number);
    }

    /// Makes the mapping cover the present length of the file.
    pub(crate) fn refresh_mapping(&mut self) -> Result<()> {
        let mapping = self
            .file
            .storage
            .mapping()
            .map_err(Error::io("mapping the file"))?;
        if !Arc::ptr_eq(&mapping, &self.file.mapping) {
            self.file
                .outgrown
                .push(std::mem::replace(&mut self.file.mapping, mapping));
        }
        Ok(())
    }

    /// Gives back pages that were taken and not used. Returns all extents that were written.
    pub(crate) fn close_extents(&mut self) -> Vec<Extent> {
        let written = self.give_back_unused();
        assert!(
            self.supply.is_empty(),
            "no page is left that is neither free nor used"
        );
        assert!(
            Extent::are_apart(&written),
            "the extents of a transaction are sorted and disjoint"
        );
        assert_eq!(
            written
                .iter()
                .map(|extent| u64::from(extent.len))
                .sum::<u64>(),
            self.supply.taken_count,
            "each page that was taken was written or given back"
        );
        written
    }

    /// Like [`Self::close_extents`], without assertions: this runs while a panic unwinds, too.
    fn give_back_unused(&mut self) -> Vec<Extent> {
        self.give_back_rest();
        self.writer.arena.written_extents()
    }

    /// Gives all pages back.
    pub(crate) fn abandon(&mut self) {
        // No state uses these pages, but the system may still write them to the disk.
        self.mark_mapped();
        for extent in self.give_back_unused() {
            self.writer.space.give_back(extent);
        }
        self.writer.arena.clear();
        self.deaths.clear();
        self.parked.trees.clear();
    }

    /// Takes the deaths so far. There is no savepoint.
    pub(crate) fn take_deaths(&mut self) -> Vec<(Extent, TransactionId)> {
        debug_assert!(
            self.savepoint_count() == 0,
            "no savepoint restores deaths that were taken"
        );
        self.savepoints.death_floor = 0;
        std::mem::take(&mut self.deaths)
    }

    /// Notes that committed pages are no longer used.
    pub(crate) fn bury(&mut self, extent: Extent, birth: TransactionId) -> Result<()> {
        if birth >= self.transaction {
            let detail = "its birth is in the future";
            return Err(Error::corrupted(extent.start, "write", detail));
        }
        debug_assert!(
            self.savepoints.death_floor <= self.deaths.len(),
            "deaths from before a savepoint stay in the list"
        );
        let is_floor = self.savepoints.death_floor == self.deaths.len();
        match self.deaths.last_mut() {
            Some((last, same))
                if !is_floor && *same == birth && last.end() == u64::from(extent.start.0) =>
            {
                last.len += extent.len;
            }
            _ => self.deaths.push((extent, birth)),
        }
        Ok(())
    }
}

impl PageSink for WritePages {
    fn transaction(&self) -> TransactionId {
        self.transaction
    }

    #[inline]
    fn is_own(&self, number: PageNumber) -> bool {
        self.arena().is_fresh(number)
    }

    #[inline]
    fn is_dirty(&self, number: PageNumber) -> bool {
        self.arena().is_written(number)
    }

    fn allocate(&mut self) -> Result<PageNumber> {
        self.make_room()?;
        if self.supply.open_extent.len == 0 {
            self.supply.open_extent = self.take_extent(self.supply.next_extent_len, false)?;
            self.map_open_extent()?;
            self.supply.next_extent_len = (self.supply.next_extent_len * 2).min(EXTENT_LEN_MAX);
            debug_assert!(
                self.supply.next_extent_len > FIRST_EXTENT_LEN,
                "extents get longer, since a transaction that took pages takes more"
            );
        }
        debug_assert!(
            self.supply.open_extent.len > 0,
            "an extent that was just taken has pages"
        );
        let number = self.supply.open_extent.start;
        self.supply.open_extent =
            Extent::new(number.0.wrapping_add(1), self.supply.open_extent.len - 1);
        self.note_taken(number);
        Ok(number)
    }

    fn page_mut(&mut self, number: PageNumber) -> Result<&mut [u8]> {
        if !self.arena().is_resident(number) {
            if !self.arena().is_fresh(number) {
                // The free-space map of a damaged file gave out a page that is in use.
                return Err(used_twice(number));
            }
            self.bring_back(number)?;
        }
        self.writer
            .arena
            .page_mut(number)
            .ok_or_else(|| outside(&self.file.mapping, number))
    }

    fn own(&mut self, number: PageNumber) -> Result<PageNumber> {
        if self.is_own(number) {
            return Ok(number);
        }
        if self.put_aside(number) {
            return Ok(number);
        }
        let new = match self.take_hot(number)? {
            Some(new) => new,
            None => self.allocate()?,
        };
        if new == number {
            return Err(used_twice(number));
        }
        if self.arena().is_resident(number) {
            // The page is older than a savepoint, so both pages are in the arena.
            let copy = self.page(number)?.to_vec();
            self.page_mut(new)?.copy_from_slice(&copy);
        } else if let Some(page) = self.unwritten(number) {
            let bytes = Arc::clone(&page.bytes);
            self.page_mut(new)?.copy_from_slice(&bytes);
        } else {
            if self.file.mapping.is_coded() && self.arena().is_written(number) {
                // It was written early, before a savepoint, and may not be shown any more.
                self.load_own(number, self.file.usable_len, Content::Pages)?;
            }
            let offset = self.offset_of(number);
            let old = self
                .file
                .pages(&self.writer)
                .bytes(offset, self.file.usable_len)
                .ok_or_else(|| outside(&self.file.mapping, number))?;
            let page = self
                .writer
                .arena
                .page_mut(new)
                .ok_or_else(|| outside(&self.file.mapping, new))?;
            page.copy_from_slice(old);
        }
        debug_assert!(
            self.is_own(new),
            "the copy of a page belongs to the transaction"
        );
        let birth = self.transaction;
        let page = self.page_mut(new)?;
        let header = Header {
            number: new,
            birth,
            ..Header::read(page)
        };
        header.write(page);
        self.work.copied_pages += 1;
        self.note_source(new, number);
        self.release(number)?;
        Ok(new)
    }

    fn release(&mut self, number: PageNumber) -> Result<()> {
        if self.arena().is_written(number) {
            self.discard(number);
            return Ok(());
        }
        let birth = Header::read(self.page(number)?).birth;
        planted!(FreeOwn => { self.writer.space.give_back(Extent::new(number.0, 1)); return Ok(()) });
        if birth >= self.transaction {
            let detail = "its birth is in the future";
            return Err(Error::corrupted(number, "write", detail));
        }
        if self.deaths.len() as u64 >= self.writer.space.page_count() {
            return Err(used_twice(number));
        }
        self.deaths.push((
            Extent {
                start: number,
                len: 1,
            },
            birth,
        ));
        Ok(())
    }

    fn store_value(&mut self, value: &[u8]) -> Result<ValueExtent> {
        let mut extent = ValueExtent {
            start: PageNumber(0),
            len_bytes: value.len() as u64,
            checksum: Checksum::of(value),
            birth: self.transaction,
        };
        let too_long =
            |_| Error::InvalidArgument("a value of this length does not fit into a file".into());
        let pages = extent.pages(self.file.usable_len).map_err(too_long)?;
        let taken = self.take_extent(pages.len, true)?;
        assert_eq!(
            taken.len, pages.len,
            "a large value has one extent, with all its pages"
        );
        extent.start = taken.start;
        if let Err(error) = self.write_value(taken, value) {
            self.writer.space.give_back(taken);
            return Err(error);
        }
        self.writer.arena.add_written(taken);
        self.work.large_values += 1;
        self.supply.taken_count += u64::from(taken.len);
        Ok(extent)
    }

    fn has_room_before(&mut self, boundary: u64, pages: u64) -> bool {
        let Ok(pages) = u32::try_from(pages) else {
            return false;
        };
        let is_before = |extent: Extent| extent.len > 0 && u64::from(extent.start.0) < boundary;
        // A single page comes from the open extent, which was the lowest.
        let policy = match pages {
            1 if is_before(self.supply.open_extent) => return true,
            1 => PlacementPolicy::Fragmented,
            _ => PlacementPolicy::Contiguous,
        };
        let found = self.writer.space.allocate(pages, policy);
        found.is_some_and(|extent| {
            self.writer.space.give_back(extent);
            is_before(extent)
        })
    }

    fn release_value(&mut self, extent: &ValueExtent) -> Result<()> {
        let pages = extent
            .pages(self.file.usable_len)
            .map_err(|damage| damage.at(extent.start, "write"))?;
        if pages.start.0 < crate::alloc::FIRST_PAGE || pages.end() > self.writer.space.page_count()
        {
            return Err(outside(&self.file.mapping, extent.start));
        }
        if self.arena().is_written(pages.start) {
            pages.pages().for_each(|number| self.discard(number));
            return Ok(());
        }
        self.bury(pages, extent.birth)
    }

    fn parks_above(&self) -> u64 {
        self.limits.parks_above
    }

    fn park(&mut self, rest: TreeRoot) {
        self.parked.trees.push(rest);
        self.parked.has_parked = true;
    }

    fn note_split(&mut self) {
        self.work.splits += 1;
    }

    fn note_merge(&mut self) {
        self.work.merges += 1;
    }

    fn known_checksum(&self, number: PageNumber) -> Option<Checksum> {
        self.arena().checksum(number)
    }
}

#[cold]
fn used_twice(number: PageNumber) -> Error {
    Error::corrupted(number, "write", "it is both in use and free")
}
