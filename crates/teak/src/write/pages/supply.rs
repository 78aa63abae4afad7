//! The source of new pages of a transaction.

use crate::Extent;

/// Number of pages of the first extent; each further extent is twice as long.
pub(crate) const FIRST_EXTENT_LEN: u32 = 16;

/// Pages taken from the free-space map and not used yet, and how to take more.
///
/// Invariant: the pages of `open_extent` and `hot_extent` are allocated in the free-space map and
/// belong to no tree.
#[derive(Debug)]
pub(crate) struct PageSupply {
    /// The rest of the extent that was taken last.
    pub(crate) open_extent: Extent,
    /// The rest of an extent in the zone, and (below) how many pages were taken there.
    pub(crate) hot_extent: Extent,
    pub(crate) hot_count: u32,
    /// Whether the zone is unused, so that short-lived pages go where others are.
    pub(crate) has_no_zone: bool,
    pub(crate) next_extent_len: u32,
    /// During relocation: pages are taken below this boundary, from the lowest positions, however
    /// short their extents are. Pages after it are moved.
    pub(crate) low_boundary: Option<u64>,
    /// Whether this transaction has grown the file.
    pub(crate) has_grown: bool,
    pub(crate) taken_count: u64,
    /// Whether the file has blocks for all taken pages, so that no write can find the disk full.
    pub(crate) is_secured: bool,
}

impl PageSupply {
    /// Whether every allocated page belongs to a tree or a value.
    pub(crate) fn is_empty(&self) -> bool {
        self.open_extent.len == 0 && self.hot_extent.len == 0
    }
}

impl Default for PageSupply {
    fn default() -> Self {
        Self {
            open_extent: Extent::new(0, 0),
            hot_extent: Extent::new(0, 0),
            hot_count: 0,
            has_no_zone: false,
            next_extent_len: FIRST_EXTENT_LEN,
            low_boundary: None,
            has_grown: false,
            taken_count: 0,
            is_secured: true,
        }
    }
}
