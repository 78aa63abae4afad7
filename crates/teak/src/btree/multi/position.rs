//! Positions among pairs, without references: the state of a [`PairCursor`] while its source is not
//! borrowed.

use super::{
    KeyValues,
    cursor::{PairCursor, ValueCursor},
};
use crate::{
    Result,
    btree::{
        PageSource, TreeRoot,
        cursor::{TreeCursor, parked::ParkedCursor, record_at},
        position::Direction,
        visit_leaf,
    },
    page::PageDamage,
};
use std::borrow::Cow;

/// The position of a cursor over pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairPosition {
    outer: ParkedCursor,
    inner: ValuePosition,
}

/// The position among the values of a key.
#[derive(Clone, Debug, Default)]
enum ValuePosition {
    #[default]
    Nowhere,
    /// At an index among values that are in the leaf of their key.
    Leaf {
        index: usize,
        count: usize,
    },
    Tree(Box<(TreeRoot, ParkedCursor)>),
}

impl PairPosition {
    /// How many values the key has; 0 if it is not on a pair.
    pub(crate) fn count(&self) -> u64 {
        match &self.inner {
            ValuePosition::Nowhere => 0,
            ValuePosition::Leaf { count, .. } => *count as u64,
            ValuePosition::Tree(tree) => tree.0.records,
        }
    }

    /// Whether it is on the first value of its key.
    pub(crate) fn is_first_value(&self) -> bool {
        match &self.inner {
            ValuePosition::Nowhere => false,
            ValuePosition::Leaf { index, .. } => *index == 0,
            ValuePosition::Tree(tree) => tree.1.position().is_first(),
        }
    }

    /// Whether it is on the last value of its key.
    pub(crate) fn is_last_value(&self) -> bool {
        match &self.inner {
            ValuePosition::Nowhere => false,
            ValuePosition::Leaf { index, count } => index + 1 == *count,
            ValuePosition::Tree(tree) => tree.1.position().is_last(),
        }
    }

    /// Whether it is on the first pair of the tree.
    pub(crate) fn is_first(&self) -> bool {
        self.outer.position().is_first() && self.is_first_value()
    }

    /// Whether it is on the last pair of the tree.
    pub(crate) fn is_last(&self) -> bool {
        self.outer.position().is_last() && self.is_last_value()
    }

    /// Moves to the neighbouring value of the same key, if it is in the same leaf.
    pub(crate) fn step_in_leaf(&mut self, direction: Direction) -> bool {
        match (&mut self.inner, direction) {
            (ValuePosition::Leaf { index, count }, Direction::Forward) if *index + 1 < *count => {
                *index += 1
            }
            (ValuePosition::Leaf { index, .. }, Direction::Backward) if *index > 0 => *index -= 1,
            (ValuePosition::Tree(tree), _) => return tree.1.position_mut().step_in_leaf(direction),
            (ValuePosition::Nowhere | ValuePosition::Leaf { .. }, _) => return false,
        }
        true
    }

    /// Moves from a key that has one value to the neighbouring key, if that is in the same leaf.
    /// Whether that has one value too is checked later, by [`PairPosition::read_only_pair`].
    pub(crate) fn step_to_key(&mut self, direction: Direction) -> bool {
        matches!(self.inner, ValuePosition::Leaf { index: 0, count: 1 })
            && self.outer.position_mut().step_in_leaf(direction)
    }

    /// Reads the current pair into `key` and `value`; returns `false` if the key has several
    /// values.
    pub(crate) fn read_only_pair<S: PageSource + ?Sized>(
        &self,
        source: &S,
        root: &TreeRoot,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some((number, stored)) = record_at(source, self.outer.position(), key)? else {
            return Ok(false);
        };
        match KeyValues::of(root, stored).map_err(|damage| damage.at(number, "scan"))? {
            KeyValues::One(only) => {
                value.clear();
                value.extend_from_slice(only);
                Ok(true)
            }
            KeyValues::Set(_) | KeyValues::Tree(_) => Ok(false),
        }
    }

