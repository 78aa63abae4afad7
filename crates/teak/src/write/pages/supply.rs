//! Where a transaction takes its next pages from.

use crate::Extent;

/// Pages taken at first; each further run is twice as long.
pub(crate) const FIRST_EXTENT_LEN: u32 = 16;

/// What was taken from the space map and is not used yet, and how to take more.
///
/// Invariant: the pages of `open_extent` and `hot_extent` are taken in the space map and belong to no tree.
#[derive(Debug)]
pub(crate) struct PageSupply {
    /// What is left of the run that was taken last.
    pub(crate) open_extent: Extent,
    /// What is left of a run in the zone, and how many pages were taken there.
    pub(crate) hot_extent: Extent,
    pub(crate) hot_count: u32,
    /// Whether pages that die soon are put where others are, too.
    pub(crate) has_no_zone: bool,
    pub(crate) next_extent_len: u32,
    /// Where pages are to be taken before, from the lowest places, however short their runs are: they are moved from behind it.
    pub(crate) low_boundary: Option<u64>,
    /// Whether this transaction has made the file longer.
    pub(crate) has_grown: bool,
    pub(crate) taken_count: u64,
    /// Whether the file has blocks for all that was taken, so that no write can find the disk full.
    pub(crate) is_secured: bool,
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
