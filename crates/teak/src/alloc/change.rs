//! What a transaction did to space, and what goes to disk for it.

use super::page_array::SpaceRoots;
use crate::{
    page::deaths::Death,
    types::{Extent, PageNumber, TransactionId},
};

/// What a transaction did to space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpaceChange<'a> {
    /// The transaction that is being committed, higher than any before.
    pub(crate) transaction: TransactionId,
    /// All that it took and keeps, sorted and apart.
    pub(crate) taken: &'a [Extent],
    /// All that it no longer uses, sorted, with their births, which are earlier transactions.
    pub(crate) deaths: &'a [(Extent, TransactionId)],
    /// Dead pages that some pin sees, and that are in use again, sorted and apart.
    pub(crate) revived: &'a [Extent],
    /// How many bytes the record has for the log; at least [`LOG_ROOM_MIN`](super::fold::LOG_ROOM_MIN).
    pub(crate) log_room: usize,
    /// The longest that the file may become, in pages.
    pub(crate) page_limit: u64,
}

impl SpaceChange<'_> {
    pub(super) fn deaths(&self) -> impl Iterator<Item = Death> {
        let died = self.transaction;
        self.deaths.iter().map(move |&(extent, birth)| Death {
            extent,
            birth,
            died,
        })
    }
}

/// What goes to disk for a commit.
#[derive(Debug)]
pub(crate) struct SpaceCommit {
    /// For the record.
    pub(crate) roots: SpaceRoots,
    /// For the record.
    pub(crate) log: Vec<u8>,
    /// Pages of the space map to be written, sealed, in page order.
    pub(crate) checkpoint_pages: Vec<(PageNumber, Vec<u8>)>,
    /// The runs they are in, sorted. The file may have become longer for them.
    pub(crate) checkpoint_taken: Vec<Extent>,
}
