//! Builds the pages of a checkpoint, one after the other, on the pages that were allocated for it.

use super::slot::ArrayEntry;
use crate::{
    page::array::Pointer,
    types::{Checksum, Extent, PageNumber, TransactionId},
};

/// Pages of one checkpoint, in page order, sealed.
#[derive(Debug)]
pub(super) struct PageWriter {
    page_size: usize,
    birth: TransactionId,
    numbers: std::vec::IntoIter<PageNumber>,
    pages: Vec<(PageNumber, Vec<u8>)>,
}

impl PageWriter {
    /// Creates a writer onto the pages of `extents`, which are sorted.
    pub(super) fn new(page_size: usize, birth: TransactionId, extents: &[Extent]) -> Self {
        debug_assert!(extents.is_sorted());
        let numbers: Vec<_> = extents.iter().flat_map(|extent| extent.pages()).collect();
        let pages = Vec::with_capacity(numbers.len());
        Self {
            page_size,
            birth,
            numbers: numbers.into_iter(),
            pages,
        }
    }

    /// Builds a page on the next number, and returns a pointer to it. `build` receives page size,
    /// number and birth.
    pub(super) fn write(
        &mut self,
        info: u32,
        build: impl FnOnce(usize, PageNumber, TransactionId) -> Vec<u8>,
    ) -> ArrayEntry {
        let page = self
            .numbers
            .next()
            .expect("a fold takes as many pages as it has planned");
        let bytes = build(self.page_size, page, self.birth);
        let checksum = Checksum::of(&bytes);
        self.pages.push((page, bytes));
        ArrayEntry {
            pointer: Pointer {
                page,
                info,
                checksum,
            },
            birth: self.birth,
        }
    }

    /// All pages that were built.
    pub(super) fn finish(self) -> Vec<(PageNumber, Vec<u8>)> {
        assert_eq!(
            self.numbers.len(),
            0,
            "a fold uses all the pages that it takes"
        );
        self.pages
    }
}
