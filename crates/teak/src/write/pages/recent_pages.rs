//! The pages that a transaction allocated last.

use crate::PageNumber;

/// Number of pages that fit into a processor's cache next to everything else.
const RECENT_PAGES: usize = 32;

/// The pages that were allocated last, as a ring.
#[derive(Debug)]
pub(crate) struct RecentPages {
    pages: [PageNumber; RECENT_PAGES],
    /// Index of the oldest page.
    oldest: usize,
}

impl Default for RecentPages {
    fn default() -> Self {
        Self {
            pages: [PageNumber(0); RECENT_PAGES],
            oldest: 0,
        }
    }
}

impl RecentPages {
    /// Adds the newest page and returns the oldest one, which leaves the ring.
    #[inline]
    pub(crate) fn replace_oldest(&mut self, newest: PageNumber) -> PageNumber {
        let oldest = std::mem::replace(&mut self.pages[self.oldest], newest);
        self.oldest = (self.oldest + 1) % RECENT_PAGES;
        oldest
    }
}
