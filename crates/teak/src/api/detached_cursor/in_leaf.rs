//! Steps that lead to a record beside the one that the way of a cursor leads to, in the same leaf and in the state that the way was found in. Any other step
//! asks for the root, and takes the way along and puts it back, which is several times as much.
//!
//! Where something is not as it should be nothing has changed, and it is left to such a step, which finds out why.

use super::{DetachedCursor, Hint, cursor_step::TreePath, place::CursorPosition};
use crate::{
    Result,
    api::Transaction,
    btree::{
        RootRef, cursor,
        position::{Position, StepDirection},
        reading::reading,
    },
};
use std::mem;

impl DetachedCursor {
    /// Goes to the record beside this one, in a table with several values of a key to the pair, if it stands in the same leaf.
    #[inline]
    pub(super) fn step_in_leaf<T: Transaction>(
        &mut self,
        txn: &T,
        direction: StepDirection,
    ) -> bool {
        if self.known_position(txn).is_some() {
            return self.step_to_record(txn, direction);
        }
        let Some(root) = self.known_root(txn) else {
            return false;
        };
        self.step_to_value(txn, &root, direction) || self.step_to_key(txn, &root, direction)
    }

    /// Goes to the value of the same key beside this one, if it stands in the same leaf.
    #[inline]
    pub(super) fn step_in_values<T: Transaction>(
        &mut self,
        txn: &T,
        direction: StepDirection,
    ) -> bool {
        let root = self.known_root(txn);
        root.is_some_and(|root| self.step_to_value(txn, &root, direction))
    }

    /// The value of the record of a plain table that it is on.
    #[inline]
    pub(super) fn value_in_leaf<'t, T: Transaction>(&self, txn: &'t T) -> Option<&'t [u8]> {
        let (source, position) = (txn.source(), self.known_position(txn)?);
        let value = reading(source, || cursor::value_at(source, position));
        value.ok().flatten()
    }

    /// The way to the record that it is on, in a plain table, if it is known of this state of that.
    #[inline]
    fn known_position<T: Transaction>(&self, txn: &T) -> Option<&Position> {
        let hint = self.current_hint()?;
        let TreePath::Record(position) = &hint.path else {
            return None;
        };
        let is_known = hint.is_valid_for_reader(txn)
            || self
                .table
                .root(txn)
                .is_ok_and(|root| hint.version.is_valid_for(txn, &self.table, &root));
        is_known.then_some(position)
    }

    /// The root of a table with several values of a key, if the way to the pair that it is on is known of this state of that.
    #[inline]
    fn known_root<'t, T: Transaction>(&self, txn: &'t T) -> Option<RootRef<'t>> {
        let hint = self.current_hint()?;
        let TreePath::Pair(_) = &hint.path else {
            return None;
        };
        let root = self.table.root(txn).ok()?;
        hint.is_valid_for(txn, &self.table, &root).then_some(root)
    }

    /// The way to the record that it is on, in whichever state.
    #[inline]
    fn current_hint(&self) -> Option<&Hint> {
        let hint = self.hint.as_ref()?;
        (self.position == CursorPosition::At && hint.hint_target.is_here()).then_some(hint)
    }

    #[inline]
    fn step_to_record<T: Transaction>(&mut self, txn: &T, direction: StepDirection) -> bool {
        let source = txn.source();
        let step = |path: &mut TreePath, direction| match path {
            TreePath::Record(position) => position.step_in_leaf(direction),
            TreePath::Pair(_) => false,
        };
        let is_there = self.step(direction, step, |path, key, _| match path {
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
        direction: StepDirection,
    ) -> bool {
        let source = txn.source();
        let step = |path: &mut TreePath, direction| match path {
            TreePath::Pair(position) => position.step_in_leaf(direction),
            TreePath::Record(_) => false,
        };
        let is_there = self.step(direction, step, |path, _, value| match path {
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

    /// To the key beside this one, where both have one value.
    fn step_to_key<T: Transaction>(
        &mut self,
        txn: &T,
        root: &RootRef<'_>,
        direction: StepDirection,
    ) -> bool {
        let source = txn.source();
        let step = |path: &mut TreePath, direction| match path {
            TreePath::Pair(position) => position.step_to_key(direction),
            TreePath::Record(_) => false,
        };
        let is_there = self.step(direction, step, |path, key, value| match path {
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

    /// Makes a step, and has `read` read key and value that it leads to, or one of them; without them it is taken back.
    #[inline(always)]
    fn step(
        &mut self,
        direction: StepDirection,
        step: impl Fn(&mut TreePath, StepDirection) -> bool,
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
