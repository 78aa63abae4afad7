//! Steps that lead to a record beside the one that the way of a cursor leads to, in the same leaf and in the state that the way was found in. Any other step
//! asks for the root, and takes the way along and puts it back, which is several times as much.
//!
//! Where something is not as it should be nothing has changed, and it is left to such a step, which finds out why.

use super::{FreeCursor, Hint, going::Path, place::Place};
use crate::{
    Result,
    api::Transaction,
    tree::{
        RootRef, cursor,
        position::{Beside, Position},
        reading::reading,
    },
};
use std::mem;

impl FreeCursor {
    /// Goes to the record beside this one, in a table with several values of a key to the pair, if it stands in the same leaf.
    #[inline]
    pub(super) fn step_in_leaf<T: Transaction>(&mut self, txn: &T, beside: Beside) -> bool {
        if self.known_position(txn).is_some() {
            return self.step_to_record(txn, beside);
        }
        let Some(root) = self.known_root(txn) else {
            return false;
        };
        self.step_to_value(txn, &root, beside) || self.step_to_key(txn, &root, beside)
    }

    /// Goes to the value of the same key beside this one, if it stands in the same leaf.
    #[inline]
    pub(super) fn step_in_values<T: Transaction>(&mut self, txn: &T, beside: Beside) -> bool {
        let root = self.known_root(txn);
        root.is_some_and(|root| self.step_to_value(txn, &root, beside))
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
        let hint = self.hint_here()?;
        let Path::Record(position) = &hint.path else {
            return None;
        };
        let is_known = hint.is_of_reader(txn)
            || self
                .table
                .root(txn)
                .is_ok_and(|root| hint.stamp.is_of(txn, &self.table, &root));
        is_known.then_some(position)
    }

    /// The root of a table with several values of a key, if the way to the pair that it is on is known of this state of that.
    #[inline]
    fn known_root<'t, T: Transaction>(&self, txn: &'t T) -> Option<RootRef<'t>> {
        let hint = self.hint_here()?;
        let Path::Pair(_) = &hint.path else {
            return None;
        };
        let root = self.table.root(txn).ok()?;
        hint.is_of(txn, &self.table, &root).then_some(root)
    }

    /// The way to the record that it is on, in whichever state.
    #[inline]
    fn hint_here(&self) -> Option<&Hint> {
        let hint = self.hint.as_ref()?;
        (self.place == Place::At && hint.leads.is_here()).then_some(hint)
    }

    #[inline]
    fn step_to_record<T: Transaction>(&mut self, txn: &T, beside: Beside) -> bool {
        let source = txn.source();
        let step = |path: &mut Path, beside| match path {
            Path::Record(position) => position.step_in_leaf(beside),
            Path::Pair(_) => false,
        };
        let is_there = self.step(beside, step, |path, key, _| match path {
            Path::Record(position) => {
                let read = reading(source, || cursor::record_at(source, position, key));
                read.map(|read| read.is_some())
            }
            Path::Pair(_) => Ok(false),
        });
        if is_there {
            mem::swap(&mut self.key, &mut self.arriving.0);
        }
        is_there
    }

    fn step_to_value<T: Transaction>(
        &mut self,
        txn: &T,
        root: &RootRef<'_>,
        beside: Beside,
    ) -> bool {
        let source = txn.source();
        let step = |path: &mut Path, beside| match path {
            Path::Pair(position) => position.step_in_leaf(beside),
            Path::Record(_) => false,
        };
        let is_there = self.step(beside, step, |path, _, value| match path {
            Path::Pair(position) => reading(source, || position.read_value(source, root, value)),
            Path::Record(_) => Ok(false),
        });
        if is_there {
            mem::swap(&mut self.value, &mut self.arriving.1);
        }
        is_there
    }

    /// To the key beside this one, where both have one value.
    fn step_to_key<T: Transaction>(&mut self, txn: &T, root: &RootRef<'_>, beside: Beside) -> bool {
        let source = txn.source();
        let step = |path: &mut Path, beside| match path {
            Path::Pair(position) => position.step_to_key(beside),
            Path::Record(_) => false,
        };
        let is_there = self.step(beside, step, |path, key, value| match path {
            Path::Pair(position) => {
                reading(source, || position.read_only_pair(source, root, key, value))
            }
            Path::Record(_) => Ok(false),
        });
        if is_there {
            mem::swap(&mut self.key, &mut self.arriving.0);
            mem::swap(&mut self.value, &mut self.arriving.1);
        }
        is_there
    }

    /// Makes a step, and has `read` read key and value that it leads to, or one of them; without them it is taken back.
    #[inline(always)]
    fn step(
        &mut self,
        beside: Beside,
        step: impl Fn(&mut Path, Beside) -> bool,
        read: impl FnOnce(&Path, &mut Vec<u8>, &mut Vec<u8>) -> Result<bool>,
    ) -> bool {
        let (Some(hint), (key, value)) = (&mut self.hint, &mut self.arriving) else {
            return false;
        };
        if !step(&mut hint.path, beside) {
            return false;
        }
        let is_read = matches!(read(&hint.path, key, value), Ok(true));
        if !is_read {
            step(&mut hint.path, beside.opposite());
        }
        is_read
    }
}
