//! Reading pages: those that the transaction built, and those of its base state.

use super::WritePages;
use crate::{
    Checksum, Error, PageNumber, Result, TransactionId,
    alloc::FIRST_PAGE,
    btree::{
        PageSource,
        reading::{Faults, IoWaitEstimator, unreadable},
    },
    io::{Content, file_reads::into_extents, prefetch_lines},
    page::value::ValueExtent,
    read::snapshot::{outside, value_in},
};

impl PageSource for WritePages {
    #[inline]
    fn page_size(&self) -> usize {
        self.file.usable_len
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
        if number.0 >= self.file.first_direct
            && let Some(page) = pages.bytes(self.offset_of(number), self.file.usable_len)
        {
            return Ok(page);
        }
        self.page_of_codec(number)
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        value_in(
            self.file.pages(&self.writer),
            self.file.usable_len,
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
        let ranges = into_extents(pages).into_iter().filter_map(|extent| {
            let len = u64::from(extent.len) << self.file.page_shift;
            (!self.arena().is_fresh(extent.start)).then(|| (self.offset_of(extent.start), len))
        });
        self.file.mapping.announce_all(ranges);
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
            Some((mapping, _)) => Err(unreadable(mapping.faults(), self.file.usable_len)),
            None => Ok(()),
        }
    }

    /// Pages that this transaction wrote have no checksum yet, or none that is stored anywhere.
    #[inline]
    fn needs_check(&self, number: PageNumber) -> bool {
        self.verified.is_unverified(number)
            && (!self.arena().is_written(number) || self.is_absent(number))
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
        if self.arena().is_written(number) {
            return self.load_own(number, self.file.usable_len, Content::Pages);
        }
        // A frame that is not filled must not be borrowed.
        if !self.file.mapping.is_coded() {
            self.page(number)?;
        }
        self.verified.compare_page(
            self.file.pages(&self.writer),
            self.file.usable_len,
            (number, checksum),
            written.min(self.base()),
            operation,
        )
    }

    #[cold]
    fn check_value(&self, extent: &ValueExtent) -> Result<()> {
        if self.arena().is_written(extent.start) {
            let len = extent.len_bytes as usize;
            return self.load_own(extent.start, len, Content::Value);
        }
        if !self.file.mapping.is_coded() {
            self.value(extent)?;
        }
        let pages = self.file.pages(&self.writer);
        (self.verified).compare_value(pages, self.file.usable_len, extent, self.base())
    }
}

impl WritePages {
    /// Whether the page that this transaction wrote may have to be read from the file again.
    #[cold]
    fn is_absent(&self, number: PageNumber) -> bool {
        self.file.mapping.is_coded() && !self.arena().is_resident(number)
    }

    /// A page of a file with a codec, which this transaction may have written early.
    #[cold]
    fn page_of_codec(&self, number: PageNumber) -> Result<&[u8]> {
        if !self.file.mapping.is_coded() {
            return Err(outside(&self.file.mapping, number));
        }
        if self.arena().is_written(number) {
            self.load_own(number, self.file.usable_len, Content::Pages)?;
        }
        let pages = self.file.pages(&self.writer);
        match pages.bytes(self.offset_of(number), self.file.usable_len) {
            Some(page) if number.0 >= FIRST_PAGE => Ok(page),
            _ => Err(outside(&self.file.mapping, number)),
        }
    }

    /// Ensures that a page or a value is shown that this transaction has written to the file. No
    /// bit is set for it, because the pages may be written once more.
    pub(super) fn load_own(&self, start: PageNumber, len: usize, content: Content) -> Result<()> {
        debug_assert!(
            self.file.mapping.is_coded(),
            "other pages that were written are in the mapping"
        );
        let loaded = self
            .file
            .mapping
            .prefault(self.offset_of(start), len, content);
        loaded.map_err(Error::io("reading the file"))
    }
}
