//! Steps that need only cached data, with the same contract as the in-leaf steps of a cursor over
//! keys. If one returns `false`, the cursor has not moved, and [`PairCursor::next`] and
//! [`PairCursor::prev`] find the cause.

use super::{PairCursor, ValueCursor};
use crate::{
    btree::{
        PageSource,
        reading::{Faults, fault_in},
    },
    page::value::ValueKind,
};

impl<S: PageSource + ?Sized> PairCursor<'_, S> {
    /// Moves to the next pair, if it is in a cached leaf.
    #[inline(always)]
    pub(super) fn next_in_current_leaf(&mut self) -> bool {
        match &self.inner {
            ValueCursor::One(_) => {
                let next = self.outer.read_next_in_leaf(false);
                let next = next.filter(|_| self.enter_one());
                next.inspect(|&index| self.outer.move_to_next(index))
                    .is_some()
            }
            _ => self.next_value_in_leaf(),
        }
    }

    /// Moves to the previous pair, if it is in a cached leaf.
    #[inline(always)]
    pub(super) fn prev_in_current_leaf(&mut self) -> bool {
        match &self.inner {
            ValueCursor::One(_) => {
                let prev = self.outer.read_prev_in_leaf(false);
                let prev = prev.filter(|_| self.enter_one());
                prev.inspect(|&index| self.outer.move_to_prev(index))
                    .is_some()
            }
            _ => self.prev_value_in_leaf(),
        }
    }

    /// Moves to the next value of the key, if it is in a cached leaf.
    #[inline(always)]
    pub(super) fn next_value_in_leaf(&mut self) -> bool {
        let (faults, _) = self.outer.faults_before();
        match &mut self.inner {
            ValueCursor::Tree(cursor) => cursor.next_in_current_leaf(false),
            ValueCursor::Set(set, index) if *index + 1 < set.len() => {
                let is_read = is_read(set.get(*index + 1), faults, self.fault_count);
                *index += usize::from(is_read);
                is_read
            }
            _ => false,
        }
    }

    /// Moves to the previous value of the key, if it is in a cached leaf.
    #[inline(always)]
    pub(super) fn prev_value_in_leaf(&mut self) -> bool {
        let (faults, _) = self.outer.faults_before();
        match &mut self.inner {
            ValueCursor::Tree(cursor) => cursor.prev_in_current_leaf(false),
            ValueCursor::Set(set, index) if *index > 0 => {
                let is_read = is_read(set.get(*index - 1), faults, self.fault_count);
                *index -= usize::from(is_read);
                is_read
            }
            _ => false,
        }
    }

    /// Moves to the value of the key that the cursor over keys has read, if it is a single one and
    /// readable. Otherwise nothing has changed.
    #[inline(always)]
    fn enter_one(&mut self) -> bool {
        let (value, size) = (self.outer.stored_value(), self.root().kind.value_size);
        let (faults, before) = self.outer.faults_before();
        let is_one = value.kind == ValueKind::Inline
            && (size == 0 || usize::from(size) == value.bytes.len())
            && is_read(value.bytes, faults, before);
        if is_one {
            self.fault_count = before;
            self.inner = ValueCursor::One(value.bytes);
        }
        is_one
    }
}

/// Whether a value is readable.
#[inline(always)]
fn is_read(value: &[u8], faults: &Faults, before: u64) -> bool {
    fault_in(value);
    !faults.are_more_than(before)
}
