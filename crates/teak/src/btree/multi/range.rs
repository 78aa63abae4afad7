//! Removal of ranges of pairs.

use super::{cursor::PairBound, range_parts::RangeParts};
use crate::{
    Result,
    btree::{PageSink, mutable_tree::Tree},
};

impl<S: PageSink> Tree<'_, S> {
    /// Removes all pairs between two bounds, or all records if keys have one value; returns how
    /// many there were. Keys between those of the bounds are removed with all their values.
    pub(crate) fn remove_pairs_in(
        &mut self,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Result<u64> {
        match RangeParts::of(self.root, low, high) {
            RangeParts::Empty => Ok(0),
            RangeParts::OneKey((key, (from, to))) => self.remove_values_in(key, from, to),
            RangeParts::Keys { whole, first, last } => {
                let mut removed = 0;
                for (key, (from, to)) in [first, last].into_iter().flatten() {
                    removed += self.remove_values_in(key, from, to)?;
                }
                Ok(removed + self.remove_range(whole.0, whole.1)?)
            }
        }
    }
}
