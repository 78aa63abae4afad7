//! Which pages the first copies of a transaction were made from, for the journal.

use crate::PageNumber;

/// So many copies are remembered: what is copied behind them is no small commit.
const SOURCES_MAX: usize = 128;

/// The first pages that were copied, each with the one that it was copied from.
#[derive(Debug)]
pub(crate) struct CopySources {
    pub(crate) pairs: Vec<(PageNumber, PageNumber)>,
    /// How many are wanted.
    max: usize,
}

impl CopySources {
    /// Remembers none where there is no journal.
    pub(crate) fn new(has_journal: bool) -> Self {
        Self {
            pairs: Vec::new(),
            max: if has_journal { SOURCES_MAX } else { 0 },
        }
    }

    #[inline]
    pub(crate) fn are_wanted(&self) -> bool {
        self.pairs.len() < self.max
    }

    /// The page of the state before that a page was copied from, if it is known.
    pub(crate) fn of(&self, number: PageNumber) -> Option<PageNumber> {
        let pairs = self.pairs.iter().rev();
        let mut found = pairs.filter(|(new, _)| *new == number);
        found.next().map(|(_, old)| *old)
    }
}
