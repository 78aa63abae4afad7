//! A set of bytes of a file, kept as ranges.

use std::{collections::BTreeMap, ops::Range};

/// Ranges that neither overlap nor touch.
#[derive(Clone, Default, Debug)]
pub(super) struct Ranges {
    /// Maps the start of each range to its end.
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Number of ranges.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
    }

    /// Whether all of `range` is in the set.
    pub(super) fn covers(&self, range: &Range<u64>) -> bool {
        let before = self.ends.range(..=range.start).next_back();
        range.is_empty() || before.is_some_and(|(_, end)| *end >= range.end)
    }

    /// Whether any of `range` is in the set.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn touches(&self, range: &Range<u64>) -> bool {
        let before = self.ends.range(..range.end).next_back();
        !range.is_empty() && before.is_some_and(|(_, end)| *end > range.start)
    }

    pub(super) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let mut all = range;
        while let Some((&start, &end)) = self.ends.range(..=all.end).next_back()
            && end >= all.start
        {
            self.ends.remove(&start);
            all = all.start.min(start)..all.end.max(end);
        }
        self.ends.insert(all.start, all.end);
        debug_assert!(
            self.are_apart_around(all.start),
            "ranges neither overlap nor touch"
        );
    }

    /// Whether the range that begins at `start` touches neither of its neighbours.
    fn are_apart_around(&self, start: u64) -> bool {
        let end = self.ends.get(&start).copied().unwrap_or_default();
        let before = self.ends.range(..start).next_back();
        let after = self.ends.range(start + 1..).next();
        before.is_none_or(|(_, before)| *before < start)
            && after.is_none_or(|(after, _)| end < *after)
            && start < end
    }

    pub(super) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some((&start, &end)) = self.ends.range(..range.end).next_back()
            && end > range.start
        {
            self.ends.remove(&start);
            if end > range.end {
                self.ends.insert(range.end, end);
            }
            if start < range.start {
                self.ends.insert(start, range.start);
            }
        }
        debug_assert!(
            self.ends
                .range(..range.end)
                .next_back()
                .is_none_or(|(_, end)| *end <= range.start),
            "nothing of a range that was removed is left"
        );
    }
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;
