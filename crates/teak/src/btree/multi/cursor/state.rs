//! Queries on the position of a cursor over pairs.

use super::{PairCursor, ValueCursor};
use crate::btree::{
    PageSource,
    position::{Direction, Position},
};

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

    /// Returns a number of steps in a direction that lead neither to `end` nor beyond it.
    pub(crate) fn run_to(&self, end: &Self, direction: Direction) -> usize {
        let (outer, outer_end) = (self.outer.position(), end.outer.position());
        let is_same_key = outer.is_at(outer_end);
        let values = match (&self.inner, &end.inner) {
            (ValueCursor::Set(set, index), other) => {
                let other = match other {
                    ValueCursor::Set(_, other) if is_same_key => Some(*other),
                    _ => None,
                };
                match direction {
                    Direction::Forward => other.unwrap_or(set.len()).saturating_sub(index + 1),
                    Direction::Backward => index.saturating_sub(other.map_or(0, |at| at + 1)),
                }
            }
            (ValueCursor::Tree(values), ValueCursor::Tree(other)) if is_same_key => {
                values.position().run_to(other.position(), direction)
            }
            (ValueCursor::Tree(values), _) => {
                values.position().run_to(&Position::default(), direction)
            }
            _ => 0,
        };
        // Each key until then has a value.
        match is_same_key {
            true => values,
            false => values + outer.run_to(outer_end, direction),
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

    /// Whether the cursor is after the last pair of the tree.
    pub(crate) fn is_after_last(&self) -> bool {
        self.outer.position().is_after_last()
    }
}
