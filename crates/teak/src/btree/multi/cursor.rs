//! The cursor over pairs of key and value: a cursor over keys, and a position among the values of
//! its key. This is an index if the values are in the leaf, and otherwise a cursor over the nested
//! tree. In a tree with one value per key, each record is a pair.
//!
//! Invariant: without a current pair, the cursor over keys has no current record. So the key, and a
//! value in the leaf, are read without asking whether there is a pair.

mod in_leaf;
mod packed;
mod seek;
mod state;
mod steps;

use super::KeyValues;
use crate::{
    Error, Result,
    btree::{
        PageSource, TreeRoot,
        cursor::TreeCursor,
        position::Direction,
        reading::{fault_in, unreadable},
    },
    error::{BoxedError, boxed},
    page::{PageDamage, set::Set, value::ValueKind},
};
use std::ops::Bound;

/// A position among the values of a key.
#[derive(Debug)]
pub(super) enum ValueCursor<'s, S: ?Sized> {
    /// The tree has one value per key; the cursor over keys says whether there is a record.
    Only,
    Nowhere,
    One(&'s [u8]),
    Set(Set<'s>, usize),
    Tree(Box<TreeCursor<'s, S>>),
}

impl<S: ?Sized> Clone for ValueCursor<'_, S> {
    fn clone(&self) -> Self {
        match self {
            Self::Only => Self::Only,
            Self::Nowhere => Self::Nowhere,
            Self::One(value) => Self::One(value),
            Self::Set(set, index) => Self::Set(*set, *index),
            Self::Tree(cursor) => Self::Tree(cursor.clone()),
        }
    }
}

/// The bound of a range of pairs: a pair, or all pairs of a key.
pub(crate) type PairBound<'p> = Bound<(&'p [u8], Option<&'p [u8]>)>;

/// A cursor over pairs, which borrows its source.
#[derive(Debug)]
pub(crate) struct PairCursor<'s, S: ?Sized> {
    outer: TreeCursor<'s, S>,
    inner: ValueCursor<'s, S>,
    /// The fault count before the values in the leaf were last read.
    fault_count: u64,
}

impl<S: ?Sized> Clone for PairCursor<'_, S> {
    fn clone(&self) -> Self {
        Self {
            outer: self.outer.clone(),
            inner: self.inner.clone(),
            fault_count: self.fault_count,
        }
    }
}

impl<'s, S: PageSource + ?Sized> PairCursor<'s, S> {
    /// Creates an unset cursor.
    pub(crate) fn new(source: &'s S, root: TreeRoot) -> Self {
        Self::over(TreeCursor::new(source, root))
    }

    /// Creates a cursor over the pairs of a cursor over keys. If keys have several values, it is
    /// not on a value yet.
    pub(crate) fn over(outer: TreeCursor<'s, S>) -> Self {
        let inner = match outer.root().is_multi() {
            true => ValueCursor::Nowhere,
            false => ValueCursor::Only,
        };
        Self {
            outer,
            inner,
            fault_count: 0,
        }
    }

    pub(super) fn into_parts(self) -> (TreeCursor<'s, S>, ValueCursor<'s, S>) {
        (self.outer, self.inner)
    }

