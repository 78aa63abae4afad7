//! Steps within the cached leaf of a cursor, by index. Everything a step needs is cached, so it
//! reads nothing else and returns no error. If a step fails, at most the record has to be read
//! again. It is left to [`TreeCursor::next`] and [`TreeCursor::prev`], which find the cause.

use super::TreeCursor;
use crate::btree::{
    PageSource,
    reading::{Faults, fault_in},
};

impl<S: PageSource + ?Sized> TreeCursor<'_, S> {
    /// Moves to the next record, if it is in the cached leaf. Asks whether its key is ASCII if it
    /// `is_text`.
    #[inline(always)]
    pub(crate) fn next_in_current_leaf(&mut self, is_text: bool) -> bool {
        let next = self.read_next_in_leaf(is_text);
        next.inspect(|&index| self.move_to_next(index)).is_some()
    }

    /// Moves to the previous record, if it is in the cached leaf.
    #[inline(always)]
    pub(crate) fn prev_in_current_leaf(&mut self, is_text: bool) -> bool {
        let prev = self.read_prev_in_leaf(is_text);
        prev.inspect(|&index| self.move_to_prev(index)).is_some()
    }

    /// Reads the next record, if it is in the cached leaf, without moving:
    /// [`TreeCursor::move_to_next`] moves.
    #[inline(always)]
    pub(crate) fn read_next_in_leaf(&mut self, is_text: bool) -> Option<usize> {
        let leaf = self.position.path().last()?;
        let index = leaf.index + 1;
        let is_here = index < leaf.count && leaf.page == self.number;
        (is_here && self.read_in_leaf(index, is_text)).then_some(index)
    }

    /// Reads the previous record, if it is in the cached leaf, without moving.
    #[inline(always)]
    pub(crate) fn read_prev_in_leaf(&mut self, is_text: bool) -> Option<usize> {
        let leaf = self.position.path().last()?;
        let index = leaf.index.checked_sub(1)?;
        let is_here = leaf.page == self.number;
        (is_here && self.read_in_leaf(index, is_text)).then_some(index)
    }

    /// Moves to the record that was read.
    #[inline(always)]
    pub(crate) fn move_to_next(&mut self, index: usize) {
        self.position.move_to_index(index);
        self.fetch_ahead(index);
    }

    /// Moves to the record that was read.
    #[inline(always)]
    pub(crate) fn move_to_prev(&mut self, index: usize) {
        self.position.move_to_index(index);
        self.fetch_leaf_ahead();
    }

    #[inline(always)]
    fn read_in_leaf(&mut self, index: usize, is_text: bool) -> bool {
        let is_read = match &self.fixed_keys {
            Some(keys) => {
                let key = keys.get(index);
                key.inspect(|key| fault_in(key));
                self.whole_key = key;
                key.is_some()
            }
            None => self.read(index, is_text).is_ok(),
        };
        is_read && !self.faults.are_more_than(self.fault_count)
    }

    /// The fault counter, and its value before the cached leaf was read.
    #[inline(always)]
    pub(crate) fn faults_before(&self) -> (&'static Faults, u64) {
        (self.faults, self.fault_count)
    }
}
