//! Builds free-space maps without the commits that would lead to them, as a checkpoint writes them.
//! Tests use this for files that would take too long to fill.

use super::{
    change::{SpaceChange, SpaceCommit},
    checked_pages::FIRST_PAGE,
    map::Space,
    plan::CheckpointPlan,
};
use crate::{
    page::deaths::Death,
    types::{Extent, TransactionId},
};

/// The contents of a forged free-space map.
#[derive(Debug)]
pub(crate) struct ForgedSpaceMap<'f> {
    pub(crate) page_size: usize,
    pub(crate) page_count: u64,
    /// The newest commit.
    pub(crate) transaction: TransactionId,
    /// A bit per page, set if the page is free.
    pub(crate) free: &'f [u64],
    /// Extents that are not free, and that some pin may see.
    pub(crate) deaths: &'f [Death],
    /// Bytes that the record has for the log.
    pub(crate) log_room: usize,
}

impl ForgedSpaceMap<'_> {
    /// Writes the map to used pages. `choose` receives the number of pages needed, and returns
    /// extents with as many pages, ascending.
    pub(crate) fn write(&self, choose: impl FnOnce(usize) -> Vec<Extent>) -> SpaceCommit {
        let mut space = Space::new(self.page_size, FIRST_PAGE);
        space.grow(self.page_count);
        let words_per_bitmap = space.pages_per_bitmap as usize / 64;
        for (index, words) in self.free.chunks(words_per_bitmap).enumerate() {
            space
                .free
                .replace_words(index as u32, words.iter().copied());
        }
        space.pending.add(self.deaths.iter().copied());
        let change = SpaceChange {
            transaction: self.transaction,
            taken: &[],
            deaths: &[],
            revived: &[],
            log_room: self.log_room,
            page_limit: self.page_count,
        };
        let plan = CheckpointPlan::new(&space, &change);
        let extents = choose(plan.page_count());
        space.write_planned(&plan, &change, &extents, Vec::new())
    }
}