    pub(crate) fn source(&self) -> &'s S {
        self.outer.source()
    }

    pub(crate) fn root(&self) -> &TreeRoot {
        self.outer.root()
    }

    /// Whether the cursor is on a pair.
    pub(crate) fn is_on_pair(&self) -> bool {
        match self.inner {
            ValueCursor::Only => self.outer.position().record().is_some(),
            ValueCursor::Nowhere => false,
            _ => true,
        }
    }

    /// Leaves the current pair. The cursor over keys stays.
    pub(super) fn leave_pair(&mut self) {
        if !matches!(self.inner, ValueCursor::Only) {
            self.inner = ValueCursor::Nowhere;
            self.outer.forget_record();
        }
    }

    /// Whether both are on the same pair, or both on none.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        let is_same_value = match (&self.inner, &other.inner) {
            (ValueCursor::Nowhere, ValueCursor::Nowhere) => return true,
            (ValueCursor::Only, ValueCursor::Only) | (ValueCursor::One(_), ValueCursor::One(_)) => {
                true
            }
            (ValueCursor::Set(_, a), ValueCursor::Set(_, b)) => a == b,
            (ValueCursor::Tree(a), ValueCursor::Tree(b)) => a.position().is_at(b.position()),
            _ => false,
        };
        is_same_value && self.outer.position().is_at(other.outer.position())
    }

    /// The key of the current pair; empty if there is none.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        debug_assert!(
            !matches!(self.inner, ValueCursor::Nowhere) || self.outer.key().is_empty(),
            "without a pair, there is no key"
        );
        self.outer.key()
    }

    /// The value of the current pair; empty if there is none. A value that is not in a leaf, which
    /// only trees with one value per key have, is left to [`Self::load_value`].
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        match &self.inner {
            ValueCursor::Only => self.outer.stored_value().bytes,
            ValueCursor::Nowhere => &[],
            ValueCursor::One(value) => value,
            ValueCursor::Set(set, index) => set.get(*index),
            ValueCursor::Tree(cursor) => cursor.key(),
        }
    }

    /// Returns the value of the current pair, wherever it is stored; empty if there is none.
    #[inline]
    pub(crate) fn load_value(&self) -> Result<&[u8]> {
        let stored = self.outer.stored_value();
        match stored.kind {
            ValueKind::Inline => Ok(stored.bytes),
            _ => self.load_other_value(),
        }
    }

    fn load_other_value(&self) -> Result<&[u8]> {
        match self.inner {
            ValueCursor::Only => self.outer.value(),
            _ => Ok(self.value()),
        }
    }

    /// Returns the value of the current pair as a slice of the file, if it is stored there in one
    /// piece.
    #[inline]
    pub(crate) fn value_in_page(&self) -> Result<Option<&'s [u8]>> {
        Ok(match &self.inner {
            ValueCursor::Only if self.is_on_pair() => Some(self.outer.value()?),
            ValueCursor::Only | ValueCursor::Nowhere => None,
            ValueCursor::One(value) => Some(value),
            ValueCursor::Set(set, index) => Some(set.get(*index)),
            ValueCursor::Tree(cursor) => cursor.key_in_page(),
        })
    }

    /// Applies `decode` to the current pair.
    #[inline(always)]
    pub(crate) fn decode<'c, R>(
        &'c self,
        decode: impl FnOnce(&'c [u8], &'c [u8]) -> Result<R, BoxedError>,
    ) -> Result<R, BoxedError> {
        let (faults, _) = self.outer.faults_before();
        let before = faults.count();
        let value = match self.load_value() {
            Ok(value) => value,
            Err(error) => return Err(self.outer.fault_or(before, boxed(error))),
        };
        match decode(self.key(), value) {
            Ok(decoded) if !faults.are_more_than(before) => Ok(decoded),
            Ok(_) => Err(self.outer.fault()),
            Err(error) => Err(self.outer.fault_or(before, error)),
        }
    }

    /// How many values the key has; 0 if the cursor is not on a pair.
    pub(crate) fn count(&self) -> u64 {
        match &self.inner {
            ValueCursor::Only => self.is_on_pair().into(),
            ValueCursor::Nowhere => 0,
            ValueCursor::One(_) => 1,
            ValueCursor::Set(set, _) => set.len() as u64,
            ValueCursor::Tree(cursor) => cursor.root().records,
        }
    }

    /// The root of the nested tree that holds the key's values.
    pub(crate) fn nested_root(&self) -> Option<&TreeRoot> {
        match &self.inner {
            ValueCursor::Tree(cursor) => Some(cursor.root()),
            _ => None,
        }
    }

    pub(crate) fn first(&mut self) -> Result<bool> {
        let moved = self.outer.first();
        self.arrive(moved, Direction::Forward)
    }

    pub(crate) fn last(&mut self) -> Result<bool> {
        let moved = self.outer.last();
        self.arrive(moved, Direction::Backward)
    }

    /// Moves to the next pair, of this key or the next.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<bool> {
        match self.inner {
            ValueCursor::Only => self.outer.next(),
            _ => self.next_of_several(),
        }
    }

    /// Like [`Self::next`], where keys can have several values.
    #[inline(never)]
    pub(crate) fn next_of_several(&mut self) -> Result<bool> {
        match self.next_in_current_leaf() {
            true => Ok(true),
            false => self.next_in_other_leaf(),
        }
    }

    /// Moves to the next pair if it is not in a cached leaf.
    fn next_in_other_leaf(&mut self) -> Result<bool> {
        match self.next_value_in_other_leaf()? {
            true => Ok(true),
            false => self.next_key(),
        }
    }

    /// Moves to the previous pair, of this key or the previous one.
    #[inline]
    pub(crate) fn prev(&mut self) -> Result<bool> {
        match self.inner {
            ValueCursor::Only if self.outer.prev_in_current_leaf(false) => Ok(true),
            ValueCursor::Only => self.outer.prev(),
            _ => self.prev_of_several(),
        }
    }

    /// Like [`Self::prev`], where keys can have several values.
    #[inline(never)]
    pub(crate) fn prev_of_several(&mut self) -> Result<bool> {
        match self.prev_in_current_leaf() {
            true => Ok(true),
            false => self.prev_in_other_leaf(),
        }
    }

    /// Moves to the previous pair if it is not in a cached leaf.
    fn prev_in_other_leaf(&mut self) -> Result<bool> {
        match self.prev_value_in_other_leaf()? {
            true => Ok(true),
            false => self.prev_key(),
        }
    }

    /// Moves to the first value of the next key.
    pub(crate) fn next_key(&mut self) -> Result<bool> {
        let moved = self.outer.next();
        self.arrive(moved, Direction::Forward)
    }

    /// Moves to the last value of the previous key.
    pub(crate) fn prev_key(&mut self) -> Result<bool> {
        let moved = self.outer.prev();
        self.arrive(moved, Direction::Backward)
    }

    /// Moves to the next value of the key; if there is none, it does not move.
    pub(crate) fn next_value(&mut self) -> Result<bool> {
        match self.next_value_in_leaf() {
            true => Ok(true),
            false => self.next_value_in_other_leaf(),
        }
    }

    /// Moves to the next value of the key if it is not in a cached leaf.
    fn next_value_in_other_leaf(&mut self) -> Result<bool> {
        match &mut self.inner {
            ValueCursor::Only | ValueCursor::Nowhere | ValueCursor::One(_) => Ok(false),
            ValueCursor::Set(set, index) => {
                let is_there = *index + 1 < set.len();
                *index += usize::from(is_there);
                self.check_readable().map(|()| is_there)
            }
            ValueCursor::Tree(cursor) => match cursor.next() {
                Ok(false) => cursor.last().map(|_| false),
                moved => moved,
            },
        }
    }

    /// Moves to the previous value of the key; if there is none, it does not move.
    pub(crate) fn prev_value(&mut self) -> Result<bool> {
        match self.prev_value_in_leaf() {
            true => Ok(true),
            false => self.prev_value_in_other_leaf(),
        }
    }

    /// Moves to the previous value of the key if it is not in a cached leaf.
    fn prev_value_in_other_leaf(&mut self) -> Result<bool> {
        match &mut self.inner {
            ValueCursor::Only | ValueCursor::Nowhere | ValueCursor::One(_) => Ok(false),
            ValueCursor::Set(_, index) => {
                let is_there = *index > 0;
                *index -= usize::from(is_there);
                self.check_readable().map(|()| is_there)
            }
            ValueCursor::Tree(cursor) => match cursor.prev() {
                Ok(false) => cursor.first().map(|_| false),
                moved => moved,
            },
        }
    }

    /// Moves to the first value of the key; `false` if the cursor is not on a pair.
    pub(crate) fn first_value(&mut self) -> Result<bool> {
        self.settle(Direction::Forward)
    }

    /// Moves to the last value of the key; `false` if the cursor is not on a pair.
    pub(crate) fn last_value(&mut self) -> Result<bool> {
        self.settle(Direction::Backward)
    }

    fn settle(&mut self, direction: Direction) -> Result<bool> {
        match self.is_on_pair() {
            true => self.enter(direction).map(|()| true),
            false => Ok(false),
        }
    }

    /// Enters the values of the key that a step in a direction led to.
    fn arrive(&mut self, moved: Result<bool>, direction: Direction) -> Result<bool> {
        if !matches!(moved, Ok(true)) {
            self.leave_pair();
            return moved;
        }
        self.enter(direction)?;
        self.outer.set_direction(direction);
        if let ValueCursor::Tree(cursor) = &self.inner {
            let passed = self.outer.pass_nested(cursor.root(), direction);
            passed.inspect_err(|_| self.leave_pair())?;
        }
        Ok(true)
    }

    /// Enters the values of the key that the cursor over keys is on, in a direction: at the first
    /// value going forwards, at the last going back.
    fn enter(&mut self, direction: Direction) -> Result<()> {
        if matches!(self.inner, ValueCursor::Only) {
            return Ok(());
        }
        let entered = self.values_from(direction);
        match entered {
            Ok(at) => self.set_value_cursor(at),
            Err(error) => {
                self.leave_pair();
                Err(error)
            }
        }
    }

    fn values_from(&mut self, direction: Direction) -> Result<ValueCursor<'s, S>> {
        Ok(match (self.values_here()?, direction) {
            (KeyValues::One(value), _) => ValueCursor::One(value),
            (KeyValues::Set(set), Direction::Forward) => ValueCursor::Set(set, 0),
            (KeyValues::Set(set), Direction::Backward) => ValueCursor::Set(set, set.len() - 1),
            (KeyValues::Tree(nested), _) => {
                let mut cursor = Box::new(TreeCursor::new(self.source(), nested));
                match direction {
                    Direction::Forward => cursor.first()?,
                    Direction::Backward => cursor.last()?,
                };
                ValueCursor::Tree(cursor)
            }
        })
    }

    /// Returns the values of the key that the cursor over keys is on, as its leaf holds them.
    pub(super) fn values_here(&mut self) -> Result<KeyValues<'s>> {
        let (faults, _) = self.outer.faults_before();
        let before = faults.count();
        let values = KeyValues::of(self.root(), self.outer.stored_value());
        if faults.are_more_than(before) {
            return Err(unreadable(faults, self.source().page_size()));
        }
        self.fault_count = before;
        values.map_err(|damage| self.damaged(damage))
    }

    /// Moves to one of the values of the key.
    pub(super) fn set_value_cursor(&mut self, at: ValueCursor<'s, S>) -> Result<()> {
        self.inner = at;
        self.check_readable()
    }

    /// Checks that the current value is readable, if the leaf of its key holds it.
    fn check_readable(&mut self) -> Result<()> {
        let (faults, _) = self.outer.faults_before();
        // Once more if there was a fault, which may have been elsewhere.
        for _ in 0..2 {
            let value = match &self.inner {
                ValueCursor::Only | ValueCursor::Nowhere | ValueCursor::Tree(_) => return Ok(()),
                ValueCursor::One(value) => value,
                ValueCursor::Set(set, index) => set.get(*index),
            };
            fault_in(value);
            if !faults.are_more_than(self.fault_count) {
                return Ok(());
            }
            self.fault_count = faults.count();
        }
        self.leave_pair();
        Err(unreadable(faults, self.source().page_size()))
    }

    #[cold]
    pub(super) fn damaged(&self, damage: PageDamage) -> Error {
        let record = self.outer.position().record();
        let page = record.map_or(self.root().page, |(page, _)| page);
        damage.at(page, "scan")
    }
}
