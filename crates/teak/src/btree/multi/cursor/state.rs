//! Queries on the position of a cursor over pairs.

use super::{PairCursor, ValueCursor};
use crate::btree::PageSource;

impl<S: PageSource + ?Sized> PairCursor<'_, S> {
    /// Whether the cursor is on the first value of its key.
    pub(crate) fn is_first_value(&self) -> bool {
        match &self.inner {
            ValueCursor::Only => self.is_on_pair(),
            ValueCursor::Nowhere => false,
            ValueCursor::One(_) => true,
            ValueCursor::Set(_, index) => *index == 0,
            ValueCursor::Tree(cursor) => cursor.position().is_first(),
        }
    }

    /// Whether the cursor is on the last value of its key.
    pub(crate) fn is_last_value(&self) -> bool {
        match &self.inner {
            ValueCursor::Only => self.is_on_pair(),
            ValueCursor::Nowhere => false,
            ValueCursor::One(_) => true,
            ValueCursor::Set(set, index) => index + 1 == set.len(),
            ValueCursor::Tree(cursor) => cursor.position().is_last(),
        }
    }

    /// Whether the cursor is on the first pair of the tree.
    pub(crate) fn is_first(&self) -> bool {
        self.outer.position().is_first() && self.is_first_value()
    }

    /// Whether the cursor is on the last pair of the tree.
    pub(crate) fn is_last(&self) -> bool {
        self.outer.position().is_last() && self.is_last_value()
    }
}
