//! The pages of a write transaction: those of its base state, and its own.

mod copy_sources;
mod extents;
mod kept_pages;
mod parked_trees;
mod recent_pages;
mod reclaim;
mod savepoints;
mod supply;
mod transaction_file;
pub(crate) mod zone;

use crate::{
    Checksum, Error, Extent, Geometry, PageNumber, Result, TransactionId,
    alloc::PlacementPolicy,
    btree::{
        PageSink, PageSource, TreeRoot,
        reading::{Faults, IoWaitEstimator, unreadable},
    },
    io::{Mapping, Storage, prefetch_lines},
    page::{header::Header, value::ValueExtent},
    planted::planted,
};
use crate::{
    commit::disk::{UnwrittenPage, WRITING_PAGES, write_pages},
    instance::{arena::Arena, held_writer_lock::HeldWriterLock},
    io::file_reads::into_extents,
    observe::metrics::WriteWork,
    read::{
        slow_readers::SlowReaders,
        snapshot::{Snapshot, outside, value_in},
        verified_bitmap::VerifiedBitmap,
    },
    record::durability::Durability,
};
use copy_sources::CopySources;
use kept_pages::SavepointPages;
use parked_trees::ParkedTrees;
use recent_pages::RecentPages;
use std::{io::IoSlice, sync::Arc};
use supply::{FIRST_EXTENT_LEN, PageSupply};
use transaction_file::TransactionFile;

const EXTENT_LEN_MAX: u32 = 1024;
/// Lazy transactions store values up to this many bytes through the mapped file. A system call
/// costs more for such values, and less for longer ones.
const STORED_VALUE_MAX: u64 = 64 << 10;

