//! What a transaction did to space, and what goes to disk for it.

use super::page_array::SpaceRoots;
use crate::{
    page::deaths::Death,
    types::{PageNumber, Run, TransactionId},
};

/// What a transaction did to space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// The transaction that is being committed, higher than any before.
    pub(crate) transaction: TransactionId,
    /// All that it took and keeps, sorted and apart.
    pub(crate) taken: &'a [Run],
    /// All that it no longer uses, sorted, with their births, which are earlier transactions.
    pub(crate) deaths: &'a [(Run, TransactionId)],
    /// Dead pages that some pin sees, and that are in use again, sorted and apart.
    pub(crate) revived: &'a [Run],
    /// How many bytes the record has for the log; at least [`LOG_ROOM_MIN`](super::fold::LOG_ROOM_MIN).
    pub(crate) log_room: usize,
    /// The longest that the file may become, in pages.
    pub(crate) page_limit: u64,
}

impl Change<'_> {
    pub(super) fn deaths(&self) -> impl Iterator<Item = Death> {
        let died = self.transaction;
        self.deaths
            .iter()
            .map(move |&(run, birth)| Death { run, birth, died })
    }
}

/// What goes to disk for a commit.
#[derive(Debug)]
pub(crate) struct Committed {
    /// For the record.
    pub(crate) roots: SpaceRoots,
    /// For the record.
    pub(crate) log: Vec<u8>,
    /// Pages of the space map to be written, sealed, in page order.
    pub(crate) fold_pages: Vec<(PageNumber, Vec<u8>)>,
    /// The runs they are in, sorted. The file may have become longer for them.
    pub(crate) fold_taken: Vec<Run>,
}
