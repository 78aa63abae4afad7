//! The part of the file in which pages are put that are soon written anew.

use crate::TransactionId;
use std::ops::Range;

/// The zone of this process, and where in it to look first.
#[derive(Default, Debug)]
pub(in crate::txn) struct Zone {
    pub(super) pages: Range<u64>,
    pub(super) next: u64,
    /// How many pages the last transaction put in it.
    pub(super) usual: u32,
    /// Stays as it is until then.
    pub(super) rests_until: TransactionId,
    /// Whether the file became longer for it.
    pub(super) has_grown: bool,
}

impl Zone {
    pub(super) fn pages(&self) -> &Range<u64> {
        &self.pages
    }

    pub(super) fn len(&self) -> u64 {
        self.pages.end - self.pages.start
    }
}
