//! The part of the file for pages that will soon be rewritten.

use crate::TransactionId;
use std::ops::Range;

/// The zone of this process, and the position to search from.
#[derive(Default, Debug)]
pub(crate) struct ZoneState {
    pub(crate) pages: Range<u64>,
    pub(crate) next: u64,
    /// Number of pages that the last transaction put there.
    pub(crate) usual: u32,
    /// The zone is not changed before this transaction.
    pub(crate) rests_until: TransactionId,
    /// Whether the file was grown for the zone.
    pub(crate) has_grown: bool,
}

impl ZoneState {
    pub(crate) fn pages(&self) -> &Range<u64> {
        &self.pages
    }

    pub(crate) fn len(&self) -> u64 {
        self.pages.end - self.pages.start
    }
}
