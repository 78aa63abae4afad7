//! The cursors that are open on a transaction. The list knows cursors as a trait, so cursors can be
//! built upon transactions.

use crate::cursor_position::CursorPosition;
use std::{ffi::c_uint, mem, ptr};

/// A cursor of a transaction of type `T`.
pub(crate) trait TrackedCursor<T> {
    /// Sets the transaction that the cursor belongs to. Null means that there is none.
    fn set_transaction(&self, transaction: *mut T);
    /// Saves the position as bytes, because the table is about to change.
    fn freeze(&self);
    /// Clears the position.
    fn reset(&self);
    /// Clears the position of a cursor on this database.
    fn reset_if_of(&self, handle: c_uint);
    /// Freezes the cursor and returns its position.
    fn back_up(&self) -> CursorPosition;
    /// Returns to a position that [`Self::back_up`] returned.
    fn restore(&self, position: CursorPosition);
}

/// A cursor made by `Box::into_raw`.
type CursorPointer<T> = *const dyn TrackedCursor<T>;

/// The open cursors of a transaction. Invariant: each one belongs to this transaction, and is not
/// freed before it leaves the list.
#[derive(Debug)]
pub(crate) struct CursorList<T> {
    open: Vec<CursorPointer<T>>,
    /// Cursors that the outer transaction gets back, with their positions when this one began.
    adopted: Vec<(CursorPointer<T>, CursorPosition)>,
}

