//! The pairs in which two trees differ whose keys have several values, in their order.
//!
//! The walk along the trees around the values finds the keys that differ. Of a key whose values are nested trees in both states
//! the same walk goes along these, and passes what they share unread; else all values of the key are compared.

use super::cursor::PairCursor;
use crate::{
    Result,
    btree::{
        PageSource, TreeRoot,
        differences::{ChangeKind, DifferenceWalk},
        reading::reading,
    },
    page::key::KeyOrder,
};
use std::{cmp::Ordering, ops::Bound};

/// A walk along two trees of the same orders.
#[derive(Debug)]
pub(crate) struct PairDifferenceWalk<'s, S: ?Sized> {
    outer: DifferenceWalk<'s, S>,
    trees: [(&'s S, TreeRoot); 2],
    /// The key whose values are compared.
    key: Vec<u8>,
    values: ValuesComparison<'s, S>,
    /// What the walk stands on: a pair that was inserted, or removed.
    found: Option<ChangeKind>,
}

/// What is compared of the values of a key.
#[derive(Debug)]
enum ValuesComparison<'s, S: ?Sized> {
    Nothing,
    /// Nested trees.
    Trees(Box<DifferenceWalk<'s, S>>),
    /// What comes next of the older values and of the newer ones, if there is something.
    Merged(Box<[Option<PairCursor<'s, S>>; 2]>),
}

impl<'s, S: PageSource + ?Sized> PairDifferenceWalk<'s, S> {
    /// Begins before the first difference.
    pub(crate) fn new(older: (&'s S, TreeRoot), newer: (&'s S, TreeRoot)) -> Self {
        Self {
            outer: DifferenceWalk::new(older, newer, Bound::Unbounded, Bound::Unbounded),
            trees: [older, newer],
            key: Vec::new(),
            values: ValuesComparison::Nothing,
            found: None,
        }
    }

    /// Goes to the next difference; it is of kind [`ChangeKind::Inserted`] or [`ChangeKind::Removed`].
    pub(crate) fn next(&mut self) -> Result<Option<ChangeKind>> {
        let mut before = self.found.take();
        let [(older, root), (newer, _)] = self.trees;
        let order = root.value_order();
        self.found = loop {
            let found = match &mut self.values {
                ValuesComparison::Nothing => None,
                ValuesComparison::Trees(walk) => match (before.take(), walk.found()) {
                    // The bytes that came for those that were told as removed.
                    (Some(ChangeKind::Removed), Some(ChangeKind::Changed)) => {
                        Some(ChangeKind::Inserted)
                    }
                    _ => match walk.next()? {
                        Some(ChangeKind::Changed) => Some(ChangeKind::Removed),
                        found => found,
                    },
                },
                ValuesComparison::Merged(sides) => reading(older, || {
                    reading(newer, || merge(sides, before.take(), order))
                })?,
            };
            if found.is_some() {
                break found;
            }
            self.values = ValuesComparison::Nothing;
            let Some(kind) = self.outer.next()? else {
                break None;
            };
            before = None;
            self.key.clear();
            self.key.extend_from_slice(self.outer.key());
            self.values = reading(older, || reading(newer, || self.values_of(kind)))?;
        };
        Ok(self.found)
    }

    /// The pair that the walk stands on.
    pub(crate) fn pair(&self) -> (&[u8], &[u8]) {
        let value = match &self.values {
            ValuesComparison::Nothing => &[],
            ValuesComparison::Trees(walk) if self.found == Some(ChangeKind::Removed) => {
                walk.old_key()
            }
            ValuesComparison::Trees(walk) => walk.key(),
            ValuesComparison::Merged(sides) => {
                let side = &sides[usize::from(self.found == Some(ChangeKind::Inserted))];
                side.as_ref().map_or(&[][..], PairCursor::value)
            }
        };
        (&self.key, value)
    }

    /// The tree that an error most likely is of.
    pub(crate) fn tree_at_fault(&self) -> (&'s S, &TreeRoot) {
        self.outer.tree_at_fault()
    }

    /// Looks up the values of the key at hand, which differ.
    fn values_of(&self, kind: ChangeKind) -> Result<ValuesComparison<'s, S>> {
        let side = |index: usize, is_there: bool| -> Result<_> {
            let (source, root) = self.trees[index];
            let mut cursor = PairCursor::new(source, root);
            let is_found = is_there && cursor.seek_key(&self.key)? == Some(true);
            Ok(is_found.then_some(cursor))
        };
        let sides = [
            side(0, kind != ChangeKind::Inserted)?,
            side(1, kind != ChangeKind::Removed)?,
        ];
        let nested = |side: &Option<PairCursor<'_, S>>| side.as_ref()?.nested_root().copied();
        Ok(match (nested(&sides[0]), nested(&sides[1])) {
            (Some(old), Some(new)) => {
                let (old, new) = ((self.trees[0].0, old), (self.trees[1].0, new));
                let walk = DifferenceWalk::of_keys(old, new);
                ValuesComparison::Trees(Box::new(walk))
            }
            _ => ValuesComparison::Merged(Box::new(sides)),
        })
    }
}

/// Passes what was found before, and goes to the next value that only one side has.
fn merge<S: PageSource + ?Sized>(
    sides: &mut [Option<PairCursor<'_, S>>; 2],
    before: Option<ChangeKind>,
    order: KeyOrder,
) -> Result<Option<ChangeKind>> {
    match before {
        Some(ChangeKind::Removed) => pass(&mut sides[0])?,
        Some(_) => pass(&mut sides[1])?,
        None => {}
    }
    loop {
        let [old, new] = sides;
        match (&*old, &*new) {
            (None, None) => return Ok(None),
            (Some(_), None) => return Ok(Some(ChangeKind::Removed)),
            (None, Some(_)) => return Ok(Some(ChangeKind::Inserted)),
            (Some(a), Some(b)) => match order.compare(a.value(), b.value()) {
                Ordering::Greater => return Ok(Some(ChangeKind::Inserted)),
                // What an order of the application's takes for equal may have other bytes.
                Ordering::Equal if a.value() == b.value() => {
                    pass(old)?;
                    pass(new)?;
                }
                _ => return Ok(Some(ChangeKind::Removed)),
            },
        }
    }
}

/// Goes to the next value of the key, or to none.
fn pass<S: PageSource + ?Sized>(side: &mut Option<PairCursor<'_, S>>) -> Result<()> {
    if let Some(cursor) = side
        && !cursor.next_value()?
    {
        *side = None;
    }
    Ok(())
}
