//! The set of pages of a damaged file that were read.

use crate::{Extent, PageNumber, read::snapshot::PinnedSnapshot};

/// Pages of the file that were read.
#[derive(Debug)]
pub(super) struct SeenPages {
    bits: Vec<u64>,
    page_count: u64,
    count: u64,
    /// Pages of overlapping extents that may still be visited: a forged file may have any number of
    /// them.
    overlaps_left: u64,
}

impl SeenPages {
    /// An empty set for a state, which may claim to be longer than the file.
    pub(super) fn nothing_of(state: &PinnedSnapshot, file_len: u64) -> Self {
        let page_size = u64::from(state.record().page_size);
        let page_count = state.page_count().min(file_len / page_size);
        Self {
            bits: vec![0; page_count.div_ceil(64) as usize],
            page_count,
            count: 0,
            overlaps_left: page_count,
        }
    }

    pub(super) fn is_in_file(&self, extent: Extent) -> bool {
        extent.end() <= self.page_count
    }

    /// Adds pages of the file; `false`, and adds none, if one of them is there already.
    pub(super) fn insert(&mut self, extent: Extent) -> bool {
        let len = u64::from(extent.len);
        if self.overlaps_left < len {
            return false;
        }
        if extent.pages().any(|page| self.has(page)) {
            self.overlaps_left -= len;
            return false;
        }
        for page in extent.pages() {
            self.bits[page.index() / 64] |= 1 << (page.index() % 64);
        }
        self.count += u64::from(extent.len);
        true
    }

    fn has(&self, page: PageNumber) -> bool {
        self.bits[page.index() / 64] & (1 << (page.index() % 64)) != 0
    }

    /// Number of pages that were read.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}