impl<T> CursorList<T> {
    pub(crate) const fn new() -> Self {
        Self {
            open: Vec::new(),
            adopted: Vec::new(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &dyn TrackedCursor<T>> {
        // SAFETY: cursors in the list are not freed.
        self.open.iter().map(|cursor| unsafe { &**cursor })
    }

    /// Adds a cursor that belongs to this transaction.
    ///
    /// # Safety
    ///
    /// It was made by `Box::into_raw`, and is not freed before [`Self::remove`] has returned `true`
    /// for it, or [`Self::detach_all`] was called.
    pub(crate) unsafe fn add(&mut self, cursor: CursorPointer<T>) {
        self.open.push(cursor);
    }

    /// Removes a cursor. Returns `false` if it must stay because the outer transaction gets it
    /// back.
    pub(crate) fn remove<C>(&mut self, cursor: *const C) -> bool {
        let is_it = |other: CursorPointer<T>| ptr::addr_eq(other, cursor);
        if self.adopted.iter().any(|(adopted, _)| is_it(*adopted)) {
            return false;
        }
        // Most cursors are closed soon after they were opened.
        if let Some(index) = self.open.iter().rposition(|open| is_it(*open)) {
            self.open.swap_remove(index);
        }
        true
    }

    /// Saves the positions of all cursors as bytes.
    pub(crate) fn freeze(&self) {
        self.iter().for_each(TrackedCursor::freeze);
    }

    /// Clears the positions of all cursors on a database.
    pub(crate) fn reset_of(&self, handle: c_uint) {
        self.iter().for_each(|cursor| cursor.reset_if_of(handle));
    }

    /// Takes over the cursors of the outer transaction until [`Self::give_back`]. `transaction` is
    /// the one of this list.
    pub(crate) fn adopt(&mut self, outer: &Self, transaction: *mut T) {
        for pointer in &outer.open {
            // SAFETY: cursors in a list are not freed.
            let cursor = unsafe { &**pointer };
            self.adopted.push((*pointer, cursor.back_up()));
            cursor.set_transaction(transaction);
            self.open.push(*pointer);
        }
    }

    /// Returns adopted cursors to the positions that they had when they were adopted.
    pub(crate) fn restore_adopted(&mut self) {
        for (cursor, position) in &mut self.adopted {
            // SAFETY: adopted cursors are in the list too, where cursors are not freed.
            unsafe { &**cursor }.restore(mem::take(position));
        }
    }

    /// Returns adopted cursors to the outer transaction, which has them in its list.
    pub(crate) fn give_back(&mut self, outer: *mut T) {
        for (pointer, _) in mem::take(&mut self.adopted) {
            self.open.retain(|open| !ptr::addr_eq(*open, pointer));
            // SAFETY: the outer transaction's list has it, and cursors in a list are not freed.
            unsafe { &*pointer }.set_transaction(outer);
        }
    }

    /// Frees all cursors.
    pub(crate) fn close_all(&mut self) {
        for cursor in mem::take(&mut self.open) {
            // SAFETY: `add` promises a pointer of a box, and that nobody else frees it.
            drop(unsafe { Box::from_raw(cursor.cast_mut()) });
        }
    }

    /// Removes all cursors, which have no transaction and no position from now on.
    pub(crate) fn detach_all(&mut self) {
        for cursor in self.open.drain(..) {
            // SAFETY: cursors in the list are not freed.
            let cursor = unsafe { &*cursor };
            cursor.reset();
            cursor.set_transaction(ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CursorList, CursorPosition, TrackedCursor};
    use std::{cell::Cell, ffi::c_uint, ptr, rc::Rc};

    /// The calls that a cursor has received.
    #[derive(Default)]
    struct Log {
        transaction: Cell<usize>,
        is_restored: Cell<bool>,
        is_reset: Cell<bool>,
    }

    struct LoggedCursor(Rc<Log>);

    impl TrackedCursor<u8> for LoggedCursor {
        fn set_transaction(&self, transaction: *mut u8) {
            self.0.transaction.set(transaction.addr());
        }

        fn freeze(&self) {}

        fn reset(&self) {
            self.0.is_reset.set(true);
        }

        fn reset_if_of(&self, _handle: c_uint) {
            self.reset();
        }

        fn back_up(&self) -> CursorPosition {
            CursorPosition {
                is_at_end: true,
                ..CursorPosition::default()
            }
        }

        fn restore(&self, position: CursorPosition) {
            assert!(position.is_at_end);
            self.0.is_restored.set(true);
        }
    }

    fn add(list: &mut CursorList<u8>) -> (*const LoggedCursor, Rc<Log>) {
        let log = Rc::<Log>::default();
        let cursor = Box::into_raw(Box::new(LoggedCursor(Rc::clone(&log))));
        // SAFETY: the tests free cursors only as the list says.
        unsafe { list.add(cursor) };
        (cursor, log)
    }

    #[test]
    fn a_nested_transaction_gives_cursors_back_and_frees_its_own() {
        let (mut outer, mut nested) = (CursorList::new(), CursorList::new());
        let (adopted, adopted_log) = add(&mut outer);
        nested.adopt(&outer, ptr::without_provenance_mut(2));
        assert_eq!(adopted_log.transaction.get(), 2);
        let (_, own_log) = add(&mut nested);
        assert!(!nested.remove(adopted));
        nested.restore_adopted();
        nested.give_back(ptr::without_provenance_mut(1));
        nested.close_all();
        assert!(adopted_log.is_restored.get());
        assert_eq!(adopted_log.transaction.get(), 1);
        assert_eq!(Rc::strong_count(&own_log), 1);
        outer.close_all();
        assert_eq!(Rc::strong_count(&adopted_log), 1);
    }

    #[test]
    fn a_removed_or_detached_cursor_is_not_freed() {
        let mut list = CursorList::new();
        let (removed, removed_log) = add(&mut list);
        let (detached, detached_log) = add(&mut list);
        assert!(list.remove(removed));
        list.detach_all();
        list.close_all();
        assert!(!removed_log.is_reset.get());
        assert!(detached_log.is_reset.get());
        assert_eq!(detached_log.transaction.get(), 0);
        for cursor in [removed, detached] {
            // SAFETY: it was made from a box, and the list has given it up.
            drop(unsafe { Box::from_raw(cursor.cast_mut()) });
        }
        assert_eq!(Rc::strong_count(&removed_log), 1);
    }
}
