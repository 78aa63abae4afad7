//! The records in which two trees differ, in key order, found without reading the pages that the
//! trees share.
//!
//! The trees are two states of one table, and both are held. A page that both lead to is therefore
//! unchanged: pages that a held state sees are neither changed nor reused. So a walk advances along
//! both trees together. If a page comes next in both, the walk passes it with everything below it,
//! unread.
//!
//! # How the walk keeps step
//!
//! In each tree there is a next item: a record, or a subtree that has not been entered. Of such a
//! subtree only the separator before it is known. No key in the subtree is smaller than that.
//!
//! - Two records: if they differ in their keys, the smaller one is in one tree only. Equal ones are
//!   in both, and their values are compared.
//! - A record before a subtree's separator is in one tree only; otherwise the subtree is entered.
//! - Of two subtrees, the one with the smaller separator is entered; if the separators are equal,
//!   the higher one; if both are equally high, both.
//! - If one tree's next subtree was entered in the other tree, and nothing in it has been passed,
//!   the walk leaves it there and passes it in both. So it does no harm if a separator before a
//!   shared page has changed, or if the page is stored at another height.
//!
//! Every page that is not shared is entered once. A shared page is entered only on the way down to
//! a key that is missing in the other tree, or where its separator has changed: at most a path of
//! pages for each such key. If pages were moved, the trees share nothing and all pages are read,
//! but only records that differ are reported.
//!
//! If both trees store different checksums for a page, one of the two states has lost it. Both are
//! entered then, and one of them is an error.
//!
//! A walk also ends in a damaged tree: levels descend, and the subtrees that are entered and the
//! keys that are read ascend.

use super::{
    PageSource, TreeRoot,
    cursor::is_void,
    difference_side::{DifferenceSide, WalkItem},
    reading::reading,
};
use crate::{
    Result,
    page::value::{StoredValue, ValueKind},
};
use std::{cmp::Ordering, ops::Bound};

/// How a record differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChangeKind {
    Inserted,
    Changed,
    Removed,
}

/// One of the two trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TreeVersion {
    Older,
    Newer,
}

/// A walk along two trees of the same order.
#[derive(Debug)]
pub(crate) struct DifferenceWalk<'s, S: ?Sized> {
    older: DifferenceSide<'s, S>,
    newer: DifferenceSide<'s, S>,
    /// Whether records consist only of keys, so that the keys are compared.
    are_keys_all: bool,
    /// The current difference.
    found: Option<ChangeKind>,
    /// The tree that was read last.
    read: TreeVersion,
}

