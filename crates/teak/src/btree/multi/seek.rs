//! Seeks of a cursor over pairs by a pair, or by a key: to the nearest pair on either side of it.

use super::{PairRef, cursor::PairCursor};
use crate::{
    Result,
    btree::{PageSource, TreeRoot, seek::SearchKey},
};
use std::cmp::Ordering;

impl<S: PageSource + ?Sized> PairCursor<'_, S> {
    /// Moves to the first value of the first key that is greater.
    pub(crate) fn seek_key_greater(&mut self, key: &[u8]) -> Result<bool> {
        match self.seek_key(key)? {
            Some(true) => self.next_key(),
            found => Ok(found.is_some()),
        }
    }

    /// Moves to the last value of the last key that is smaller.
    pub(crate) fn seek_key_less(&mut self, key: &[u8]) -> Result<bool> {
        self.seek_key(key)?;
        self.prev_key()
    }

    /// Moves to the last value of the last key that is not greater.
    pub(crate) fn seek_key_less_or_equal(&mut self, key: &[u8]) -> Result<bool> {
        match self.seek_key(key)? {
            Some(true) => self.last_value(),
            _ => self.prev_key(),
        }
    }

    /// Moves to the first pair that is greater.
    pub(crate) fn seek_pair_greater(&mut self, (key, value): PairRef<'_>) -> Result<bool> {
        match self.seek_pair(key, value)? {
            Some(true) => self.next(),
            found => Ok(found.is_some()),
        }
    }

    /// Moves to the last pair that is smaller.
    pub(crate) fn seek_pair_less(&mut self, (key, value): PairRef<'_>) -> Result<bool> {
        self.seek_pair(key, value)?;
        self.prev()
    }

    /// Moves to the last pair that is not greater.
    pub(crate) fn seek_pair_less_or_equal(&mut self, (key, value): PairRef<'_>) -> Result<bool> {
        match self.seek_pair(key, value)? {
            Some(true) => Ok(true),
            _ => self.prev(),
        }
    }

    /// Moves to the first value of exactly this key that is greater; if there is none, the position
    /// is unspecified.
    pub(crate) fn seek_value_greater(&mut self, (key, value): PairRef<'_>) -> Result<bool> {
        match self.seek_value(key, value)? {
            Some(true) => self.next_value(),
            found => Ok(found.is_some()),
        }
    }

    /// Moves to the last value of exactly this key that is smaller; if there is none, the position
    /// is unspecified.
    pub(crate) fn seek_value_less(&mut self, (key, value): PairRef<'_>) -> Result<bool> {
        match self.seek_key(key)? {
            Some(true) => match self.seek_among(value)? {
                Some(_) => self.prev_value(),
                None => self.last_value(),
            },
            _ => Ok(false),
        }
    }

    /// Moves to the last value of exactly this key that is not greater; if there is none, the
    /// position is unspecified.
    pub(crate) fn seek_value_less_or_equal(&mut self, (key, value): PairRef<'_>) -> Result<bool> {
        match self.seek_key(key)? {
            Some(true) => match self.seek_among(value)? {
                Some(true) => Ok(true),
                Some(false) => self.prev_value(),
                None => self.last_value(),
            },
            _ => Ok(false),
        }
    }
}

/// A pair given by the caller, fitted to the pairs of a tree. Its key, or its value, may be an
/// integer of another length than those of the tree.
#[derive(Debug)]
pub(crate) struct PairSearchKey<'p> {
    pub(crate) key: SearchKey<'p>,
    pub(crate) value: SearchKey<'p>,
}

impl<'p> PairSearchKey<'p> {
    pub(crate) fn new(root: &TreeRoot, (key, value): PairRef<'p>) -> Self {
        Self {
            key: SearchKey::new(root, key),
            value: SearchKey::among(root.value_order(), root.kind.value_size, value),
        }
    }

    /// The nearest pair that the tree can have.
    fn nearest(&self) -> PairRef<'_> {
        (self.key.nearest(), self.value.nearest())
    }

    /// On which side of the nearest pair it is, if its key is possible.
    fn side(&self) -> Option<Ordering> {
        self.key.possible().map(|_| self.value.side())
    }
}

/// Searches for a pair that the tree may be unable to hold.
impl<S: PageSource + ?Sized> PairCursor<'_, S> {
    /// Whether the pair itself is in the tree; the cursor is on it then.
    pub(crate) fn find(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        let (key, value) = pair.nearest();
        match pair.side() {
            Some(Ordering::Equal) => Ok(self.seek_value(key, value)? == Some(true)),
            _ => Ok(false),
        }
    }

    /// Moves to the pair, or the first one after it.
    pub(crate) fn seek_at_or_after(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        let (key, value) = pair.nearest();
        match pair.side() {
            Some(Ordering::Equal) => Ok(self.seek_pair(key, value)?.is_some()),
            _ => self.seek_after(pair),
        }
    }

    /// Moves to the pair, or the last one before it.
    pub(crate) fn seek_at_or_before(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        match pair.side() {
            Some(Ordering::Equal) => self.seek_pair_less_or_equal(pair.nearest()),
            _ => self.seek_before(pair),
        }
    }

    /// Moves to the first pair after it.
    pub(crate) fn seek_after(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        let (key, value) = pair.nearest();
        match pair.side() {
            None => self.seek_next_key(pair),
            Some(Ordering::Less) => Ok(self.seek_pair(key, value)?.is_some()),
            Some(_) => self.seek_pair_greater((key, value)),
        }
    }

    /// Moves to the last pair before it.
    pub(crate) fn seek_before(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        match pair.side() {
            None => self.seek_previous_key(pair),
            Some(Ordering::Greater) => self.seek_pair_less_or_equal(pair.nearest()),
            Some(_) => self.seek_pair_less(pair.nearest()),
        }
    }

    /// Moves to the first value of the first key after that of the pair.
    pub(crate) fn seek_next_key(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        let key = pair.key.nearest();
        match pair.key.side() {
            Ordering::Less => Ok(self.seek_key(key)?.is_some()),
            _ => self.seek_key_greater(key),
        }
    }

    /// Moves to the last value of the last key before that of the pair.
    pub(crate) fn seek_previous_key(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        let key = pair.key.nearest();
        match pair.key.side() {
            Ordering::Greater => self.seek_key_less_or_equal(key),
            _ => self.seek_key_less(key),
        }
    }

    /// Moves to the first value of the key of the pair.
    pub(crate) fn seek_first_value(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        match pair.key.possible() {
            Some(key) => Ok(self.seek_key(key)? == Some(true)),
            None => Ok(false),
        }
    }

    /// Moves to the last value of the key of the pair.
    pub(crate) fn seek_last_value(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        Ok(self.seek_first_value(pair)? && self.last_value()?)
    }

    /// Moves to the pair after it with the same key; if there is none, the position is unspecified.
    pub(crate) fn seek_next_value(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        let (key, value) = pair.nearest();
        match pair.side() {
            None => Ok(false),
            Some(Ordering::Less) => Ok(self.seek_value(key, value)?.is_some()),
            Some(_) => self.seek_value_greater((key, value)),
        }
    }

    /// Moves to the pair before it with the same key; if there is none, the position is
    /// unspecified.
    pub(crate) fn seek_previous_value(&mut self, pair: &PairSearchKey<'_>) -> Result<bool> {
        match pair.side() {
            None => Ok(false),
            Some(Ordering::Greater) => self.seek_value_less_or_equal(pair.nearest()),
            Some(_) => self.seek_value_less(pair.nearest()),
        }
    }
}
