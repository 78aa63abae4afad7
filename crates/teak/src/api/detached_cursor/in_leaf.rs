//! Steps to a neighbouring record within the leaf of the hint, in the table version of the hint.
//! Any other step fetches the root and takes the path out and puts it back, which costs several
//! times as much.
//!
//! If anything is wrong, nothing changes here; the general step is left to find the cause.

use super::{DetachedCursor, Hint, cursor_position::CursorPosition, cursor_step::TreePath};
use crate::{
    Result,
    api::Transaction,
    btree::{
        RootRef, cursor,
        position::{Direction, Position},
        reading::reading,
    },
};
use std::mem;

impl DetachedCursor {
    /// Moves to the neighbouring record, or pair in a multi-value table, if it is in the same leaf.
    #[inline]
    pub(super) fn step_in_leaf<T: Transaction>(&mut self, txn: &T, direction: Direction) -> bool {
        if self.known_position(txn).is_some() {
            return self.step_to_record(txn, direction);
        }
        let Some(root) = self.known_root(txn) else {
            return false;
        };
        self.step_to_value(txn, &root, direction) || self.step_to_key(txn, &root, direction)
    }

    /// Moves to the neighbouring value of the same key, if it is in the same leaf.
    #[inline]
    pub(super) fn step_in_values<T: Transaction>(&mut self, txn: &T, direction: Direction) -> bool {
        let root = self.known_root(txn);
        root.is_some_and(|root| self.step_to_value(txn, &root, direction))
    }

    /// Returns the value of the current record of a plain table.
    #[inline]
    pub(super) fn value_in_leaf<'t, T: Transaction>(&self, txn: &'t T) -> Option<&'t [u8]> {
        let position = self.known_position(txn)?;
        let source = txn.source();
        let value = reading(source, || cursor::value_at(source, position));
        value.ok().flatten()
    }

    /// Returns the path to the current record of a plain table, if it is known for this version of
    /// the table.
    #[inline]
    fn known_position<T: Transaction>(&self, txn: &T) -> Option<&Position> {
        let hint = self.current_hint()?;
        let TreePath::Record(position) = &hint.path else {
            return None;
        };
        let is_valid = |root: RootRef<'_>| hint.version.is_valid_for(txn, &self.table, &root);
        let is_known =
            hint.is_valid_for_reader(txn) || self.root_in_trees(txn).is_some_and(is_valid);
        is_known.then_some(position)
    }

    /// Returns the root of a multi-value table, if the path to the current pair is known for this
    /// version of the table.
    #[inline]
    fn known_root<'t, T: Transaction>(&self, txn: &'t T) -> Option<RootRef<'t>> {
        let hint = self.current_hint()?;
        let TreePath::Pair(_) = &hint.path else {
            return None;
        };
        let root = self.root_in_trees(txn)?;
        hint.is_valid_for(txn, &self.table, &root).then_some(root)
    }

    /// Returns the root of the table, unless the transaction has changes of the table that are not
    /// in the trees yet: bringing them there may fail, and fails only once.
    #[inline]
    fn root_in_trees<'t, T: Transaction>(&self, txn: &'t T) -> Option<RootRef<'t>> {
        match txn.is_buffered() && txn.has_buffered(self.table.handle(txn)) {
            true => None,
            false => self.table.root(txn).ok(),
        }
    }

    /// Returns the path to the current record, in whichever version.
    #[inline]
    fn current_hint(&self) -> Option<&Hint> {
        let hint = self.hint.as_ref()?;
        (self.position == CursorPosition::At && hint.hint_target.is_here()).then_some(hint)
    }

    #[inline]
    fn step_to_record<T: Transaction>(&mut self, txn: &T, direction: Direction) -> bool {
        let source = txn.source();
        let step = |path: &mut TreePath, direction| match path {
            TreePath::Record(position) => position.step_in_leaf(direction),
            TreePath::Pair(_) => false,
        };
        let is_there = self.take_step(direction, step, |path, key, _| match path {
            TreePath::Record(position) => {
                let read = reading(source, || cursor::record_at(source, position, key));
                read.map(|read| read.is_some())
            }
            TreePath::Pair(_) => Ok(false),
        });
        if is_there {
            mem::swap(&mut self.key, &mut self.scratch.0);
        }
        is_there
    }

    fn step_to_value<T: Transaction>(
        &mut self,
        txn: &T,
        root: &RootRef<'_>,
        direction: Direction,
    ) -> bool {
        let source = txn.source();
        let step = |path: &mut TreePath, direction| match path {
            TreePath::Pair(position) => position.step_in_leaf(direction),
            TreePath::Record(_) => false,
        };
        let is_there = self.take_step(direction, step, |path, _, value| match path {
            TreePath::Pair(position) => {
                reading(source, || position.read_value(source, root, value))
            }
            TreePath::Record(_) => Ok(false),
        });
        if is_there {
            mem::swap(&mut self.value, &mut self.scratch.1);
        }
        is_there
    }

    /// Moves to the neighbouring key, if both have one value.
    fn step_to_key<T: Transaction>(
        &mut self,
        txn: &T,
        root: &RootRef<'_>,
        direction: Direction,
    ) -> bool {
        let source = txn.source();
        let step = |path: &mut TreePath, direction| match path {
            TreePath::Pair(position) => position.step_to_key(direction),
            TreePath::Record(_) => false,
        };
        let is_there = self.take_step(direction, step, |path, key, value| match path {
            TreePath::Pair(position) => {
                reading(source, || position.read_only_pair(source, root, key, value))
            }
            TreePath::Record(_) => Ok(false),
        });
        if is_there {
            mem::swap(&mut self.key, &mut self.scratch.0);
            mem::swap(&mut self.value, &mut self.scratch.1);
        }
        is_there
    }

    /// Makes a step, and calls `read` to read the new key and value, or one of them; the step is
    /// undone if they cannot be read.
    #[inline(always)]
    fn take_step(
        &mut self,
        direction: Direction,
        step: impl Fn(&mut TreePath, Direction) -> bool,
        read: impl FnOnce(&TreePath, &mut Vec<u8>, &mut Vec<u8>) -> Result<bool>,
    ) -> bool {
        let (Some(hint), (key, value)) = (&mut self.hint, &mut self.scratch) else {
            return false;
        };
        if !step(&mut hint.path, direction) {
            return false;
        }
        let is_read = matches!(read(&hint.path, key, value), Ok(true));
        if !is_read {
            step(&mut hint.path, direction.opposite());
        }
        is_read
    }
}
