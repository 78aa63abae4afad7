//! Reading pages: those that the transaction built, and those of its base state.

use super::WritePages;
use crate::{
    Checksum, PageNumber, Result, TransactionId,
    btree::{
        PageSource,
        reading::{Faults, IoWaitEstimator, unreadable},
    },
    io::{file_reads::into_extents, prefetch_lines},
    page::value::ValueExtent,
    read::snapshot::{outside, value_in},
};

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
            Some((mapping, _)) => Err(unreadable(mapping.faults(), self.file.page_size)),
            None => Ok(()),
        }
    }

    /// Pages that this transaction wrote have no checksum yet, or none that is stored anywhere.
    #[inline]
    fn needs_check(&self, number: PageNumber) -> bool {
        self.verified.is_unverified(number)
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
        self.verified.compare_page(
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
        self.verified.compare_value(
            &self.file.mapping,
            self.file.page_size,
            value,
            extent,
            self.base(),
        )
    }
}
