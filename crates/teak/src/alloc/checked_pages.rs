//! The page source of the free-space map. Each page is checked when it is read.

use crate::alloc::{array_entry::ArrayEntry, bits::Bits};
use crate::{
    Error, Result,
    page::header::{Header, PageKind},
    types::{Checksum, Extent, PageNumber, TransactionId},
};

/// The first page that is not a commit record.
pub(crate) const FIRST_PAGE: u32 = 4;

/// The page source of the free-space map.
pub(crate) trait SpacePages {
    /// Size of a page in bytes: a power of two, 4 KiB to 64 KiB.
    fn page_size(&self) -> usize;
    /// Returns a whole page. Only pages below the page count are requested; the caller verifies the
    /// checksum.
    fn page(&self, number: PageNumber) -> Result<&[u8]>;
    /// Announces the pages that are read next, in no order; some of them may not exist.
    fn announce(&self, _pages: &mut dyn Iterator<Item = PageNumber>) {}
}

/// Pages of the free-space map. Each is checked when it is read, and none is read twice.
pub(super) struct CheckedPages<'a> {
    pub(super) pages: &'a dyn SpacePages,
    pub(super) page_count: u64,
    /// The transaction whose free-space map this is.
    pub(super) newest: TransactionId,
    pub(super) read: Bits,
}

impl<'a> CheckedPages<'a> {
    /// Announces the pages that are read next.
    pub(super) fn announce<'s>(&self, pointers: impl Iterator<Item = &'s ArrayEntry>) {
        let pages = pointers.filter_map(ArrayEntry::page).map(|(page, _)| page);
        self.pages.announce(&mut { pages });
    }

    /// Returns the page with this number if it has this checksum and this kind.
    pub(super) fn read(
        &mut self,
        number: PageNumber,
        checksum: Checksum,
        kind: PageKind,
    ) -> Result<(&'a [u8], Header)> {
        let damaged = |detail| {
            Err(Error::corrupted(
                number,
                "reading the free-space map",
                detail,
            ))
        };
        if number.0 < FIRST_PAGE || u64::from(number.0) >= self.page_count {
            return damaged("the free-space map refers to it, but there is no such page");
        }
        if self.read.get(u64::from(number.0)) {
            return damaged("the free-space map refers to it twice");
        }
        self.read.set(Extent {
            start: number,
            len: 1,
        });
        let page = self.pages.page(number)?;
        if page.len() != self.pages.page_size() || Checksum::of(page) != checksum {
            return damaged("it is not what was written there");
        }
        let header = Header::read(page);
        if header.number != number || header.kind() != Some(kind) {
            return damaged("it is a page of another number or kind");
        }
        if header.birth > self.newest {
            return damaged("its birth is in the future");
        }
        Ok((page, header))
    }
}
