//! The source pages of the first copies of a transaction, for the journal.

use crate::PageNumber;

/// The most copies that are remembered. A transaction with more copies is not a small commit.
const SOURCES_MAX: usize = 128;

/// The first copied pages, each with the page that it was copied from.
#[derive(Debug)]
pub(crate) struct CopySources {
    pub(crate) pairs: Vec<(PageNumber, PageNumber)>,
    /// The most pairs to remember.
    max: usize,
}

impl CopySources {
    /// Remembers no pairs without a journal.
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

    /// The page of the previous state that a page was copied from, if it is known.
    pub(crate) fn of(&self, number: PageNumber) -> Option<PageNumber> {
        let pairs = self.pairs.iter().rev();
        let mut found = pairs.filter(|(new, _)| *new == number);
        found.next().map(|(_, old)| *old)
    }
}