/// Page access of one transaction: reading pages, and building new ones.
#[derive(Debug)]
pub(crate) struct WritePages {
    // Fields are dropped in this order: the writer lock is released before mappings are unmapped.
    pub(crate) writer: HeldWriterLock,
    /// The file, as this transaction maps and extends it.
    pub(crate) file: TransactionFile,
    /// The pages of the base state whose checksums were verified.
    checked: VerifiedBitmap,
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
        limits: WriteLimits,
    ) -> Self {
        debug_assert!(
            writer.unwritten.is_sorted_by(|a, b| a.number < b.number),
            "pages that are not in the file yet are found by bisection"
        );
        assert!(
            limits.room_at >= limits.memory_bytes,
            "leaves are not written early while there is memory for them"
        );
        Self {
            file: TransactionFile::new(storage, mapping, base.record.page_size as usize),
            checked: base.checked.clone(),
            transaction: base.transaction().next(),
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
        TransactionId(self.transaction.0 - 1)
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
    pub(crate) fn place_low(&mut self, boundary: Option<u64>) {
        self.give_back_rest();
        self.supply.low_boundary = boundary;
        self.supply.next_extent_len = FIRST_EXTENT_LEN;
    }

    /// Bytes of pages that were built and are still in memory.
    pub(crate) fn dirty_bytes(&self) -> usize {
        self.arena().resident_bytes() + self.arena().mapped_bytes()
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

    /// Computes the checksum of a leaf while the leaf is still in the processor's cache. By then
    /// enough pages were allocated after it that it will hardly change. Inner pages wait for the
    /// checksums of their children.
    fn checksum_oldest_recent(&mut self, newest: PageNumber) {
        let oldest = self.recent.replace_oldest(newest);
        if let Some(page) = self.writer.arena.page(oldest)
            && Header::read(page).is_leaf()
        {
            let checksum = Checksum::of(page);
            self.writer.arena.set_checksum(oldest, checksum);
        }
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

    /// Makes a page writable again that was written early. It is built at its final position if
    /// that can be mapped, so that later changes need no second write, and otherwise in memory.
    fn bring_back(&mut self, number: PageNumber) -> Result<()> {
        self.make_room()?;
        let offset = self.offset_of(number);
        let page = self
            .file
            .pages(&self.writer)
            .bytes(offset, self.file.page_size)
            .ok_or_else(|| outside(&self.file.mapping, number))?;
        if self
            .arena()
            .checksum(number)
            .is_some_and(|checksum| checksum != Checksum::of(page))
        {
            let detail = "it was written early, and other bytes stand there now";
            return Err(Error::corrupted(number, "write", detail));
        }
        if !self.arena().is_mapped(number)
            && let Some(bytes) = self.mapped_extent(Extent::new(number.0, 1))?
        {
            self.writer.arena.map(Extent::new(number.0, 1), bytes);
        }
        let is_mapped = self.arena().is_mapped(number);
        let written = self.file.pages(&self.writer);
        let bytes = self.writer.arena.make_resident(number);
        if !is_mapped {
            let page = written.bytes(offset, self.file.page_size);
            bytes.copy_from_slice(page.ok_or_else(|| outside(&self.file.mapping, number))?);
        }
        Ok(())
    }

    /// Writes a large value to its final position.
    fn write_value(&mut self, extent: Extent, value: &[u8]) -> Result<()> {
        self.writer.flusher().refuse_evicted()?;
        let (offset, len) = (
            self.offset_of(extent.start),
            u64::from(extent.len) << self.file.page_shift,
        );
        if len <= STORED_VALUE_MAX
            && let Some(mut bytes) = self.writable_extent(extent)?
        {
            bytes[..value.len()].copy_from_slice(value);
            bytes[value.len()..].fill(0);
            self.file.storage.mark_written(offset, len);
            return Ok(());
        }
        assert!(
            value.len() as u64 <= len,
            "the pages of a large value have room for it"
        );
        let rest = vec![0; len as usize - value.len()];
        self.file
            .storage
            .write(offset, &[IoSlice::new(value), IoSlice::new(&rest)])
            .map_err(Error::io("writing a large value"))
    }

    /// Bytes of pages that count against the memory limit. A lazy transaction may build any number
    /// of pages in the mapped file.
    fn counted_bytes(&self) -> usize {
        match self.limits.durability {
            Durability::Lazy => self.arena().resident_bytes(),
            _ => self.dirty_bytes(),
        }
    }

    /// If more pages are in memory than allowed, writes leaves to their final positions, unless
    /// they are built there. No reader can see them there yet. Inner pages stay in memory because
    /// their checksums are not known yet.
    fn make_room(&mut self) -> Result<()> {
        if self.counted_bytes() < self.limits.room_at {
            return Ok(());
        }
        self.writer.flusher().refuse_evicted()?;
        let mut leaves = Vec::new();
        let mut parts = Vec::new();
        self.writer.arena.for_each_unwritten(|number, page| {
            if Header::read(page).is_leaf() {
                leaves.push((number, Checksum::of(page)));
                parts.push((number, page));
            }
        });
        write_pages(&*self.file.storage, self.file.page_size, &parts)
            .map_err(Error::io(WRITING_PAGES))?;
        self.writer.flusher().counters.note_early(leaves.len());
        if self.limits.durability != Durability::Lazy {
            self.writer.arena.for_each_mapped(|number, page| {
                if Header::read(page).is_leaf() {
                    leaves.push((number, Checksum::of(page)));
                }
            });
        }
        for (number, checksum) in leaves {
            self.writer.arena.note_early_write(number, checksum);
        }
        // Raises the threshold if mostly inner pages are left, so that they are not all visited
        // again for each new page.
        let left = self.counted_bytes();
        debug_assert!(
            left <= self.dirty_bytes(),
            "no page counts against the memory limit that is not in memory"
        );
        self.limits.room_at = self.limits.memory_bytes.max(left + left / 4);
        Ok(())
    }

    /// All pages that are not at their final position yet, for the final write.
    pub(crate) fn unwritten_pages(&mut self) -> Vec<(PageNumber, &[u8])> {
        let mut pages = Vec::new();
        self.writer
            .arena
            .for_each_unwritten(|number, page| pages.push((number, page)));
        assert!(
            pages.is_sorted_by(|(a, _), (b, _)| a < b),
            "pages are written in the order of their numbers, each once"
        );
        pages
    }

    /// Gives back pages that were taken and not used. Returns all extents that were written.
    pub(crate) fn settle(&mut self) -> Vec<Extent> {
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

    /// Like [`Self::settle`], without assertions: this runs while a panic unwinds, too.
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

    /// Notes that committed pages are no longer used.
    pub(crate) fn bury(&mut self, extent: Extent, birth: TransactionId) -> Result<()> {
        if birth >= self.transaction {
            let detail = "it says that it was born in a transaction to come";
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

/// The limits of a transaction.
#[derive(Clone, Debug)]
pub(crate) struct WriteLimits {
    pub(crate) durability: Durability,
    pub(crate) memory_bytes: usize,
    /// Leaves are written early above this many bytes of pages in memory. Never less than
    /// `memory_bytes`.
    pub(crate) room_at: usize,
    pub(crate) geometry: Geometry,
    /// Handles slow readers before the file grows. Removed once it has answered that the file
    /// should grow.
    pub(crate) slow_readers: Option<SlowReaders>,
    /// A tree is parked if releasing it takes more work than this.
    pub(crate) parks_above: u64,
}

impl PageSource for WritePages {
    #[inline]
    fn page_size(&self) -> usize {
        self.file.page_size
    }

    fn page_limit(&self) -> u64 {
        self.writer.space.page_count()
    }

    #[inline]
    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        if let Some(page) = self.arena().page(number) {
            return Ok(page);
        }
        if let Some(page) = self.unwritten(number) {
            return Ok(&page.bytes);
        }
        let pages = self.file.pages(&self.writer);
        match pages.bytes(self.offset_of(number), self.file.page_size) {
            Some(page) if number.0 >= crate::alloc::FIRST_PAGE => Ok(page),
            _ => Err(outside(&self.file.mapping, number)),
        }
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        value_in(
            self.file.pages(&self.writer),
            self.file.page_size,
            self.writer.space.page_count(),
            extent,
        )
    }

    #[inline]
    fn prefetch(&self, number: PageNumber, offset: usize, lines: usize) {
        match self.arena().page(number) {
            Some(page) => prefetch_lines(page.get(offset..).unwrap_or_default(), lines),
            None => (self.file.mapping).prefetch(self.offset_of(number) + offset as u64, lines),
        }
    }

    #[inline]
    fn io_wait(&self) -> &IoWaitEstimator {
        self.file.mapping.io_wait()
    }

    fn announce(&self, pages: &mut [PageNumber]) {
        // Pages that this transaction built are in memory already.
        let places = into_extents(pages).into_iter().filter_map(|extent| {
            let len = u64::from(extent.len) << self.file.page_shift;
            (!self.arena().is_fresh(extent.start)).then(|| (self.offset_of(extent.start), len))
        });
        self.file.mapping.announce_all(places);
    }

    #[inline]
    fn faults(&self) -> &'static Faults {
        self.file.mapping.faults()
    }

    /// Fails if the system had no space for pages built in the mapped file, or could not read them
    /// back.
    #[inline]
    fn refuse_lost(&self) -> Result<()> {
        let mut writable = self.file.writable.iter();
        match writable.find(|(mapping, before)| mapping.faults().are_more_than(*before)) {
            Some((mapping, _)) => Err(unreadable(mapping.faults(), self.file.page_size)),
            None => Ok(()),
        }
    }

    /// Pages that this transaction wrote have no checksum yet, or none that is stored anywhere.
    #[inline]
    fn needs_check(&self, number: PageNumber) -> bool {
        self.checked.is_unverified(number)
            && !self.arena().is_written(number)
            && self.unwritten(number).is_none()
    }

    #[cold]
    fn check_page(
        &self,
        number: PageNumber,
        checksum: Checksum,
        written: TransactionId,
        operation: &'static str,
    ) -> Result<()> {
        let page = self.page(number)?;
        self.checked.compare_page(
            &self.file.mapping,
            page,
            (number, checksum),
            written.min(self.base()),
            operation,
        )
    }

    #[cold]
    fn check_value(&self, extent: &ValueExtent) -> Result<()> {
        let value = self.value(extent)?;
        self.checked.compare_value(
            &self.file.mapping,
            self.file.page_size,
            value,
            extent,
            self.base(),
        )
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
            let offset = self.offset_of(number);
            let old = self
                .file
                .pages(&self.writer)
                .bytes(offset, self.file.page_size)
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
            let detail = "the page says that it is born in a transaction to come";
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
        let pages = extent.pages(self.file.page_size).map_err(too_long)?;
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
            .pages(self.file.page_size)
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
