//! Replacing values of a key.

use super::KeyValues;
use crate::{
    Result,
    btree::{
        PageSink,
        cursor::{TreeCursor, record_at},
        mutable_tree::Tree,
        position::Position,
        visit_leaf,
    },
    page::{PageDamage, set},
};

/// The outcome of an attempt to replace a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PairReplaced {
    /// The old value is absent.
    NoOld,
    /// The new value is present already.
    NewThere,
    Done,
}

impl<S: PageSink> Tree<'_, S> {
    /// Replaces a value of a key by another one.
    pub(crate) fn replace_pair(
        &mut self,
        key: &[u8],
        old: &[u8],
        new: &[u8],
    ) -> Result<PairReplaced> {
        let Some(position) = self.find_key_position(key)? else {
            return Ok(PairReplaced::NoOld);
        };
        let stored_key = self.key_at(&position)?;
        let Some(stored) = self.stored_value(key, old)? else {
            return Ok(PairReplaced::NoOld);
        };
        if stored == new {
            return Ok(PairReplaced::Done);
        }
        let is_same = self.root.value_order().stored_to(old, new).is_eq();
        if !is_same && self.stored_value(key, new)?.is_some() {
            return Ok(PairReplaced::NewThere);
        }
        // An order of the application may treat other bytes as equal.
        self.remove_pair(key, old)?;
        self.insert_pair(stored_key.as_deref().unwrap_or(key), new)?;
        Ok(PairReplaced::Done)
    }

    /// Removes a value of a key and inserts another one, unless that is present; returns whether
    /// the old one was present.
    pub(crate) fn swap_pair_value(&mut self, key: &[u8], old: &[u8], new: &[u8]) -> Result<bool> {
        match self.replace_pair(key, old, new)? {
            PairReplaced::Done => Ok(true),
            PairReplaced::NoOld => Ok(false),
            PairReplaced::NewThere => self.remove_pair(key, old),
        }
    }

    /// Returns the bytes of a value of a key, if it is present.
    pub(crate) fn stored_value(&self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(position) = self.find_key_position(key)? else {
            return Ok(None);
        };
        let (number, stored) = self.stored_at(&position)?;
        let order = self.root.value_order();
        let values = KeyValues::of(self.root, stored);
        Ok(
            match values.map_err(|damage| damage.at(number, "replace"))? {
                KeyValues::One(old) => order.stored_to(old, value).is_eq().then(|| old.to_vec()),
                KeyValues::Set(set) => {
                    let found = set.search(order, value).ok();
                    found.map(|index| set.get(index).to_vec())
                }
                KeyValues::Tree(nested) => {
                    let mut position = Position::default();
                    match position.descend(&*self.sink, &nested, value)? {
                        true => {
                            let mut stored = Vec::new();
                            record_at(&*self.sink, &position, &mut stored)?;
                            Some(stored)
                        }
                        false => None,
                    }
                }
            },
        )
    }

    /// Replaces all values of a key by these, which ascend; without values the key is removed.
    /// Returns how many it had.
    pub(crate) fn set_values(&mut self, key: &[u8], values: &[&[u8]]) -> Result<u64> {
        if values.is_empty() {
            return self.remove_key(key);
        }
        let Some(position) = self.find_key_position(key)? else {
            let mut position = Position::default();
            if !self.root.is_empty() {
                position.descend(&*self.sink, self.root, key)?;
            }
            self.insert_key_with_values(position, key, values)?;
            return Ok(0);
        };
        let (number, index) = position.record().expect("the key was found");
        let damaged = |damage: PageDamage| damage.at(number, "replace");
        let leaf = visit_leaf(&*self.sink, number, "replace")?;
        let stored = leaf.node(index).map_err(damaged)?.value;
        let count = set::pair_count(stored).map_err(damaged)?;
        let old = KeyValues::of(self.root, stored).map_err(damaged)?;
        if self.are_exactly(&old, values)? {
            return Ok(count);
        }
        let nested = match old {
            KeyValues::Tree(nested) => Some(nested),
            _ => None,
        };
        let old_len = stored.bytes.len();
        let stored_key = self.stored_key(&leaf, index).map_err(damaged)?;
        let key = stored_key.as_deref().unwrap_or(key);
        let kept = self.encode_values(key.len(), values.iter().copied())?;
        if let Some(nested) = nested {
            self.release_nested(nested)?;
        }
        let path = self.own_path(position.into_path())?;
        self.root.records = self.root.records.saturating_sub(count) + values.len() as u64;
        let difference = values.len() as i64 - count as i64;
        match kept.bytes.len() <= old_len {
            true => self.shrink_values(&path, key, &kept, difference)?,
            false => self
                .replace_values(&path, key, kept.value(), difference)
                .map(drop)?,
        }
        Ok(count)
    }

    /// Whether the values of a key are exactly these, byte by byte.
    fn are_exactly(&self, old: &KeyValues<'_>, values: &[&[u8]]) -> Result<bool> {
        Ok(match old {
            KeyValues::One(old) => values == [*old],
            KeyValues::Set(set) => {
                set.len() == values.len() && set.iter().eq(values.iter().copied())
            }
            KeyValues::Tree(nested) if nested.records != values.len() as u64 => false,
            KeyValues::Tree(nested) => {
                let mut cursor = TreeCursor::new(&*self.sink, *nested);
                for value in values {
                    if !cursor.next()? || cursor.key() != *value {
                        return Ok(false);
                    }
                }
                true
            }
        })
    }
}
