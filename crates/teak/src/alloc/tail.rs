//! Emptying the end of the file: the pages of the map itself that lie there are rewritten
//! elsewhere.

use super::map::Space;
use crate::types::PageNumber;

/// The maximum number of map pages that one commit moves.
const MOVED_MAX: usize = 64;

impl Space {
    /// Makes the next [`Space::commit`] write a checkpoint, and rewrite pages of the map from
    /// `boundary` on: some of them, and the nodes that lead to them. They may land there again, if
    /// there is no room before.
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

    /// Whether the next [`Space::commit`] writes a checkpoint in any case.
    pub(crate) fn wants_checkpoint(&self) -> bool {
        self.pending.has_backlog()
    }

    /// Returns the lowest free page with `free` free pages before it, if there are so many.
    pub(crate) fn first_free_page_after(&self, free: u64) -> Option<u64> {
        self.free.first_free_page_after(free)
    }
}
