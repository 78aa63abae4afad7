//! What a writer knows of trees that are being released.

use crate::TransactionId;
use std::collections::HashSet;

/// What a writer knows of such trees from one transaction to the next.
#[derive(Default, Debug)]
pub(crate) struct DroppedTrees {
    /// A state that has none.
    pub(crate) none_in: Option<TransactionId>,
    /// How many pages a transaction would have taken that found no space.
    pub(crate) wanted: u64,
    /// For so many transactions nothing is tried.
    pub(crate) resting: u32,
    /// Names of those that cannot be released.
    pub(crate) damaged: HashSet<Vec<u8>>,
}

impl DroppedTrees {
    /// A transaction found no space, and would have taken so many pages.
    pub(crate) fn want(&mut self, pages: u64) {
        self.wanted = self.wanted.max(pages.max(1));
    }
}

/// How much of the space that was wanted is released when a transaction begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropBacklog {
    All,
    Some,
}