impl<'s, S: PageSource + ?Sized> DifferenceWalk<'s, S> {
    /// Creates a walk that begins before the first difference in a range of keys.
    pub(crate) fn new(
        older: (&'s S, TreeRoot),
        newer: (&'s S, TreeRoot),
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Self {
        debug_assert_eq!(older.1.order, newer.1.order, "the caller compares them");
        let is_void = is_void(&older.1, low, high);
        let side = |(source, root): (&'s S, TreeRoot)| {
            let root = match is_void {
                true => root.emptied(),
                false => root,
            };
            let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
            DifferenceSide::new(source, root, owned(low), owned(high))
        };
        Self {
            older: side(older),
            newer: side(newer),
            are_keys_all: false,
            found: None,
            read: TreeVersion::Older,
        }
    }

    /// Creates a walk over trees whose records are only keys. Keys that the order treats as equal
    /// count as changed if their bytes differ.
    pub(super) fn of_keys(older: (&'s S, TreeRoot), newer: (&'s S, TreeRoot)) -> Self {
        Self {
            are_keys_all: true,
            ..Self::new(older, newer, Bound::Unbounded, Bound::Unbounded)
        }
    }

    /// Moves to the next difference. After an error there is no current one.
    pub(crate) fn next(&mut self) -> Result<Option<ChangeKind>> {
        let (older, newer) = (self.older.source(), self.newer.source());
        older.refuse_cancelled()?;
        newer.refuse_cancelled()?;
        let before = self.found.take();
        self.found = reading(older, || reading(newer, || self.find(before)))?;
        Ok(self.found)
    }

    /// The key of the current record.
    pub(crate) fn key(&self) -> &[u8] {
        match self.found {
            Some(ChangeKind::Removed) => self.older.key(),
            _ => self.newer.key(),
        }
    }

    /// The kind of the current difference.
    pub(super) fn found(&self) -> Option<ChangeKind> {
        self.found
    }

    /// The key of the older record, if the current record was removed or changed.
    pub(super) fn old_key(&self) -> &[u8] {
        self.older.key()
    }

    /// Applies `decode` to the older value of the current record, if it has one.
    pub(crate) fn old_value<V>(&mut self, decode: impl FnOnce(&'s [u8]) -> Result<V>) -> Result<V> {
        self.read = TreeVersion::Older;
        let side = &self.older;
        reading(side.source(), || side.value().and_then(decode))
    }

    /// Applies `decode` to the newer value of the current record, if it has one.
    pub(crate) fn new_value<V>(&mut self, decode: impl FnOnce(&'s [u8]) -> Result<V>) -> Result<V> {
        self.read = TreeVersion::Newer;
        let side = &self.newer;
        reading(side.source(), || side.value().and_then(decode))
    }

    /// The tree that was read last: the one that an error concerns.
    pub(crate) fn tree_at_fault(&self) -> (&'s S, &TreeRoot) {
        let side = match self.read {
            TreeVersion::Older => &self.older,
            TreeVersion::Newer => &self.newer,
        };
        (side.source(), side.root())
    }

    fn find(&mut self, before: Option<ChangeKind>) -> Result<Option<ChangeKind>> {
        match before {
            Some(ChangeKind::Inserted) => self.pass(TreeVersion::Newer)?,
            Some(ChangeKind::Removed) => self.pass(TreeVersion::Older)?,
            Some(ChangeKind::Changed) => self.pass_both()?,
            None => {}
        }
        loop {
            let (old, new) = (self.older.item(), self.newer.item());
            match (old, new) {
                (WalkItem::End, WalkItem::End) => return Ok(None),
                (WalkItem::Record, WalkItem::End) => return Ok(Some(ChangeKind::Removed)),
                (WalkItem::End, WalkItem::Record) => return Ok(Some(ChangeKind::Inserted)),
                (WalkItem::Record, WalkItem::Record) => {
                    if let Some(kind) = self.compare_records()? {
                        return Ok(Some(kind));
                    }
                }
                _ if self.pass_shared()? => {}
                (WalkItem::Subtree { .. }, WalkItem::End) => self.enter(TreeVersion::Older)?,
                (WalkItem::End, WalkItem::Subtree { .. }) => self.enter(TreeVersion::Newer)?,
                (WalkItem::Record, WalkItem::Subtree { .. }) => {
                    if self.is_record_alone(TreeVersion::Older)? {
                        return Ok(Some(ChangeKind::Removed));
                    }
                    self.enter(TreeVersion::Newer)?;
                }
                (WalkItem::Subtree { .. }, WalkItem::Record) => {
                    if self.is_record_alone(TreeVersion::Newer)? {
                        return Ok(Some(ChangeKind::Inserted));
                    }
                    self.enter(TreeVersion::Older)?;
                }
                (WalkItem::Subtree { level: old, .. }, WalkItem::Subtree { level: new, .. }) => {
                    self.enter_first(old, new)?;
                }
            }
        }
    }

    /// Compares the next records of both trees, and passes them if they are equal.
    fn compare_records(&mut self) -> Result<Option<ChangeKind>> {
        let order = self.older.root().order;
        match order.compare(self.older.key(), self.newer.key()) {
            Ordering::Less => return Ok(Some(ChangeKind::Removed)),
            Ordering::Greater => return Ok(Some(ChangeKind::Inserted)),
            Ordering::Equal => {}
        }
        // Keys that an order of the application treats as equal may differ in their bytes.
        let is_other = self.are_keys_all && self.older.key() != self.newer.key();
        if is_other || !self.has_same_value()? {
            return Ok(Some(ChangeKind::Changed));
        }
        self.pass_both()?;
        Ok(None)
    }

    /// Whether the next record of both trees has the same value. A large value is read only if it
    /// may be equal and is stored elsewhere.
    fn has_same_value(&mut self) -> Result<bool> {
        let (old, new) = (self.older.stored_value(), self.newer.stored_value());
        if old == new {
            return Ok(true);
        }
        let is_extent = |value: StoredValue<'_>| value.kind == ValueKind::Extent;
        // Sets and single values may have equal bytes.
        if old.kind == new.kind && !is_extent(old) || self.older.root().is_multi() {
            return Ok(false);
        }
        if let (true, true) = (is_extent(old), is_extent(new)) {
            let page = self.older.root().page;
            let extent = |value: StoredValue<'_>| {
                value
                    .as_extent()
                    .map_err(|damage| damage.at(page, "differences"))
            };
            let (old, new) = (extent(old)?, extent(new)?);
            let identity =
                |extent: crate::page::value::ValueExtent| (extent.len_bytes, extent.checksum);
            if old.map(identity) != new.map(identity) {
                return Ok(false);
            }
        }
        self.read = TreeVersion::Older;
        let old = self.older.value()?;
        self.read = TreeVersion::Newer;
        Ok(old == self.newer.value()?)
    }

    /// Whether the next record of this tree comes before the next subtree of the other.
    fn is_record_alone(&mut self, tree: TreeVersion) -> Result<bool> {
        let order = self.older.root().order;
        let (side, other, read) = match tree {
            TreeVersion::Older => (&self.older, &mut self.newer, TreeVersion::Newer),
            TreeVersion::Newer => (&self.newer, &mut self.older, TreeVersion::Older),
        };
        self.read = read;
        let low = other.low()?;
        Ok(low.is_some_and(|low| order.compare(side.key(), low).is_lt()))
    }

    /// Passes the next subtree of one tree if it is also the next one in the other, entered or not;
    /// returns whether it did.
    fn pass_shared(&mut self) -> Result<bool> {
        let (old, new) = (self.older.item(), self.newer.item());
        if let WalkItem::Subtree {
            number,
            level,
            checksum,
        } = old
        {
            if old == new {
                self.pass_both()?;
                return Ok(true);
            }
            if let Some(depth) = self.newer.is_at_start_of(number, level, checksum) {
                self.pass(TreeVersion::Older)?;
                self.read = TreeVersion::Newer;
                self.newer.pass_subtree(depth)?;
                return Ok(true);
            }
        }
        if let WalkItem::Subtree {
            number,
            level,
            checksum,
        } = new
            && let Some(depth) = self.older.is_at_start_of(number, level, checksum)
        {
            self.pass(TreeVersion::Newer)?;
            self.read = TreeVersion::Older;
            self.older.pass_subtree(depth)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Enters one of the next subtrees, which have these levels, or both.
    fn enter_first(&mut self, old_level: u8, new_level: u8) -> Result<()> {
        let order = self.older.root().order;
        self.read = TreeVersion::Older;
        let older = self.older.low()?;
        self.read = TreeVersion::Newer;
        let lows = match (older, self.newer.low()?) {
            (Some(older), Some(newer)) => order.compare(older, newer),
            // A first subtree has no separator before it.
            (older, newer) => older.is_some().cmp(&newer.is_some()),
        };
        match lows.then(new_level.cmp(&old_level)) {
            Ordering::Less => self.enter(TreeVersion::Older),
            Ordering::Greater => self.enter(TreeVersion::Newer),
            Ordering::Equal => {
                self.enter(TreeVersion::Older)?;
                self.enter(TreeVersion::Newer)
            }
        }
    }

    fn enter(&mut self, tree: TreeVersion) -> Result<()> {
        self.side(tree).enter()
    }

    fn pass(&mut self, tree: TreeVersion) -> Result<()> {
        self.side(tree).pass()
    }

    fn pass_both(&mut self) -> Result<()> {
        self.pass(TreeVersion::Older)?;
        self.pass(TreeVersion::Newer)
    }

    /// A side that is about to be read.
    fn side(&mut self, tree: TreeVersion) -> &mut DifferenceSide<'s, S> {
        self.read = tree;
        match tree {
            TreeVersion::Older => &mut self.older,
            TreeVersion::Newer => &mut self.newer,
        }
    }
}

#[cfg(test)]
#[path = "differences_tests.rs"]
mod tests;
