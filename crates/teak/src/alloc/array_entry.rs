//! An element or a node of a page array in memory.

use crate::{
    page::array::Pointer,
    types::{PageNumber, TransactionId},
};

/// A pointer, and the transaction that wrote the page it points to.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ArrayEntry {
    pub(crate) pointer: Pointer,
    pub(crate) birth: TransactionId,
}

impl ArrayEntry {
    /// The page pointed to and its birth, if there is one.
    pub(crate) fn page(&self) -> Option<(PageNumber, TransactionId)> {
        (self.pointer.page.0 != 0).then_some((self.pointer.page, self.birth))
    }
}

/// An element of the array of bitmaps without a page: all pages that it covers are free.
pub(crate) fn absent_bitmap(pages_per_bitmap: u32) -> ArrayEntry {
    let pointer = Pointer {
        info: pages_per_bitmap,
        ..Pointer::default()
    };
    ArrayEntry {
        pointer,
        ..ArrayEntry::default()
    }
}
