//! Ranges of keys.

use super::shape::ModelKey;
use fastrand::Rng;
use std::ops::{Bound, Deref};

/// The two ends of a range of keys.
pub(crate) type KeyRange = (Bound<ModelKey>, Bound<ModelKey>);

/// Whether a range ends before it starts.
pub(super) fn is_inverted(start: &Bound<ModelKey>, end: &Bound<ModelKey>) -> bool {
    match (start, end) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(start), Bound::Included(end)) => start > end,
        (
            Bound::Included(start) | Bound::Excluded(start),
            Bound::Included(end) | Bound::Excluded(end),
        ) => start >= end,
    }
}

/// A range as the engine takes it.
pub(crate) fn borrowed((start, end): &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (
        start.as_ref().map(ModelKey::deref),
        end.as_ref().map(ModelKey::deref),
    )
}

/// A bound of a random kind.
pub(super) fn draw_bound<T>(rng: &mut Rng, key: T) -> Bound<T> {
    match rng.u8(0..12) {
        0 => Bound::Unbounded,
        1..=5 => Bound::Excluded(key),
        _ => Bound::Included(key),
    }
}
