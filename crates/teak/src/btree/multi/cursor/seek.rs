//! Seeks of a cursor over pairs by a key, by a pair, or by a value of a key.

use super::{PairBound, PairCursor, ValueCursor};
use crate::{
    Result,
    btree::{
        PageSource,
        position::Direction,
        reading::reading_from,
        seek_target::{LastStep, SeekOp, SeekTarget},
    },
};
use std::ops::Bound;

impl<S: PageSource + ?Sized> PairCursor<'_, S> {
    /// Moves where a seek leads; returns whether it found its pair. If there is no equal key or
    /// pair, the cursor is on the next greater one. If there is no other, it is after the last pair
    /// or, for a seek to a smaller one, before the first. If the key does not have the value of a
    /// [`SeekTarget::Value`], the cursor is on no pair.
    pub(crate) fn seek(&mut self, op: SeekOp, target: SeekTarget<'_>) -> Result<bool> {
        match target {
            SeekTarget::Key(key) => self.seek_op(op, key),
            SeekTarget::Pair(key, value) => match op.last_step(self.seek_pair(key, value)?) {
                LastStep::Stay(is_found) => Ok(is_found),
                LastStep::Next => self.next(),
                LastStep::Prev => self.prev(),
            },
            SeekTarget::Value(key, value) => {
                let is_found = self.seek_key(key)? == Some(true) && self.seek_value(op, value)?;
                if !is_found {
                    self.leave_pair();
                }
                Ok(is_found)
            }
        }
    }

    /// Seeks among the values of the current key. If there is none, the position is unspecified.
    fn seek_value(&mut self, op: SeekOp, value: &[u8]) -> Result<bool> {
        let found = self.seek_among(value)?;
        match op.last_step(found) {
            LastStep::Stay(is_found) => Ok(is_found),
            LastStep::Next => self.next_value(),
            // It is on the last value.
            LastStep::Prev if found.is_none() => Ok(true),
            LastStep::Prev => self.prev_value(),
        }
    }

    /// Moves to the first value of the first key that is not smaller; `Some(true)` if it is equal,
    /// `None` if there is none.
    pub(crate) fn seek_key(&mut self, key: &[u8]) -> Result<Option<bool>> {
        let found = self.outer.seek(key);
        match &found {
            Ok(Some(_)) => self.enter(Direction::Forward)?,
            _ => self.leave_pair(),
        }
        found
    }

    /// Moves where a seek for a key leads; see [`Self::seek`].
    fn seek_op(&mut self, op: SeekOp, key: &[u8]) -> Result<bool> {
        let found = self.outer.seek_op(op, key);
        match self.outer.position().record() {
            Some(_) if found.is_err() => self.leave_pair(),
            Some(_) if op.is_back() => self.enter(Direction::Backward)?,
            Some(_) => self.enter(Direction::Forward)?,
            None => self.leave_pair(),
        }
        found
    }

    /// Moves to the first pair that is not smaller; `Some(true)` if it is equal, `None` if there is
    /// none.
    pub(crate) fn seek_pair(&mut self, key: &[u8], value: &[u8]) -> Result<Option<bool>> {
        match self.seek_key(key)? {
            Some(true) => match self.seek_among(value)? {
                None => Ok(self.next_key()?.then_some(false)),
                found => Ok(found),
            },
            found => Ok(found),
        }
    }

    /// Moves to the first value of the key that is not smaller; `Some(true)` if it is equal. If
    /// there is none, moves to the last value and returns `None`.
    fn seek_among(&mut self, value: &[u8]) -> Result<Option<bool>> {
        let order = self.root().value_order();
        let (faults, page_size) = (self.source().faults(), self.source().page_size());
        match &mut self.inner {
            ValueCursor::Only | ValueCursor::Nowhere => Ok(None),
            ValueCursor::One(one) => {
                let compared = reading_from(faults, page_size, || Ok(order.stored_to(one, value)))?;
                Ok(compared.is_ge().then_some(compared.is_eq()))
            }
            ValueCursor::Set(set, index) => {
                let found = reading_from(faults, page_size, || Ok(set.search(order, value)))?;
                let (Ok(found_index) | Err(found_index)) = found;
                *index = found_index.min(set.len() - 1);
                let is_there = found_index < set.len();
                self.check_readable()?;
                Ok(is_there.then_some(found.is_ok()))
            }
            ValueCursor::Tree(cursor) => match cursor.seek(value)? {
                None => cursor.last().map(|_| None),
                found => Ok(found),
            },
        }
    }

    /// Moves to the beginning of a range with this lower bound; after the last pair if there is
    /// none.
    pub(crate) fn seek_bound(&mut self, bound: PairBound<'_>) -> Result<()> {
        match bound {
            Bound::Unbounded => drop(self.first()?),
            Bound::Included((key, None)) => drop(self.seek_key(key)?),
            Bound::Excluded((key, None)) => {
                if self.seek_key(key)? == Some(true) {
                    self.next_key()?;
                }
            }
            Bound::Included((key, Some(value))) => drop(self.seek_pair(key, value)?),
            Bound::Excluded((key, Some(value))) => {
                if self.seek_pair(key, value)? == Some(true) {
                    self.next()?;
                }
            }
        }
        Ok(())
    }

    /// Moves past the last pair of a range with this upper bound.
    pub(crate) fn seek_end(&mut self, bound: PairBound<'_>) -> Result<()> {
        match bound {
            Bound::Unbounded => {
                self.leave_pair();
                self.outer.seek_end(Bound::Unbounded)
            }
            Bound::Included(pair) => self.seek_bound(Bound::Excluded(pair)),
            Bound::Excluded(pair) => self.seek_bound(Bound::Included(pair)),
        }
    }
}
