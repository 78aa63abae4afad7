//! Builds the pages of a checkpoint, one after the other, on the pages that were allocated for it.

use crate::alloc::{array_entry::ArrayEntry, checked_pages::FIRST_PAGE};
use crate::{
    page::{array::Pointer, header::Header},
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
        assert!(
            Extent::are_apart(extents),
            "the pages of a checkpoint are sorted and disjoint"
        );
        assert!(
            extents
                .first()
                .is_none_or(|extent| extent.start.0 >= FIRST_PAGE),
            "a checkpoint is not written over commit records"
        );
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
            .expect("a checkpoint takes as many pages as it has planned");
        let bytes = build(self.page_size, page, self.birth);
        assert_eq!(
            bytes.len(),
            self.page_size,
            "what is built for a page is a page"
        );
        debug_assert_eq!(
            Header::read(&bytes).number,
            page,
            "a page begins with its own number"
        );
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
            "a checkpoint uses all the pages that it takes"
        );
        debug_assert!(
            self.pages.is_sorted_by(|(a, _), (b, _)| a < b),
            "pages are built in page order, each once"
        );
        self.pages
    }
}
