//! The conditions of insertions by detached cursors.

/// The condition under which
/// [`DetachedCursor::insert_as`](crate::DetachedCursor::insert_as) inserts a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertMode {
    /// No record has the key.
    NewKey,
    /// It is after the last record of the table. In a table with one value per key this takes no
    /// search.
    Last,
    /// It is after the other values of its key; only for a [`MultiTable`](crate::MultiTable).
    LastValue,
}
