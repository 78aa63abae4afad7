//! Removal of ranges of pairs.

use super::PairRef;
use crate::{
    Result,
    btree::{PageSink, mutable_tree::Tree},
};
use std::ops::Bound;

impl<S: PageSink> Tree<'_, S> {
    /// Removes all pairs between two bounds, which are pairs themselves; returns how many there
    /// were. Keys between those of the bounds are removed with all their values.
    pub(crate) fn remove_pairs_in(
        &mut self,
        low: Bound<PairRef<'_>>,
        high: Bound<PairRef<'_>>,
    ) -> Result<u64> {
        let (low_key, high_key) = (key_of(low), key_of(high));
        let (low_value, high_value) = (low.map(|pair| pair.1), high.map(|pair| pair.1));
        if let (Some(a), Some(b)) = (low_key, high_key) {
            let order = self.root.order.compare(a, b);
            if order.is_gt() {
                return Ok(0);
            }
            if order.is_eq() {
                return self.remove_values_in(a, low_value, high_value);
            }
        }
        let mut removed = 0;
        if let Some(key) = low_key {
            removed += self.remove_values_in(key, low_value, Bound::Unbounded)?;
        }
        if let Some(key) = high_key {
            removed += self.remove_values_in(key, Bound::Unbounded, high_value)?;
        }
        let edge = |key: Option<_>| key.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(removed + self.remove_range(edge(low_key), edge(high_key))?)
    }
}

fn key_of<'p>(bound: Bound<PairRef<'p>>) -> Option<&'p [u8]> {
    match bound {
        Bound::Included((key, _)) | Bound::Excluded((key, _)) => Some(key),
        Bound::Unbounded => None,
    }
}
