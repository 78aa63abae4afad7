//! The pairs in which two multi-value trees differ, in their order.
//!
//! The walk along the outer trees finds the keys that differ. If the values of a key are nested
//! trees in both states, a walk of the same kind goes along these, and passes shared pages unread.
//! Otherwise all values of the key are compared.

use super::{
    cursor::{PairBound, PairCursor},
    range_parts::{OwnedPairBound, as_slices, contains, to_owned, touched_keys},
};
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
    /// The current difference: a pair that was inserted or removed.
    found: Option<ChangeKind>,
    bounds: (OwnedPairBound, OwnedPairBound),
}

/// How the values of a key are compared.
#[derive(Debug)]
enum ValuesComparison<'s, S: ?Sized> {
    Nothing,
    /// Nested trees.
    Trees(Box<DifferenceWalk<'s, S>>),
    /// The next older and the next newer value, if there is one.
    Merged(Box<[Option<PairCursor<'s, S>>; 2]>),
}

impl<'s, S: PageSource + ?Sized> PairDifferenceWalk<'s, S> {
    /// Creates a walk that begins before the first difference in a range.
    pub(crate) fn new(
        older: (&'s S, TreeRoot),
        newer: (&'s S, TreeRoot),
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Self {
        Self {
            outer: DifferenceWalk::new(older, newer, touched_keys(low), touched_keys(high)),
            trees: [older, newer],
            key: Vec::new(),
            values: ValuesComparison::Nothing,
            found: None,
            bounds: (to_owned(low), to_owned(high)),
        }
    }

    /// Moves to the next difference; its kind is [`ChangeKind::Inserted`] or
    /// [`ChangeKind::Removed`].
    pub(crate) fn next(&mut self) -> Result<Option<ChangeKind>> {
        let [(older, _), (newer, _)] = self.trees;
        loop {
            let found = self.next_of_keys()?;
            let is_in_range = || Ok(self.is_in_range());
            if found.is_none() || !self.is_cut() || reading(older, || reading(newer, is_in_range))?
            {
                return Ok(found);
            }
        }
    }

    /// Whether a bound is among the values of the current key. The walk along the keys passes those
    /// that have no values in the range.
    fn is_cut(&self) -> bool {
        let root = &self.trees[0].1;
        [&self.bounds.0, &self.bounds.1]
            .iter()
            .any(|bound| match bound {
                Bound::Included((key, Some(_))) | Bound::Excluded((key, Some(_))) => {
                    root.order.stored_to(&self.key, key).is_eq()
                }
                _ => false,
            })
    }

    /// Whether the current pair is in the range.
    fn is_in_range(&self) -> bool {
        let bounds = (as_slices(&self.bounds.0), as_slices(&self.bounds.1));
        contains(&self.trees[0].1, bounds, self.pair())
    }

    /// Moves to the next difference of a key that may have values in the range.
    fn next_of_keys(&mut self) -> Result<Option<ChangeKind>> {
        let mut before = self.found.take();
        let [(older, root), (newer, _)] = self.trees;
        let order = root.value_order();
        self.found = loop {
            let found = match &mut self.values {
                ValuesComparison::Nothing => None,
                ValuesComparison::Trees(walk) => match (before.take(), walk.found()) {
                    // The new bytes of a pair whose old bytes were reported as removed.
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

    /// The current pair.
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

    /// The tree that an error most likely concerns.
    pub(crate) fn tree_at_fault(&self) -> (&'s S, &TreeRoot) {
        self.outer.tree_at_fault()
    }

    /// Looks up the values of the current key, which differ.
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

/// Passes the previous difference, and moves to the next value that only one side has.
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
                // Values that an order of the application treats as equal may differ in their
                // bytes.
                Ordering::Equal if a.value() == b.value() => {
                    pass(old)?;
                    pass(new)?;
                }
                _ => return Ok(Some(ChangeKind::Removed)),
            },
        }
    }
}

/// Moves to the next value of the key, or to none.
fn pass<S: PageSource + ?Sized>(side: &mut Option<PairCursor<'_, S>>) -> Result<()> {
    if let Some(cursor) = side
        && !cursor.next_value()?
    {
        *side = None;
    }
    Ok(())
}
