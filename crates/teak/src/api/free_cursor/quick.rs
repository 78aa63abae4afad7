//! What needs no more than the leaf that the way of a cursor leads to, in the state that it was found in: the record beside this one, and
//! its value. Any other step takes the cursor apart and puts it together again, which is several times as much.
//!
//! Where something is not as it should be nothing has changed, and it is left to such a step, which finds out why.

use super::{FreeCursor, Place, going::Path};
use crate::{
    api::Transaction,
    tree::{cursor, reading::reading},
};
use std::{borrow::Cow, mem};

impl FreeCursor {
    /// Goes to the record beside this one, in a table with several values of a key to the pair, if it stands in the same leaf.
    #[inline]
    pub(super) fn step_in_leaf<T: Transaction>(&mut self, txn: &T, is_forward: bool) -> bool {
        self.is_known(txn)
            && (self.step_to_record(txn, is_forward)
                || self.step_to_value(txn, is_forward)
                || self.step_to_key(txn, is_forward))
    }

    /// Goes to the value of the same key beside this one, if it stands in the same leaf.
    #[inline]
    pub(super) fn step_in_values<T: Transaction>(&mut self, txn: &T, is_forward: bool) -> bool {
        self.is_known(txn) && self.step_to_value(txn, is_forward)
    }

    /// The value of the record that it is on.
    #[inline]
    pub(super) fn value_in_leaf<'t, T: Transaction>(&self, txn: &'t T) -> Option<Cow<'t, [u8]>> {
        if !self.is_known(txn) {
            return None;
        }
        let (source, hint) = (txn.source(), self.hint.as_ref()?);
        let value = reading(source, || match &hint.path {
            Path::Record(position) => Ok(cursor::value_at(source, position)?.map(Cow::Borrowed)),
            Path::Pair(position) => position.value(source, &*self.table.root(txn)?),
        });
        value.ok().flatten()
    }

    /// Whether it is on a record, and the way there is known of this state of the table.
    #[inline]
    fn is_known<T: Transaction>(&self, txn: &T) -> bool {
        let Some(hint) = self.hint.as_ref().filter(|hint| hint.leads.is_here()) else {
            return false;
        };
        let committed = txn.committed();
        let is_same = match committed.is_some() && committed == hint.committed {
            true => true,
            false => {
                let root = self.table.root(txn);
                root.is_ok_and(|root| hint.stamp.is_of(txn, &self.table, &root))
            }
        };
        is_same && self.place == Place::At
    }

    #[inline]
    fn step_to_record<T: Transaction>(&mut self, txn: &T, is_forward: bool) -> bool {
        let Some(Path::Record(position)) = self.hint.as_mut().map(|hint| &mut hint.path) else {
            return false;
        };
        if !position.step_in_leaf(is_forward) {
            return false;
        }
        let (source, (key, _)) = (txn.source(), &mut self.arriving);
        let read = reading(source, || cursor::record_at(source, position, key));
        let is_read = matches!(read, Ok(Some(_)));
        match is_read {
            true => mem::swap(&mut self.key, key),
            false => drop(position.step_in_leaf(!is_forward)),
        }
        is_read
    }

    fn step_to_value<T: Transaction>(&mut self, txn: &T, is_forward: bool) -> bool {
        let Some(Path::Pair(position)) = self.hint.as_mut().map(|hint| &mut hint.path) else {
            return false;
        };
        if !position.step_in_leaf(is_forward) {
            return false;
        }
        let (source, (_, value)) = (txn.source(), &mut self.arriving);
        let read = reading(source, || {
            let read = position.value(source, &*self.table.root(txn)?)?;
            Ok(read.map(|read| {
                value.clear();
                value.extend_from_slice(&read);
            }))
        });
        let is_read = matches!(read, Ok(Some(())));
        match is_read {
            true => mem::swap(&mut self.value, value),
            false => drop(position.step_in_leaf(!is_forward)),
        }
        is_read
    }

    /// To the key beside this one, where both have one value.
    fn step_to_key<T: Transaction>(&mut self, txn: &T, is_forward: bool) -> bool {
        let Some(Path::Pair(position)) = self.hint.as_mut().map(|hint| &mut hint.path) else {
            return false;
        };
        if !position.step_to_key(is_forward) {
            return false;
        }
        let (source, (key, value)) = (txn.source(), &mut self.arriving);
        let read = reading(source, || {
            let read = position.only_value(source, &*self.table.root(txn)?, key)?;
            Ok(read.map(|read| {
                value.clear();
                value.extend_from_slice(read);
            }))
        });
        let is_read = matches!(read, Ok(Some(())));
        match is_read {
            true => {
                mem::swap(&mut self.key, key);
                mem::swap(&mut self.value, value);
            }
            false => drop(position.step_to_key(!is_forward)),
        }
        is_read
    }
}
