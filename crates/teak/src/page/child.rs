//! A child of an inner page, taken out of the page.

use crate::{Checksum, PageNumber};

/// A child of an inner page, with the separator before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    /// Keys in the child are not smaller; empty for the first child of a page.
    pub(crate) separator: Vec<u8>,
    pub(crate) page: PageNumber,
    pub(crate) checksum: Checksum,
    /// Records below the child; kept only in trees that count.
    pub(crate) records: u64,
}

impl Child {
    /// A child whose checksum is found when its transaction is sealed.
    pub(crate) fn unsealed(separator: Vec<u8>, page: PageNumber, records: u64) -> Self {
        Self {
            separator,
            page,
            checksum: Checksum::default(),
            records,
        }
    }
}
