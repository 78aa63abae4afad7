//! Iteration over records: direction, bounds, and differences.

use std::ops::Bound;

/// One side of a range of keys.
pub(crate) type KeyBound = Bound<Vec<u8>>;

/// The direction of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    pub(crate) fn next<I: DoubleEndedIterator>(self, records: &mut I) -> Option<I::Item> {
        match self {
            Self::Forward => records.next(),
            Self::Backward => records.next_back(),
        }
    }
}

/// A record that differs between two states, with its value in each, if it exists.
#[derive(Clone, Copy)]
pub(crate) struct RecordChange<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) old: Option<&'a [u8]>,
    pub(crate) new: Option<&'a [u8]>,
}
