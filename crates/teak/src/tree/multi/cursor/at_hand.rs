//! Steps that need nothing but what the cursor has at hand, for the same reasons and on the same terms as those of a cursor over
//! keys: where one says `false` the cursor is where it was, and [`PairCursor::next`] and [`PairCursor::prev`] find out why.

use super::{At, PairCursor};
use crate::{
    page::value::ValueKind,
    tree::{
        PageSource,
        reading::{Faults, touch},
    },
};

impl<S: PageSource + ?Sized> PairCursor<'_, S> {
    /// Goes to the next pair, if that is in a leaf at hand.
    #[inline(always)]
    pub(crate) fn next_at_hand(&mut self) -> bool {
        match &self.inner {
            At::One(_) => {
                let next = self.outer.read_next_at_hand();
                let next = next.filter(|_| self.enter_one());
                next.inspect(|&index| self.outer.stand_on_next(index))
                    .is_some()
            }
            _ => self.next_value_at_hand(),
        }
    }

    /// Goes to the pair before, if that is in a leaf at hand.
    #[inline(always)]
    pub(crate) fn prev_at_hand(&mut self) -> bool {
        match &self.inner {
            At::One(_) => {
                let prev = self.outer.read_prev_at_hand();
                let prev = prev.filter(|_| self.enter_one());
                prev.inspect(|&index| self.outer.stand_on_prev(index))
                    .is_some()
            }
            _ => self.prev_value_at_hand(),
        }
    }

    /// Goes to the next value of the key, if that is in a leaf at hand.
    #[inline(always)]
    pub(crate) fn next_value_at_hand(&mut self) -> bool {
        let (faults, _) = self.outer.faults_before();
        match &mut self.inner {
            At::Tree(cursor) => cursor.next_at_hand(),
            At::Set(set, index) if *index + 1 < set.len() => {
                let is_read = is_read(set.get(*index + 1), faults, self.fault_count);
                *index += usize::from(is_read);
                is_read
            }
            _ => false,
        }
    }

    /// Goes to the value before, if that is in a leaf at hand.
    #[inline(always)]
    pub(crate) fn prev_value_at_hand(&mut self) -> bool {
        let (faults, _) = self.outer.faults_before();
        match &mut self.inner {
            At::Tree(cursor) => cursor.prev_at_hand(),
            At::Set(set, index) if *index > 0 => {
                let is_read = is_read(set.get(*index - 1), faults, self.fault_count);
                *index -= usize::from(is_read);
                is_read
            }
            _ => false,
        }
    }

    /// Is on the value of the key that the cursor over keys has read, if it is one and can be read. Else nothing has changed.
    #[inline(always)]
    fn enter_one(&mut self) -> bool {
        let (value, size) = (self.outer.stored_value(), self.root().kind.value_size);
        let (faults, before) = self.outer.faults_before();
        let is_one = value.kind == ValueKind::Inline
            && (size == 0 || usize::from(size) == value.bytes.len())
            && is_read(value.bytes, faults, before);
        if is_one {
            self.fault_count = before;
            self.inner = At::One(value.bytes);
        }
        is_one
    }
}

/// Whether a value can be read.
#[inline(always)]
fn is_read(value: &[u8], faults: &Faults, before: u64) -> bool {
    touch(value);
    !faults.are_more_than(before)
}
