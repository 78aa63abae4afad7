//! The high-water mark: the most pages that were recently in use.
//!
//! Commits reuse no page of the last flushed state. A database may therefore need twice its
//! pages between two flushes. All of the additional pages are free directly after a flush, and are
//! soon needed again. Free pages are given back to the file system, or emptied for truncation, only
//! if they were free for a while: for two periods of commits. In a period, a number of pages are
//! written and a newer state is flushed.

use crate::TransactionId;

/// Free pages that are negligible, if the geometry sets no limit.
pub(crate) const FREE_MIN: u64 = 256;
/// A period of commits writes at least this part of the pages in use, plus `PERIOD_PAGES`.
const PERIOD: u64 = 16;
const PERIOD_PAGES: u64 = 64;

/// The high-water mark. Dead pages count as in use while a state may still use them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct HighWater {
    /// The most pages in the previous period. `None` in the first period, in which all pages of
    /// the file count.
    before: Option<u64>,
    /// The most pages in this period.
    now: u64,
    /// Pages written in this period, and (below) the last flushed state when it began.
    written: u64,
    flushed: TransactionId,
}

impl HighWater {
    /// The most pages that were recently in use, in a file of `page_count` pages.
    pub(crate) fn of(&self, page_count: u64) -> u64 {
        self.before
            .map_or(page_count, |before| before.max(self.now).min(page_count))
    }

    /// Notes the number of pages in use, before any of them is freed.
    pub(crate) fn note(&mut self, used: u64, flushed: TransactionId) {
        self.now = self.now.max(used);
        if self.written >= used / PERIOD + PERIOD_PAGES && self.flushed < flushed {
            *self = Self {
                before: Some(self.now),
                now: used,
                written: 0,
                flushed,
            };
        }
    }

    /// Notes the number of pages that a commit has written.
    pub(crate) fn note_written(&mut self, pages: u64) {
        self.written += pages;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A period that writes `written` pages, with `used` pages in use at its end, with or without
    /// a flush.
    fn period(mark: &mut HighWater, written: u64, used: u64, is_flushed: bool) {
        mark.note_written(written);
        mark.note(used, TransactionId(mark.flushed.0 + u64::from(is_flushed)));
    }

    #[test]
    fn the_size_at_opening_counts_as_in_use() {
        let mut mark = HighWater::default();
        assert_eq!(mark.of(100_000), 100_000);
        period(&mut mark, 10_000, 1000, true);
        assert_eq!(mark.of(100_000), 1000);
    }

    #[test]
    fn a_high_water_mark_is_forgotten_after_two_periods() {
        let mut mark = HighWater::default();
        period(&mut mark, 10_000, 90_000, true);
        period(&mut mark, 10_000, 1000, true);
        assert_eq!(mark.of(100_000), 90_000);
        period(&mut mark, 10_000, 1000, true);
        assert_eq!(mark.of(100_000), 1000);
    }

    #[test]
    fn nothing_is_forgotten_without_a_flush_or_without_pages_being_written() {
        let mut mark = HighWater::default();
        period(&mut mark, 10_000, 90_000, true);
        for _ in 0..10 {
            period(&mut mark, 10_000, 1000, false);
        }
        assert_eq!(mark.of(100_000), 90_000);
        period(&mut mark, 10_000, 1000, true);
        for _ in 0..10 {
            period(&mut mark, 1, 1000, true);
        }
        assert_eq!(mark.of(100_000), 90_000);
    }
}
