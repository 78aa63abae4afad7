//! The pages that a transaction has in memory. Above a limit, leaves are written before the commit.

use super::WritePages;
use crate::{
    Checksum, Error, Extent, PageNumber, Result,
    commit::disk::{WRITING_PAGES, write_pages},
    io::Content,
    page::header::Header,
    read::snapshot::outside,
    record::durability::Durability,
};

impl WritePages {
    /// Computes the checksum of a leaf while the leaf is still in the processor's cache. By then
    /// enough pages were allocated after it that it will hardly change. Inner pages wait for the
    /// checksums of their children.
    pub(super) fn checksum_oldest_recent(&mut self, newest: PageNumber) {
        let oldest = self.recent.replace_oldest(newest);
        if let Some(page) = self.writer.arena.page(oldest)
            && Header::read(page).is_leaf()
        {
            let checksum = Checksum::of(page);
            self.writer.arena.set_checksum(oldest, checksum);
        }
    }

    /// Bytes of pages that were built and are still in memory.
    pub(crate) fn dirty_bytes(&self) -> usize {
        self.arena().resident_bytes() + self.arena().mapped_bytes()
    }

    /// Bytes of pages that count against the memory limit. A lazy transaction may build any number
    /// of pages in the mapped file.
    fn counted_bytes(&self) -> usize {
        match self.limits.expected {
            Durability::Lazy => self.arena().resident_bytes(),
            _ => self.dirty_bytes(),
        }
    }

    /// Makes a page writable again that was written early. It is built at its final position if
    /// that can be mapped, so that later changes need no second write, and otherwise in memory.
    pub(super) fn bring_back(&mut self, number: PageNumber) -> Result<()> {
        debug_assert!(
            self.arena().is_fresh(number) && !self.arena().is_resident(number),
            "only a page of this transaction that was written early is brought back"
        );
        self.make_room()?;
        if self.file.mapping.is_coded() {
            self.load_own(number, self.file.usable_len, Content::Pages)?;
        }
        let offset = self.offset_of(number);
        let page = self
            .file
            .pages(&self.writer)
            .bytes(offset, self.file.usable_len)
            .ok_or_else(|| outside(&self.file.mapping, number))?;
        if self
            .arena()
            .checksum(number)
            .is_some_and(|checksum| checksum != Checksum::of(page))
        {
            let detail = "its contents changed after it was written early";
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
            let page = written.bytes(offset, self.file.usable_len);
            bytes.copy_from_slice(page.ok_or_else(|| outside(&self.file.mapping, number))?);
        }
        Ok(())
    }

    /// If more pages are in memory than allowed, writes leaves to their final positions, unless
    /// they are built there. No reader can see them there yet. Inner pages stay in memory because
    /// their checksums are not known yet.
    pub(super) fn make_room(&mut self) -> Result<()> {
        if self.counted_bytes() < self.limits.room_at {
            return Ok(());
        }
        self.writer.committer().refuse_evicted()?;
        let mut leaves = Vec::new();
        let mut parts = Vec::new();
        self.writer.arena.for_each_unwritten(|number, page| {
            if Header::read(page).is_leaf() {
                leaves.push((number, Checksum::of(page)));
                parts.push((number, page));
            }
        });
        write_pages(&*self.file.storage, 1 << self.file.page_shift, &parts)
            .map_err(Error::io(WRITING_PAGES))?;
        self.writer.committer().counters.note_early(leaves.len());
        if self.limits.expected != Durability::Lazy {
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
}
