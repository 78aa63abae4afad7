//! The high-water mark: how many pages were in use at most lately.
//!
//! Lazy commits use no page again that the last durable state has, so that a database may need twice its pages from one flush to
//! the next, all of which are free right behind it and needed again soon. So free pages are given back to the file system, or emptied
//! for that, only where they were free for a while: for two stretches of commits, each of which has written some pages and has seen a
//! newer state become durable.

use crate::TransactionId;

/// Free pages that are nothing to speak of, where the geometry does not say what is.
pub(crate) const FREE_MIN: u64 = 256;
/// A stretch of commits writes such a part of the pages in use at least, and some pages more.
const STRETCH: u64 = 16;
const STRETCH_PAGES: u64 = 64;

/// Pages count as in use also where they are dead and something may still see them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct HighWater {
    /// The most in the stretch before; absent in the first one, where all pages of the file count.
    before: Option<u64>,
    /// The most in this stretch.
    now: u64,
    /// Pages that were written in this stretch, and the last durable state when it began.
    written: u64,
    durable: TransactionId,
}

impl HighWater {
    /// The most pages of a file of `page_count` that were in use lately.
    pub(crate) fn of(&self, page_count: u64) -> u64 {
        self.before
            .map_or(page_count, |before| before.max(self.now).min(page_count))
    }

    /// Notes that so many are in use, before any of them is freed.
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

    /// Notes that a commit has written so many.
    pub(crate) fn note_written(&mut self, pages: u64) {
        self.written += pages;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stretch that writes `written` pages, `used` being in use at its end, after a flush or not.
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
