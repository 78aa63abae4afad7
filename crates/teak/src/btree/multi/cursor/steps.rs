//! Many steps of a cursor over pairs at once, and the number of steps between two.

use super::{PairCursor, ValueCursor};
use crate::{
    Result,
    btree::{PageSource, multi::count::nth_pair, position::Position, reading::reading},
};
use std::ops::Bound;

impl<S: PageSource + ?Sized> PairCursor<'_, S> {
    /// Moves to pair `number`, counted from 0, in a counted tree; after the last one if there are
    /// not that many.
    pub(crate) fn seek_nth(&mut self, number: u64) -> Result<bool> {
        if let ValueCursor::Only = self.inner {
            return self.outer.seek_nth(number);
        }
        let (source, root) = (self.source(), *self.root());
        match reading(source, || nth_pair(source, &root, number))? {
            Some((key, value)) => {
                let value = value.unwrap_or_default();
                Ok(self.seek_pair(&key, &value)? == Some(true))
            }
            None => self.seek_end(Bound::Unbounded).map(|()| false),
        }
    }

    /// Does the same as `steps` calls of [`Self::next`], or of [`Self::prev`] if `steps` is
    /// negative; returns whether the cursor is on a pair then. If keys have several values, it
    /// passes all pairs on the way.
    pub(crate) fn skip(&mut self, steps: i64) -> Result<bool> {
        if let ValueCursor::Only = self.inner {
            return self.outer.skip(steps);
        }
        let mut is_there = self.is_on_pair();
        for _ in 0..steps.unsigned_abs() {
            is_there = match steps > 0 {
                true => self.next()?,
                false => self.prev()?,
            };
            if !is_there {
                break;
            }
        }
        Ok(is_there)
    }

    /// Returns the number of steps forward from this cursor to another one over the same tree;
    /// negative if the other one is before this one. An unset cursor is before the first pair.
    pub(crate) fn distance<O: PageSource + ?Sized>(&self, to: &PairCursor<'_, O>) -> Result<i64> {
        let (from, end) = (self.outer.position(), to.outer.position());
        let between_keys = from.distance(end, self.source(), self.root())?;
        let between_values = to.value_index()?.saturating_sub(self.value_index()?);
        Ok(between_keys.saturating_add(between_values))
    }

    /// The number of values of the key before the current one.
    fn value_index(&self) -> Result<i64> {
        match &self.inner {
            ValueCursor::Set(_, index) => Ok(*index as i64),
            ValueCursor::Tree(cursor) => {
                let (source, root) = (cursor.source(), cursor.root());
                let mut first = Position::default();
                first.first(source, root)?;
                first.distance(cursor.position(), source, root)
            }
            ValueCursor::Only | ValueCursor::Nowhere | ValueCursor::One(_) => Ok(0),
        }
    }
}
