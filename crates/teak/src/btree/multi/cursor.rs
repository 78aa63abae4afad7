//! The cursor over pairs of key and value: a cursor over keys, and a position among the values of
//! its key. This is an index if the values are in the leaf, and otherwise a cursor over the nested
//! tree.

mod in_leaf;
mod packed;
mod state;

use super::KeyValues;
use crate::{
    Error, Result,
    btree::{
        PageSource, TreeRoot,
        cursor::TreeCursor,
        position::StepDirection,
        reading::{fault_in, reading_from, unreadable},
    },
    page::{PageDamage, set::Set},
};
use std::ops::Bound;

/// A position among the values of a key.
#[derive(Debug)]
pub(super) enum ValueCursor<'s, S: ?Sized> {
    Nowhere,
    One(&'s [u8]),
    Set(Set<'s>, usize),
    Tree(Box<TreeCursor<'s, S>>),
}

impl<S: ?Sized> Clone for ValueCursor<'_, S> {
    fn clone(&self) -> Self {
        match self {
            Self::Nowhere => Self::Nowhere,
            Self::One(value) => Self::One(value),
            Self::Set(set, index) => Self::Set(*set, *index),
            Self::Tree(cursor) => Self::Tree(cursor.clone()),
        }
    }
}

/// An end of the values of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstOrLast {
    First,
    Last,
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

    /// Creates a cursor that is not on a value yet.
    pub(super) fn over(outer: TreeCursor<'s, S>) -> Self {
        Self {
            outer,
            inner: ValueCursor::Nowhere,
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
        !matches!(self.inner, ValueCursor::Nowhere)
    }

    /// Whether both are on the same pair, or both on none.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        let is_same_value = match (&self.inner, &other.inner) {
            (ValueCursor::Nowhere, ValueCursor::Nowhere) => return true,
            (ValueCursor::One(_), ValueCursor::One(_)) => true,
            (ValueCursor::Set(_, a), ValueCursor::Set(_, b)) => a == b,
            (ValueCursor::Tree(a), ValueCursor::Tree(b)) => a.position().is_at(b.position()),
            _ => false,
        };
        is_same_value && self.outer.position().is_at(other.outer.position())
    }

    /// The key of the current pair; empty if there is none.
    pub(crate) fn key(&self) -> &[u8] {
        match self.inner {
            ValueCursor::Nowhere => &[],
            _ => self.outer.key(),
        }
    }

    /// The value of the current pair; empty if there is none.
    pub(crate) fn value(&self) -> &[u8] {
        match &self.inner {
            ValueCursor::Nowhere => &[],
            ValueCursor::One(value) => value,
            ValueCursor::Set(set, index) => set.get(*index),
            ValueCursor::Tree(cursor) => cursor.key(),
        }
    }

    /// The value of the current pair as a slice of its page, if it is stored there in one piece.
    pub(crate) fn value_in_page(&self) -> Option<&'s [u8]> {
        match &self.inner {
            ValueCursor::Nowhere => None,
            ValueCursor::One(value) => Some(value),
            ValueCursor::Set(set, index) => Some(set.get(*index)),
            ValueCursor::Tree(cursor) => cursor.key_in_page(),
        }
    }

    /// Applies `decode` to the current pair.
    pub(crate) fn decode<R>(&self, decode: impl FnOnce(&[u8], &[u8]) -> Result<R>) -> Result<R> {
        let (faults, _) = self.outer.faults_before();
        let before = faults.count();
        let decoded = decode(self.key(), self.value());
        match faults.are_more_than(before) {
            false => decoded,
            true => Err(unreadable(faults, self.source().page_size())),
        }
    }

    /// How many values the key has; 0 if the cursor is not on a pair.
    pub(crate) fn count(&self) -> u64 {
        match &self.inner {
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
        self.arrive(moved, FirstOrLast::First)
    }

    pub(crate) fn last(&mut self) -> Result<bool> {
        let moved = self.outer.last();
        self.arrive(moved, FirstOrLast::Last)
    }

    /// Moves to the next pair, of this key or the next.
    pub(crate) fn next(&mut self) -> Result<bool> {
        match self.next_in_current_leaf() {
            true => Ok(true),
            false => self.next_in_other_leaf(),
        }
    }

    /// Moves to the next pair if it is not in a cached leaf.
    pub(crate) fn next_in_other_leaf(&mut self) -> Result<bool> {
        match self.next_value_in_other_leaf()? {
            true => Ok(true),
            false => self.next_key(),
        }
    }

    /// Moves to the previous pair, of this key or the previous one.
    pub(crate) fn prev(&mut self) -> Result<bool> {
        match self.prev_in_current_leaf() {
            true => Ok(true),
            false => self.prev_in_other_leaf(),
        }
    }

    /// Moves to the previous pair if it is not in a cached leaf.
    pub(crate) fn prev_in_other_leaf(&mut self) -> Result<bool> {
        match self.prev_value_in_other_leaf()? {
            true => Ok(true),
            false => self.prev_key(),
        }
    }

    /// Moves to the first value of the next key.
    pub(crate) fn next_key(&mut self) -> Result<bool> {
        let moved = self.outer.next();
        self.arrive(moved, FirstOrLast::First)
    }

    /// Moves to the last value of the previous key.
    pub(crate) fn prev_key(&mut self) -> Result<bool> {
        let moved = self.outer.prev();
        self.arrive(moved, FirstOrLast::Last)
    }

    /// Moves to the next value of the key; if there is none, it does not move.
    pub(crate) fn next_value(&mut self) -> Result<bool> {
        match self.next_value_in_leaf() {
            true => Ok(true),
            false => self.next_value_in_other_leaf(),
        }
    }

    /// Moves to the next value of the key if it is not in a cached leaf.
    pub(crate) fn next_value_in_other_leaf(&mut self) -> Result<bool> {
        match &mut self.inner {
            ValueCursor::Nowhere | ValueCursor::One(_) => Ok(false),
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
    pub(crate) fn prev_value_in_other_leaf(&mut self) -> Result<bool> {
        match &mut self.inner {
            ValueCursor::Nowhere | ValueCursor::One(_) => Ok(false),
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
        self.settle(FirstOrLast::First)
    }

    /// Moves to the last value of the key; `false` if the cursor is not on a pair.
    pub(crate) fn last_value(&mut self) -> Result<bool> {
        self.settle(FirstOrLast::Last)
    }

    fn settle(&mut self, end: FirstOrLast) -> Result<bool> {
        match self.is_on_pair() {
            true => self.enter(end).map(|()| true),
            false => Ok(false),
        }
    }

    /// Moves to the first value of the first key that is not smaller; `Some(true)` if it is equal,
    /// `None` if there is none.
    pub(crate) fn seek_key(&mut self, key: &[u8]) -> Result<Option<bool>> {
        self.inner = ValueCursor::Nowhere;
        let found = self.outer.seek(key)?;
        if found.is_some() {
            self.enter(FirstOrLast::First)?;
        }
        Ok(found)
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

    /// Moves to the first value of exactly this key that is not smaller; `Some(true)` if it is
    /// equal. If there is none, returns `None` and is on no pair.
    pub(crate) fn seek_value(&mut self, key: &[u8], value: &[u8]) -> Result<Option<bool>> {
        let found = match self.seek_key(key)? {
            Some(true) => self.seek_among(value)?,
            _ => None,
        };
        if found.is_none() {
            self.inner = ValueCursor::Nowhere;
        }
        Ok(found)
    }

    /// Moves to the first value of the key that is not smaller. If there is none, returns `None`;
    /// the position among the values is unspecified then.
    pub(super) fn seek_among(&mut self, value: &[u8]) -> Result<Option<bool>> {
        let order = self.root().value_order();
        let (faults, page_size) = (self.source().faults(), self.source().page_size());
        match &mut self.inner {
            ValueCursor::Nowhere => Ok(None),
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
                self.inner = ValueCursor::Nowhere;
                self.outer.seek_end(Bound::Unbounded)
            }
            Bound::Included(pair) => self.seek_bound(Bound::Excluded(pair)),
            Bound::Excluded(pair) => self.seek_bound(Bound::Included(pair)),
        }
    }

    /// Enters the values of the key that a step led to.
    fn arrive(&mut self, moved: Result<bool>, end: FirstOrLast) -> Result<bool> {
        self.inner = ValueCursor::Nowhere;
        let is_there = moved?;
        if is_there {
            self.enter(end)?;
            let direction = match end {
                FirstOrLast::First => StepDirection::Forward,
                FirstOrLast::Last => StepDirection::Backward,
            };
            self.outer.set_direction(direction);
            if let ValueCursor::Tree(cursor) = &self.inner {
                let passed = self.outer.pass_nested(cursor.root(), direction);
                passed.inspect_err(|_| self.inner = ValueCursor::Nowhere)?;
            }
        }
        Ok(is_there)
    }

    /// Enters the values of the key at one end.
    fn enter(&mut self, end: FirstOrLast) -> Result<()> {
        let at = match self.values_here()? {
            KeyValues::One(value) => ValueCursor::One(value),
            KeyValues::Set(set) => {
                let last = set.len() - 1;
                ValueCursor::Set(set, if end == FirstOrLast::First { 0 } else { last })
            }
            KeyValues::Tree(nested) => {
                let mut cursor = Box::new(TreeCursor::new(self.source(), nested));
                match end {
                    FirstOrLast::First => cursor.first()?,
                    FirstOrLast::Last => cursor.last()?,
                };
                ValueCursor::Tree(cursor)
            }
        };
        self.set_value_cursor(at)
    }

    /// Returns the values of the current key, as its leaf holds them. The cursor is on none of them
    /// then.
    pub(super) fn values_here(&mut self) -> Result<KeyValues<'s>> {
        self.inner = ValueCursor::Nowhere;
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
                ValueCursor::Nowhere | ValueCursor::Tree(_) => return Ok(()),
                ValueCursor::One(value) => value,
                ValueCursor::Set(set, index) => set.get(*index),
            };
            fault_in(value);
            if !faults.are_more_than(self.fault_count) {
                return Ok(());
            }
            self.fault_count = faults.count();
        }
        self.inner = ValueCursor::Nowhere;
        Err(unreadable(faults, self.source().page_size()))
    }

    #[cold]
    pub(super) fn damaged(&self, damage: PageDamage) -> Error {
        let record = self.outer.position().record();
        let page = record.map_or(self.root().page, |(page, _)| page);
        damage.at(page, "scan")
    }
}