    /// Reads the value of the current pair into `out`; returns `false` if there is none.
    pub(crate) fn read_value<S: PageSource + ?Sized>(
        &self,
        source: &S,
        root: &TreeRoot,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        if let ValuePosition::Tree(tree) = &self.inner {
            return Ok(record_at(source, tree.1.position(), out)?.is_some());
        }
        let value = self.value(source, root)?;
        if let Some(value) = &value {
            out.clear();
            out.extend_from_slice(value);
        }
        Ok(value.is_some())
    }

    /// Returns the value of the current pair, in a tree with this root.
    pub(crate) fn value<'s, S: PageSource + ?Sized>(
        &self,
        source: &'s S,
        root: &TreeRoot,
    ) -> Result<Option<Cow<'s, [u8]>>> {
        let (parked, index) = match &self.inner {
            ValuePosition::Nowhere => return Ok(None),
            ValuePosition::Leaf { index, .. } => (&self.outer, Some(*index)),
            ValuePosition::Tree(tree) => (&tree.1, None),
        };
        let Some((number, slot)) = parked.position().record() else {
            return Ok(None);
        };
        let damaged = |damage: PageDamage| damage.at(number, "lookup");
        let leaf = visit_leaf(source, number, "lookup")?;
        let node = leaf.node(slot).map_err(damaged)?;
        let Some(index) = index else {
            return match leaf.has_whole_keys() {
                true => Ok(Some(node.stored_key.into())),
                false => leaf
                    .key(slot)
                    .map(|value| Some(value.into()))
                    .map_err(damaged),
            };
        };
        match KeyValues::of(root, node.value).map_err(damaged)? {
            KeyValues::One(value) => Ok(Some(value.into())),
            KeyValues::Set(set) if index < set.len() => Ok(Some(set.get(index).into())),
            KeyValues::Set(_) | KeyValues::Tree(_) => Err(damaged(ELSEWHERE)),
        }
    }
}

/// The position belongs to another state.
const ELSEWHERE: PageDamage = PageDamage("the values of a key are not where they were read");

impl<'s, S: PageSource + ?Sized> PairCursor<'s, S> {
    /// Resumes a parked cursor, in the same state of the tree.
    pub(crate) fn resume(
        source: &'s S,
        root: TreeRoot,
        pair_position: PairPosition,
    ) -> Result<Self> {
        let outer = TreeCursor::resume(source, root, pair_position.outer)?;
        let mut cursor = Self::over(outer);
        match pair_position.inner {
            ValuePosition::Nowhere => {
                cursor.leave_pair();
                Ok(cursor)
            }
            ValuePosition::Leaf { index, .. } => {
                let at = match cursor.values_here()? {
                    KeyValues::One(value) => ValueCursor::One(value),
                    KeyValues::Set(set) if index < set.len() => ValueCursor::Set(set, index),
                    KeyValues::Set(_) | KeyValues::Tree(_) => return Err(cursor.damaged(ELSEWHERE)),
                };
                cursor.set_value_cursor(at).map(|()| cursor)
            }
            ValuePosition::Tree(tree) => {
                let (nested, parked) = *tree;
                let at = ValueCursor::Tree(Box::new(TreeCursor::resume(source, nested, parked)?));
                cursor.set_value_cursor(at).map(|()| cursor)
            }
        }
    }

    pub(crate) fn park(self) -> PairPosition {
        let (outer, inner) = self.into_parts();
        let inner = match inner {
            ValueCursor::Only | ValueCursor::Nowhere => ValuePosition::Nowhere,
            ValueCursor::One(_) => ValuePosition::Leaf { index: 0, count: 1 },
            ValueCursor::Set(set, index) => {
                let count = set.len();
                ValuePosition::Leaf { index, count }
            }
            ValueCursor::Tree(cursor) => {
                ValuePosition::Tree(Box::new((*cursor.root(), cursor.park())))
            }
        };
        let outer = outer.park();
        PairPosition { outer, inner }
    }
}
