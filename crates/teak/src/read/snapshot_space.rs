//! The free-space map of a committed state.

use crate::read::{prefault::FreeMapPages, snapshot::PinnedSnapshot};
use crate::{
    Result,
    alloc::{Pins, Space},
};
use std::sync::Arc;

impl PinnedSnapshot {
    /// Free and pending pages at this commit.
    pub(crate) fn counts(&self) -> Result<[u64; 2]> {
        if let Some(counts) = self.known_counts() {
            return Ok(counts);
        }
        let space = self.load_space_map()?;
        Ok([space.free_count(), space.pending_count()])
    }

    /// The free-space map at this commit. Dead pages that no pin uses are free. If this state is
    /// the only pin, all dead pages are free.
    pub(crate) fn space(&self, pins: &Pins) -> Result<Space> {
        let record = &self.record;
        Space::load_of(
            (&FreeMapPages::new(self), record.transaction),
            &record.space_roots,
            &record.space_log,
            record.page_count,
            pins,
        )
    }

    /// The free-space map for inspection, not for allocation.
    pub(crate) fn load_space_map(&self) -> Result<Space> {
        let named = self.named_pins()?;
        let newest = vec![self.record.transaction];
        self.space(&Pins::new(Arc::clone(named.live()), newest))
    }
}
