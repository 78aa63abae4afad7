//! Splitting large folios that small writes go to.
//!
//! A file system with large folios keeps 2 MiB of the file as one huge page, which is good for
//! lookups. The ext file systems, however, walk all 512 blocks of a folio for each write into it,
//! and again when it is written out. A commit of four pages took 100 us longer than with single
//! pages (260 instead of 160, Linux 6.18). A 2 MiB range that receives small writes in one flush
//! after another is therefore split into pages, once, after a flush: only a clean folio can be
//! split.

use super::blocks::HUGE_PAGE_LEN;

/// Longer writes are so few for their bytes that the walks do not matter.
const SMALL_LEN: u64 = 64 << 10;
/// Flushes with small writes to a range before it is split. For rare writes the folio is kept for
/// lookups.
const FIRST_TRY: u16 = 4;
/// A split fails silently if the folio was written since the flush. It is tried again after this
/// many flushes,
const TRY_EVERY: u16 = 16;
/// but no more after this many.
const LAST_TRY: u16 = 1024;
const _: () = assert!(
    FIRST_TRY < TRY_EVERY && TRY_EVERY < LAST_TRY,
    "a range is tried, tried again, and then left alone"
);
/// A split takes 100 us. No flush waits for more splits than this.
const SPLITS_MAX: usize = 8;
/// The most ranges that wait for the next flushes. Others are considered when their next try is
/// due.
const DUE_MAX: usize = 64;

/// Small writes to the file.
#[derive(Debug, Default)]
pub(super) struct SmallWrites {
    /// One entry for each 2 MiB range.
    huge_pages: Vec<WrittenHugePage>,
    /// Ranges that were written to since the last flush.
    written: Vec<usize>,
    /// Offsets of small writes whose ranges should be split.
    due: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct WrittenHugePage {
    flushes: u16,
    is_written: bool,
}

impl SmallWrites {
    pub(super) fn note(&mut self, offset: u64, len: u64) {
        if len > SMALL_LEN {
            return;
        }
        let index = (offset / HUGE_PAGE_LEN) as usize;
        if self.huge_pages.len() <= index {
            self.huge_pages
                .resize(index + 1, WrittenHugePage::default());
        }
        let huge_page = &mut self.huge_pages[index];
        if huge_page.flushes >= LAST_TRY || std::mem::replace(&mut huge_page.is_written, true) {
            return;
        }
        huge_page.flushes += 1;
        let is_due = huge_page.flushes % TRY_EVERY == FIRST_TRY;
        self.written.push(index);
        if is_due && self.due.len() < DUE_MAX {
            self.due.push(offset);
        }
    }

    /// Notes the end of a flush. Returns the ranges to split now, each as the offset of a byte in
    /// it.
    pub(super) fn end_flush(&mut self) -> Vec<u64> {
        for index in self.written.drain(..) {
            self.huge_pages[index].is_written = false;
        }
        debug_assert!(
            !self.huge_pages.iter().any(|huge_page| huge_page.is_written),
            "after a flush no range counts as written"
        );
        debug_assert!(
            self.due.len() <= DUE_MAX,
            "few ranges wait to be split, however large the file is"
        );
        let kept = self.due.len().saturating_sub(SPLITS_MAX);
        self.due.split_off(kept)
    }
}

#[cfg(test)]
#[path = "folios_tests.rs"]
mod tests;
