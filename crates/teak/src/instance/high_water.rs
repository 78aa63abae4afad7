//! The high-water mark: the most pages that were recently in use.
//!
//! Lazy commits reuse no page of the last durable state. A database may therefore need twice its
//! pages between two flushes. All of the additional pages are free directly after a flush, and are
//! soon needed again. Free pages are given back to the file system, or emptied for truncation, only
//! if they were free for a while: for two stretches of commits. In a stretch, a number of pages are
//! written and a newer state becomes durable.

use crate::TransactionId;

/// Free pages that are negligible, if the geometry sets no limit.
pub(crate) const FREE_MIN: u64 = 256;
/// A stretch of commits writes at least this part of the pages in use, plus `STRETCH_PAGES`.
const STRETCH: u64 = 16;
const STRETCH_PAGES: u64 = 64;

/// The high-water mark. Dead pages count as in use while a state may still use them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct HighWater {
    /// The most pages in the previous stretch. `None` in the first stretch, in which all pages of
    /// the file count.
    before: Option<u64>,
    /// The most pages in this stretch.
    now: u64,
    /// Pages written in this stretch, and (below) the last durable state when it began.
    written: u64,
    durable: TransactionId,
}

impl HighWater {
    /// The most pages that were recently in use, in a file of `page_count` pages.
    pub(crate) fn of(&self, page_count: u64) -> u64 {
        self.before
            .map_or(page_count, |before| before.max(self.now).min(page_count))
    }

    /// Notes the number of pages in use, before any of them is freed.
    pub(crate) fn note(&mut self, used: u64, durable: TransactionId) {
        self.now = self.now.max(used);
        if self.written >= used / STRETCH + STRETCH_PAGES && self.durable < durable {
            *self = Self {
                before: Some(self.now),
                now: used,
                written: 0,
                durable,
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

    /// A stretch that writes `written` pages, with `used` pages in use at its end, with or without
    /// a flush.
    fn stretch(mark: &mut HighWater, written: u64, used: u64, is_flushed: bool) {
        mark.note_written(written);
        mark.note(used, TransactionId(mark.durable.0 + u64::from(is_flushed)));
    }

    #[test]
    fn what_the_file_is_opened_with_counts_as_in_use() {
        let mut mark = HighWater::default();
        assert_eq!(mark.of(100_000), 100_000);
        stretch(&mut mark, 10_000, 1000, true);
        assert_eq!(mark.of(100_000), 1000);
    }

    #[test]
    fn what_was_in_use_is_forgotten_after_two_stretches() {
        let mut mark = HighWater::default();
        stretch(&mut mark, 10_000, 90_000, true);
        stretch(&mut mark, 10_000, 1000, true);
        assert_eq!(mark.of(100_000), 90_000);
        stretch(&mut mark, 10_000, 1000, true);
        assert_eq!(mark.of(100_000), 1000);
    }

    #[test]
    fn nothing_is_forgotten_without_a_flush_or_without_pages_being_written() {
        let mut mark = HighWater::default();
        stretch(&mut mark, 10_000, 90_000, true);
        for _ in 0..10 {
            stretch(&mut mark, 10_000, 1000, false);
        }
        assert_eq!(mark.of(100_000), 90_000);
        stretch(&mut mark, 10_000, 1000, true);
        for _ in 0..10 {
            stretch(&mut mark, 1, 1000, true);
        }
        assert_eq!(mark.of(100_000), 90_000);
    }
}
