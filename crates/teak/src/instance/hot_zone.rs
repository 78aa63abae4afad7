//! The part of the file in which pages are put that are soon written anew.

use crate::TransactionId;
use std::ops::Range;

/// The zone of this process, and where in it to look first.
#[derive(Default, Debug)]
pub(crate) struct Zone {
    pub(crate) pages: Range<u64>,
    pub(crate) next: u64,
    /// How many pages the last transaction put in it.
    pub(crate) usual: u32,
    /// Stays as it is until then.
    pub(crate) rests_until: TransactionId,
    /// Whether the file became longer for it.
    pub(crate) has_grown: bool,
}

impl Zone {
    pub(crate) fn pages(&self) -> &Range<u64> {
        &self.pages
    }

    pub(crate) fn len(&self) -> u64 {
        self.pages.end - self.pages.start
    }
}
