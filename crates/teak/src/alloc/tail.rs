//! Emptying the end of the file: the pages of the map itself that are there are written anew, elsewhere.

use super::map::Space;
use crate::types::PageNumber;

/// Pages of the map that one commit moves at most.
const MOVED_MAX: usize = 64;

impl Space {
    /// Has the next [`Space::commit`] fold, and write pages of the map from `boundary` on anew: some of them, and what leads
    /// to them. They may come to lie there again, if there is no room before.
    pub(crate) fn leave_tail(&mut self, boundary: u64) {
        let is_high = |page: PageNumber| u64::from(page.0) >= boundary;
        let bitmaps: Vec<u32> = self
            .bitmaps
            .elements_above(is_high)
            .take(MOVED_MAX)
            .collect();
        let segments: Vec<u32> = self
            .segments
            .elements_above(is_high)
            .take(MOVED_MAX)
            .collect();
        for &bitmap in &bitmaps {
            self.free.changed().insert(bitmap);
        }
        self.pending.dissolve_at(&segments);
        if !bitmaps.is_empty() || !segments.is_empty() {
            self.pending.want_checkpoint();
        }
    }

    /// Whether the next [`Space::commit`] folds in any case.
    pub(crate) fn wants_checkpoint(&self) -> bool {
        self.pending.has_backlog()
    }

    /// The lowest page before which there are so many free ones, if there are, and which is free.
    pub(crate) fn first_free_page_after(&self, free: u64) -> Option<u64> {
        self.free.first_free_page_after(free)
    }
}
