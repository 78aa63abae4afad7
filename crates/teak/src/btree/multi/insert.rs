//! Insertion of pairs.

use super::{KeyValues, LeafValues};
use crate::{
    PageNumber, Result,
    btree::{
        PageSink, TreeRoot,
        insert::{Existing, Inserted},
        mutable_tree::Tree,
        position::{PathStep, Position},
        visit_leaf,
    },
    page::{
        PageDamage, set,
        value::{StoredValue, ValueKind},
    },
};
use std::cmp::Ordering;

/// The result of adding a value to those of a key.
enum CombinedValues {
    /// It is present already.
    There,
    /// They stay in the leaf, as a set.
    Set(Vec<u8>),
    /// They are too long for that: the values in the leaf, and the index of the new one among them.
    Large(Vec<u8>, usize),
    Nested(TreeRoot),
}

impl<S: PageSink> Tree<'_, S> {
    /// Inserts a pair; returns whether it is new. The tree must be able to hold key and value.
    pub(crate) fn insert_pair(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        if self.root.is_empty() {
            self.fix_value_size(value);
            let kept = self.encode_value(key.len(), value)?;
            let kept = kept
                .as_ref()
                .map_or(StoredValue::inline(value), LeafValues::value);
            self.create_root_leaf_from(key, kept, 1)?;
            return Ok(true);
        }
        let mut position = Position::default();
        if position.descend(&*self.sink, self.root, key)? {
            return self.add_value(position, key, value);
        }
        let kept = self.encode_value(key.len(), value)?;
        let kept = kept
            .as_ref()
            .map_or(StoredValue::inline(value), LeafValues::value);
        self.add_values(position.into_path(), key, kept, 1)?;
        Ok(true)
    }

    /// Returns the encoding of a single value in a leaf, if it is not the value itself.
    pub(super) fn encode_value(
        &mut self,
        key_len: usize,
        value: &[u8],
    ) -> Result<Option<LeafValues>> {
        if self.value_fits_in_leaf(key_len, value.len()) {
            return Ok(None);
        }
        let nested = self.build_nested([value].into_iter())?;
        Ok(Some(LeafValues::nested(&nested)))
    }

    /// Adds a value to those of the key at a position.
    fn add_value(&mut self, position: Position, key: &[u8], value: &[u8]) -> Result<bool> {
        let (number, index) = position.record().expect("the key was found");
        let damaged = |damage: PageDamage| damage.at(number, "insert");
        let leaf = visit_leaf(&*self.sink, number, "insert")?;
        let stored_key = self.stored_key(&leaf, index).map_err(damaged)?;
        let key = stored_key.as_deref().unwrap_or(key);
        let stored = leaf.node(index).map_err(damaged)?.value;
        let joined = self.combine(key.len(), stored, value).map_err(damaged)?;
        let kept = match joined {
            CombinedValues::There => return Ok(false),
            CombinedValues::Nested(nested) => return self.insert_nested(position, nested, value),
            CombinedValues::Set(bytes) => LeafValues {
                kind: ValueKind::Set,
                bytes,
            },
            CombinedValues::Large(bytes, value_index) => {
                let kind = stored.kind;
                let old = StoredValue {
                    kind,
                    bytes: &bytes,
                };
                self.build_nested_with(old, value_index, value, number)?
            }
        };
        let path = self.own_path(position.into_path())?;
        self.root.records += 1;
        self.replace_values(&path, key, kept.value(), 1)?;
        Ok(true)
    }

    fn combine(
        &self,
        key_len: usize,
        stored: StoredValue<'_>,
        value: &[u8],
    ) -> Result<CombinedValues, PageDamage> {
        let (order, size) = (self.root.value_order(), self.root.kind.value_size);
        let values = KeyValues::of(self.root, stored)?;
        let (value_index, count) = match values {
            KeyValues::Tree(nested) => return Ok(CombinedValues::Nested(nested)),
            KeyValues::One(old) => match order.stored_to(old, value) {
                Ordering::Equal => return Ok(CombinedValues::There),
                Ordering::Less => (1, 1),
                Ordering::Greater => (0, 1),
            },
            KeyValues::Set(set) => match set.search(order, value) {
                Ok(_) => return Ok(CombinedValues::There),
                Err(value_index) => (value_index, set.len()),
            },
        };
        let old_len = match count {
            1 => stored.bytes.len(),
            count => stored.bytes.len() - set::set_len(size, count, 0),
        };
        let len = set::set_len(size, count + 1, old_len + value.len());
        if !self.set_fits_in_leaf(key_len, len) {
            return Ok(CombinedValues::Large(stored.bytes.to_vec(), value_index));
        }
        let mut bytes = Vec::new();
        match (values, value_index) {
            (KeyValues::Set(set), value_index) => {
                set::write_with(&mut bytes, &set, value_index, value)
            }
            (_, 0) => set::write_pair(&mut bytes, size, value, stored.bytes),
            (_, _) => set::write_pair(&mut bytes, size, stored.bytes, value),
        }
        Ok(CombinedValues::Set(bytes))
    }

    /// Builds a nested tree of the values that a leaf holds and one more.
    fn build_nested_with(
        &mut self,
        old: StoredValue<'_>,
        value_index: usize,
        value: &[u8],
        leaf: PageNumber,
    ) -> Result<LeafValues> {
        let values = KeyValues::of(self.root, old).map_err(|damage| damage.at(leaf, "insert"))?;
        let nested = match values {
            KeyValues::Set(set) => {
                let (before, after) = (set.iter().take(value_index), set.iter().skip(value_index));
                self.build_nested(before.chain([value]).chain(after))?
            }
            _ => {
                let mut both = [old.bytes, value];
                if value_index == 0 {
                    both.swap(0, 1);
                }
                self.build_nested(both.into_iter())?
            }
        };
        Ok(LeafValues::nested(&nested))
    }

    /// Adds a value to the nested tree of the key at a position.
    fn insert_nested(
        &mut self,
        position: Position,
        mut nested: TreeRoot,
        value: &[u8],
    ) -> Result<bool> {
        let nothing = StoredValue::inline(&[]);
        let inserted = self.change_nested(&mut nested, |tree| {
            tree.insert(value, nothing, Existing::Keep)
        })?;
        if inserted == Inserted::Unchanged {
            return Ok(false);
        }
        self.write_back_grown(position.into_path(), &nested, 1)?;
        Ok(true)
    }

    /// Writes back the root of a nested tree that has grown by a number of values.
    pub(super) fn write_back_grown(
        &mut self,
        path: Vec<PathStep>,
        nested: &TreeRoot,
        added: u64,
    ) -> Result<()> {
        let path = self.own_path(path)?;
        self.root.records += added;
        self.mark_changed();
        self.write_nested_root(&path, nested, added as i64)
    }

    /// Adds many values to a key; returns how many of them are new. They ascend, and the tree must
    /// be able to hold them.
    pub(crate) fn insert_values(&mut self, key: &[u8], values: &[&[u8]]) -> Result<u64> {
        if values.is_empty() {
            return Ok(0);
        }
        if let [value] = values {
            return self.insert_pair(key, value).map(u64::from);
        }
        let mut position = Position::default();
        let is_there = !self.root.is_empty() && position.descend(&*self.sink, self.root, key)?;
        if !is_there {
            self.insert_key_with_values(position, key, values)?;
            return Ok(values.len() as u64);
        }
        let (number, index) = position.record().expect("the key was found");
        let damaged = |damage: PageDamage| damage.at(number, "insert");
        let leaf = visit_leaf(&*self.sink, number, "insert")?;
        let stored = leaf.node(index).map_err(damaged)?.value;
        let (kind, old) = (stored.kind, stored.bytes.to_vec());
        let stored_key = self.stored_key(&leaf, index).map_err(damaged)?;
        let key = stored_key.as_deref().unwrap_or(key);
        let stored = StoredValue { kind, bytes: &old };
        let merged = match KeyValues::of(self.root, stored).map_err(damaged)? {
            KeyValues::Tree(mut nested) => {
                let records: Vec<_> = values.iter().map(|value| (*value, [])).collect();
                let added = self.change_nested(&mut nested, |tree| tree.insert_many(&records))?;
                if added > 0 {
                    self.write_back_grown(position.into_path(), &nested, added)?;
                }
                return Ok(added);
            }
            KeyValues::One(old) => self.merged([old].into_iter(), values),
            KeyValues::Set(set) => self.merged(set.iter(), values),
        };
        let added = merged.len() as u64 - set::pair_count(stored).map_err(damaged)?;
        if added == 0 {
            return Ok(0);
        }
        let kept = self.encode_values(key.len(), merged.iter().copied())?;
        let path = self.own_path(position.into_path())?;
        self.root.records += added;
        self.replace_values(&path, key, kept.value(), added as i64)?;
        Ok(added)
    }

    /// Adds an absent key with its values. The position is where it belongs, unless the tree is
    /// empty.
    pub(super) fn insert_key_with_values(
        &mut self,
        position: Position,
        key: &[u8],
        values: &[&[u8]],
    ) -> Result<()> {
        let count = values.len() as u64;
        self.fix_value_size(values[0]);
        let kept = self.encode_values(key.len(), values.iter().copied())?;
        match self.root.is_empty() {
            true => self.create_root_leaf_from(key, kept.value(), count),
            false => self.add_values(position.into_path(), key, kept.value(), count),
        }
    }

    /// Merges the values that a leaf holds with new ones, without duplicates. Of equal ones the old
    /// one stays.
    fn merged<'v>(&self, old: impl Iterator<Item = &'v [u8]>, new: &[&'v [u8]]) -> Vec<&'v [u8]> {
        let order = self.root.value_order();
        let (mut old, mut new) = (old.peekable(), new.iter().copied().peekable());
        let mut merged = Vec::new();
        loop {
            let next = match (old.peek(), new.peek()) {
                (Some(a), Some(b)) => match order.stored_to(a, b) {
                    Ordering::Less => old.next(),
                    Ordering::Greater => new.next(),
                    Ordering::Equal => {
                        new.next();
                        old.next()
                    }
                },
                (Some(_), None) => old.next(),
                (None, _) => new.next(),
            };
            match next {
                Some(value) => merged.push(value),
                None => return merged,
            }
        }
    }
}
