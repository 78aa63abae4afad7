//! Removal of pairs, and of keys with all their values.

use super::{KeyValues, LeafValues, WRONG_LEN};
use crate::{
    PageNumber, Result,
    btree::{
        PageSink, TreeRoot, enter,
        mutable_tree::Tree,
        position::{PathStep, Position},
        visit_leaf,
    },
    page::{
        PageDamage,
        leaf::LocalChange,
        set,
        value::{StoredValue, ValueKind},
    },
};
use std::ops::Bound;

/// The remaining values of a key.
enum RemainingValues {
    /// All of them.
    All,
    None,
    /// These, in the leaf.
    Some(LeafValues, u64),
    Nested(TreeRoot),
}

impl<S: PageSink> Tree<'_, S> {
    /// Removes a pair; returns whether it was present.
    pub(crate) fn remove_pair(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let Some(position) = self.find_key_position(key)? else {
            return Ok(false);
        };
        let left = self.remaining_without(&position, value)?;
        match left {
            RemainingValues::Nested(nested) => self.remove_nested(position, key, nested, |tree| {
                tree.remove(value).map(u64::from)
            }),
            left => self.store_remaining(position, key, left),
        }
        .map(|removed| removed > 0)
    }

    /// Removes values of a key between two bounds; returns how many there were.
    pub(crate) fn remove_values_in(
        &mut self,
        key: &[u8],
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<u64> {
        let Some(position) = self.find_key_position(key)? else {
            return Ok(0);
        };
        match self.remaining_outside(&position, low, high)? {
            RemainingValues::Nested(nested) => {
                self.remove_nested(position, key, nested, |tree| tree.remove_range(low, high))
            }
            left => self.store_remaining(position, key, left),
        }
    }

    /// Removes a key with all its values; returns how many there were.
    pub(crate) fn remove_key(&mut self, key: &[u8]) -> Result<u64> {
        let Some(position) = self.find_key_position(key)? else {
            return Ok(0);
        };
        let (number, stored) = self.stored_at(&position)?;
        let values = KeyValues::of(self.root, stored);
        let values = values.map_err(|damage| damage.at(number, "remove"))?;
        let count = values.count();
        if let KeyValues::Tree(nested) = values {
            self.release_nested(nested)?;
        }
        let path = self.own_path(position.into_path())?;
        self.remove_record(&path, count)?;
        Ok(count)
    }

    /// Finds the position of a key.
    pub(super) fn find_key_position(&self, key: &[u8]) -> Result<Option<Position>> {
        let mut position = Position::default();
        if self.root.is_empty() || !position.descend(&*self.sink, self.root, key)? {
            return Ok(None);
        }
        Ok(Some(position))
    }

    pub(super) fn stored_at(&self, position: &Position) -> Result<(PageNumber, StoredValue<'_>)> {
        let (number, index) = position.record().expect("the key was found");
        let leaf = visit_leaf(&*self.sink, number, "remove")?;
        let node = leaf.node(index);
        let node = node.map_err(|damage| damage.at(number, "remove"))?;
        Ok((number, node.value))
    }

    fn remaining_without(&self, position: &Position, value: &[u8]) -> Result<RemainingValues> {
        let (number, stored) = self.stored_at(position)?;
        let order = self.root.value_order();
        let values = KeyValues::of(self.root, stored);
        Ok(
            match values.map_err(|damage| damage.at(number, "remove"))? {
                KeyValues::Tree(nested) => RemainingValues::Nested(nested),
                KeyValues::One(old) if order.stored_to(old, value).is_eq() => RemainingValues::None,
                KeyValues::One(_) => RemainingValues::All,
                KeyValues::Set(set) => match set.search(order, value) {
                    Err(_) => RemainingValues::All,
                    Ok(index) if set.len() == 2 => {
                        let bytes = set.get(1 - index.min(1)).to_vec();
                        let kind = ValueKind::Inline;
                        RemainingValues::Some(LeafValues { kind, bytes }, 1)
                    }
                    Ok(index) => {
                        let mut bytes = Vec::with_capacity(stored.bytes.len());
                        set::write_without(&mut bytes, &set, index);
                        let kind = ValueKind::Set;
                        RemainingValues::Some(LeafValues { kind, bytes }, 1)
                    }
                },
            },
        )
    }

    fn remaining_outside(
        &self,
        position: &Position,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<RemainingValues> {
        let (number, stored) = self.stored_at(position)?;
        let order = self.root.value_order();
        let is_inside = |value: &[u8]| {
            let is_after = match low {
                Bound::Unbounded => true,
                Bound::Included(low) => order.compare(low, value).is_le(),
                Bound::Excluded(low) => order.compare(low, value).is_lt(),
            };
            is_after
                && match high {
                    Bound::Unbounded => true,
                    Bound::Included(high) => order.stored_to(value, high).is_le(),
                    Bound::Excluded(high) => order.stored_to(value, high).is_lt(),
                }
        };
        let values = KeyValues::of(self.root, stored);
        let all = match values.map_err(|damage| damage.at(number, "remove"))? {
            KeyValues::Tree(nested) => return Ok(RemainingValues::Nested(nested)),
            KeyValues::One(value) => vec![value],
            KeyValues::Set(set) => set.iter().collect(),
        };
        let left: Vec<_> = all
            .iter()
            .copied()
            .filter(|value| !is_inside(value))
            .collect();
        let removed = (all.len() - left.len()) as u64;
        Ok(match left[..] {
            _ if removed == 0 => RemainingValues::All,
            [] => RemainingValues::None,
            [value] => {
                let (kind, bytes) = (ValueKind::Inline, value.to_vec());
                RemainingValues::Some(LeafValues { kind, bytes }, removed)
            }
            _ => {
                let mut bytes = Vec::new();
                set::write_all(&mut bytes, self.root.kind.value_size, left.into_iter());
                let kind = ValueKind::Set;
                RemainingValues::Some(LeafValues { kind, bytes }, removed)
            }
        })
    }

    /// Reduces the values of a key, which are stored in its leaf, to the remaining ones; returns
    /// how many were removed.
    fn store_remaining(
        &mut self,
        position: Position,
        key: &[u8],
        left: RemainingValues,
    ) -> Result<u64> {
        match left {
            RemainingValues::All | RemainingValues::Nested(_) => Ok(0),
            RemainingValues::None => self.remove_key_at(position),
            RemainingValues::Some(kept, removed) => {
                let stored_key = self.key_at(&position)?;
                let path = self.own_path(position.into_path())?;
                self.root.records = self.root.records.saturating_sub(removed);
                let key = stored_key.as_deref().unwrap_or(key);
                self.shrink_values(&path, key, &kept, -(removed as i64))?;
                Ok(removed)
            }
        }
    }

    /// The key at a position, if its bytes may differ from the search key.
    pub(super) fn key_at(&self, position: &Position) -> Result<Option<Vec<u8>>> {
        let (number, index) = position.record().expect("the key was found");
        let leaf = visit_leaf(&*self.sink, number, "remove")?;
        let stored_key = self.stored_key(&leaf, index);
        stored_key.map_err(|damage| damage.at(number, "remove"))
    }

    /// Replaces the values at the end of the path by values that take no more bytes, and rebalances
    /// the leaf. `difference` is the change in their number.
    pub(super) fn shrink_values(
        &mut self,
        path: &[PathStep],
        key: &[u8],
        kept: &LeafValues,
        difference: i64,
    ) -> Result<()> {
        if self.replace_values(path, key, kept.value(), difference)? == LocalChange::Done {
            return self.rebalance_leaf(path).map(drop);
        }
        // The leaf was laid out again, and perhaps others with it.
        let mut position = Position::default();
        position.descend(&*self.sink, self.root, key)?;
        let path = self.own_path(position.into_path())?;
        self.rebalance_leaf(&path).map(drop)
    }

    /// Removes the key at a position, whose values are stored in its leaf.
    fn remove_key_at(&mut self, position: Position) -> Result<u64> {
        let (number, stored) = self.stored_at(&position)?;
        let count = set::pair_count(stored).map_err(|damage| damage.at(number, "remove"))?;
        let path = self.own_path(position.into_path())?;
        self.remove_record(&path, count)?;
        Ok(count)
    }

    /// Removes some values of a nested tree, which becomes a set if few are left.
    fn remove_nested(
        &mut self,
        position: Position,
        key: &[u8],
        mut nested: TreeRoot,
        remove: impl FnOnce(&mut Tree<'_, S>) -> Result<u64>,
    ) -> Result<u64> {
        let removed = self.change_nested(&mut nested, remove)?;
        if removed == 0 {
            return Ok(0);
        }
        let stored_key = self.key_at(&position)?;
        let key = stored_key.as_deref().unwrap_or(key);
        let path = self.own_path(position.into_path())?;
        if nested.is_empty() {
            self.remove_record(&path, removed)?;
            return Ok(removed);
        }
        self.root.records = self.root.records.saturating_sub(removed);
        self.mark_changed();
        let difference = -(removed as i64);
        match self.leaf_values_if_few(key.len(), &nested)? {
            None => self.write_nested_root(&path, &nested, difference)?,
            Some(kept) => {
                self.release_nested(nested)?;
                self.shrink_values(&path, key, &kept, difference)?;
            }
        }
        Ok(removed)
    }

    /// Returns the values of a nested tree in the form that a leaf holds, if they are few.
    fn leaf_values_if_few(&self, key_len: usize, nested: &TreeRoot) -> Result<Option<LeafValues>> {
        if nested.depth > 1 {
            return Ok(None);
        }
        // If it is what is left of a larger tree, it may not have been read yet.
        enter::root(&*self.sink, nested, "remove")?;
        let leaf = visit_leaf(&*self.sink, nested.page, "remove")?;
        let damaged = |damage: PageDamage| damage.at(nested.page, "remove");
        let size = usize::from(self.root.kind.value_size);
        let mut values = Vec::new();
        let mut len = 0;
        for index in 0..leaf.count() {
            let value = leaf.key(index).map_err(damaged)?;
            if size != 0 && size != value.len() {
                return Err(damaged(WRONG_LEN));
            }
            len += value.len();
            values.push(value);
            if !self.fit_back_in_leaf(key_len, values.len(), len) {
                return Ok(None);
            }
        }
        let bytes = match &values[..] {
            [] => return Err(damaged(PageDamage("a leaf of a tree is empty"))),
            [value] => {
                let (kind, bytes) = (ValueKind::Inline, value.clone());
                return Ok(Some(LeafValues { kind, bytes }));
            }
            values => {
                let mut bytes = Vec::new();
                let values = values.iter().map(Vec::as_slice);
                set::write_all(&mut bytes, self.root.kind.value_size, values);
                bytes
            }
        };
        let kind = ValueKind::Set;
        Ok(Some(LeafValues { kind, bytes }))
    }
}
