//! The space changes of a transaction, and what a commit writes to disk for them.

use super::{checked_pages::FIRST_PAGE, free_map::FreeMap, page_array::SpaceRoots};
use crate::{
    page::deaths::Death,
    types::{Extent, PageNumber, TransactionId},
};

/// The space changes of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpaceChange<'a> {
    /// The transaction being committed, higher than any before.
    pub(crate) transaction: TransactionId,
    /// All extents that it allocated and keeps, sorted and disjoint.
    pub(crate) taken: &'a [Extent],
    /// All extents that it no longer uses, sorted, with their births, which are earlier
    /// transactions.
    pub(crate) deaths: &'a [(Extent, TransactionId)],
    /// Dead pages that some pin sees and that are in use again, sorted and disjoint.
    pub(crate) revived: &'a [Extent],
    /// Bytes that the record has for the log; at least
    /// [`LOG_ROOM_MIN`](super::checkpoint::LOG_ROOM_MIN).
    pub(crate) log_room: usize,
    /// The size limit of the file, in pages.
    pub(crate) page_limit: u64,
}

impl SpaceChange<'_> {
    /// Asserts what the allocator has promised about the pages that it handed out.
    pub(super) fn assert_taken(&self, free: &FreeMap, page_count: u64) {
        // Encoding the log asserts this in release builds.
        debug_assert!(
            Extent::are_apart(self.taken),
            "taken extents are sorted and disjoint"
        );
        let first = self.taken.first();
        assert!(
            first.is_none_or(|extent| extent.start.0 >= FIRST_PAGE),
            "no commit record is taken"
        );
        let last = self.taken.last();
        assert!(
            last.is_none_or(|extent| extent.end() <= page_count),
            "taken pages are inside of the file"
        );
        assert!(
            self.taken.iter().all(|extent| free.none_free(*extent)),
            "a page that is taken is not free"
        );
    }

    pub(super) fn deaths(&self) -> impl Iterator<Item = Death> {
        let died = self.transaction;
        self.deaths.iter().map(move |&(extent, birth)| Death {
            extent,
            birth,
            died,
        })
    }
}

/// The pages and fields that a commit writes to disk.
#[derive(Debug)]
pub(crate) struct SpaceCommit {
    /// For the record.
    pub(crate) roots: SpaceRoots,
    /// For the record.
    pub(crate) log: Vec<u8>,
    /// Pages of the free-space map to write, sealed, in page order.
    pub(crate) checkpoint_pages: Vec<(PageNumber, Vec<u8>)>,
    /// The extents that they are in, sorted. The file may have grown for them.
    pub(crate) checkpoint_taken: Vec<Extent>,
}
