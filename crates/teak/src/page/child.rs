//! A child of an inner page, outside of the page.

use crate::{Checksum, PageNumber};

/// A child of an inner page, with the separator before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    /// Keys in the child are not smaller than this; empty for the first child of a page.
    pub(crate) separator: Vec<u8>,
    pub(crate) page: PageNumber,
    pub(crate) checksum: Checksum,
    /// Records below the child; stored only in counted trees.
    pub(crate) records: u64,
}

impl Child {
    /// Creates a child whose checksum is computed when its transaction is sealed.
    pub(crate) fn unsealed(separator: Vec<u8>, page: PageNumber, records: u64) -> Self {
        Self {
            separator,
            page,
            checksum: Checksum::default(),
            records,
        }
    }
}
