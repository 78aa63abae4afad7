//! The pairs in which two trees differ whose keys have several values, in their order.
//!
//! The walk along the trees around the values finds the keys that differ. Of a key whose values are nested trees in both states
//! the same walk goes along these, and passes what they share unread; else all values of the key are compared.

use super::cursor::PairCursor;
use crate::{
    Result,
    page::key::KeyOrder,
    tree::{
        PageSource, TreeRoot,
        differences::{Differences, Kind},
        reading::reading,
    },
};
use std::{cmp::Ordering, ops::Bound};

/// A walk along two trees of the same orders.
#[derive(Debug)]
pub(crate) struct PairDifferences<'s, S: ?Sized> {
    outer: Differences<'s, S>,
    trees: [(&'s S, TreeRoot); 2],
    /// The key whose values are compared.
    key: Vec<u8>,
    values: Values<'s, S>,
    /// What the walk stands on: a pair that was inserted, or removed.
    found: Option<Kind>,
}

/// What is compared of the values of a key.
#[derive(Debug)]
enum Values<'s, S: ?Sized> {
    Nothing,
    /// Nested trees.
    Trees(Box<Differences<'s, S>>),
    /// What comes next of the older values and of the newer ones, if there is something.
    Merged(Box<[Option<PairCursor<'s, S>>; 2]>),
}

impl<'s, S: PageSource + ?Sized> PairDifferences<'s, S> {
    /// Begins before the first difference.
    pub(crate) fn new(older: (&'s S, TreeRoot), newer: (&'s S, TreeRoot)) -> Self {
        Self {
            outer: Differences::new(older, newer, Bound::Unbounded, Bound::Unbounded),
            trees: [older, newer],
            key: Vec::new(),
            values: Values::Nothing,
            found: None,
        }
    }

    /// Goes to the next difference; it is of kind [`Kind::Inserted`] or [`Kind::Removed`].
    pub(crate) fn next(&mut self) -> Result<Option<Kind>> {
        let mut before = self.found.take();
        let [(older, root), (newer, _)] = self.trees;
        let order = root.value_order();
        self.found = loop {
            let found = match &mut self.values {
                Values::Nothing => None,
                Values::Trees(walk) => match (before.take(), walk.found()) {
                    // The bytes that came for those that were told as removed.
                    (Some(Kind::Removed), Some(Kind::Changed)) => Some(Kind::Inserted),
                    _ => match walk.next()? {
                        Some(Kind::Changed) => Some(Kind::Removed),
                        found => found,
                    },
                },
                Values::Merged(sides) => reading(older, || {
                    reading(newer, || merge(sides, before.take(), order))
                })?,
            };
            if found.is_some() {
                break found;
            }
            self.values = Values::Nothing;
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
            Values::Nothing => &[],
            Values::Trees(walk) if self.found == Some(Kind::Removed) => walk.old_key(),
            Values::Trees(walk) => walk.key(),
            Values::Merged(sides) => {
                let side = &sides[usize::from(self.found == Some(Kind::Inserted))];
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
    fn values_of(&self, kind: Kind) -> Result<Values<'s, S>> {
        let side = |index: usize, is_there: bool| -> Result<_> {
            let (source, root) = self.trees[index];
            let mut cursor = PairCursor::new(source, root);
            let is_found = is_there && cursor.seek_key(&self.key)? == Some(true);
            Ok(is_found.then_some(cursor))
        };
        let sides = [
            side(0, kind != Kind::Inserted)?,
            side(1, kind != Kind::Removed)?,
        ];
        let nested = |side: &Option<PairCursor<'_, S>>| side.as_ref()?.nested_root().copied();
        Ok(match (nested(&sides[0]), nested(&sides[1])) {
            (Some(old), Some(new)) => {
                let (old, new) = ((self.trees[0].0, old), (self.trees[1].0, new));
                let walk = Differences::of_keys(old, new);
                Values::Trees(Box::new(walk))
            }
            _ => Values::Merged(Box::new(sides)),
        })
    }
}

/// Passes what was found before, and goes to the next value that only one side has.
fn merge<S: PageSource + ?Sized>(
    sides: &mut [Option<PairCursor<'_, S>>; 2],
    before: Option<Kind>,
    order: KeyOrder,
) -> Result<Option<Kind>> {
    match before {
        Some(Kind::Removed) => pass(&mut sides[0])?,
        Some(_) => pass(&mut sides[1])?,
        None => {}
    }
    loop {
        let [old, new] = sides;
        match (&*old, &*new) {
            (None, None) => return Ok(None),
            (Some(_), None) => return Ok(Some(Kind::Removed)),
            (None, Some(_)) => return Ok(Some(Kind::Inserted)),
            (Some(a), Some(b)) => match order.compare(a.value(), b.value()) {
                Ordering::Greater => return Ok(Some(Kind::Inserted)),
                // What an order of the application's takes for equal may have other bytes.
                Ordering::Equal if a.value() == b.value() => {
                    pass(old)?;
                    pass(new)?;
                }
                _ => return Ok(Some(Kind::Removed)),
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
