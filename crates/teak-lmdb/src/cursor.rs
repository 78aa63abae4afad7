//! A client's cursor, whose table may change under it.
//!
//! As long as nothing changes, it has a borrowing cursor of the engine, which is on the cursor's
//! record. Before each change of the transaction the position is saved as bytes (key and value),
//! and the engine cursor is dropped. The next use of the cursor looks the position up again. If the
//! record is gone the cursor is in a gap. Its behaviour there is LMDB's behaviour after deletions.

mod changes;
mod get;
mod search;
mod steps;
mod values;

use crate::{
    codes::{self, CallResult, Code},
    cursor_list::TrackedCursor,
    cursor_position::{CursorLocation, CursorPosition},
    engine_cursor::EngineCursor,
    free_pages::FreePages,
    handles::{FREE, OpenDatabase},
    registry::{HandleKind, HasRegistry, Registry},
    transaction::Transaction,
};
use std::{
    cell::{RefCell, RefMut},
    ffi::c_uint,
    fmt, ptr,
    sync::Arc,
};

/// `MDB_cursor`.
///
/// Invariant: `transaction` is null, or has this cursor in its list.
#[derive(Debug)]
pub struct Cursor(RefCell<CursorState>);

impl HasRegistry for Cursor {
    fn registry() -> &'static Registry<Self> {
        static CURSORS: Registry<Cursor> = Registry::new(HandleKind::Cursor);
        &CURSORS
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        Self::registry().end(self.0.get_mut().own_handle);
    }
}

pub(crate) struct CursorState {
    /// The handle that C has.
    own_handle: *mut Cursor,
    transaction: *mut Transaction,
    /// The handle of the database.
    handle: c_uint,
    is_of_writer: bool,
    position: CursorPosition,
    /// On the record of the position, whose location is `At` one. The table has not changed since.
    engine_cursor: Option<EngineCursor>,
}

/// A position, looked up in the table.
enum ResolvedPosition {
    Nowhere,
    On(EngineCursor),
    /// In the gap of this key and value. The engine cursor is on the next record, if there is one.
    Gap(EngineCursor, Vec<u8>, Vec<u8>),
    AfterLast,
}

impl fmt::Debug for CursorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CursorState")
            .field("handle", &self.handle)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Cursor {
    /// Makes a cursor without a position and returns it with its handle. The caller adds it to the
    /// transaction's list.
    pub(crate) fn open(
        transaction: *mut Transaction,
        handle: c_uint,
        is_of_writer: bool,
    ) -> CallResult<(*const Self, *mut Self)> {
        let mut cursor = Box::new(Self::new(transaction, handle, is_of_writer));
        let own_handle = Self::registry().insert(&raw mut *cursor)?;
        cursor.0.get_mut().own_handle = own_handle;
        Ok((Box::into_raw(cursor), own_handle))
    }

    fn new(transaction: *mut Transaction, handle: c_uint, is_of_writer: bool) -> Self {
        Self(RefCell::new(CursorState {
            own_handle: ptr::null_mut(),
            transaction,
            handle,
            is_of_writer,
            position: CursorPosition::default(),
            engine_cursor: None,
        }))
    }

    pub(crate) fn inner(&self) -> CallResult<RefMut<'_, CursorState>> {
        self.0.try_borrow_mut().map_err(|_| Code(codes::PANIC))
    }

    /// Changes the state, unless a function is using it. That function has done the same already.
    fn update(&self, change: impl FnOnce(&mut CursorState)) {
        if let Ok(mut inner) = self.0.try_borrow_mut() {
            change(&mut inner);
        }
    }

    pub(crate) fn transaction(&self) -> *mut Transaction {
        (self.0.try_borrow()).map_or(ptr::null_mut(), |inner| inner.transaction)
    }

    pub(crate) fn handle(&self) -> c_uint {
        self.0.try_borrow().map_or(0, |inner| inner.handle)
    }

    pub(crate) fn is_of_writer(&self) -> bool {
        self.0.try_borrow().is_ok_and(|inner| inner.is_of_writer)
    }
}

impl TrackedCursor<Transaction> for Cursor {
    fn set_transaction(&self, transaction: *mut Transaction) {
        self.update(|inner| inner.transaction = transaction);
    }

    fn freeze(&self) {
        self.update(CursorState::freeze);
    }

    fn reset(&self) {
        self.update(CursorState::reset);
    }

    fn reset_if_of(&self, handle: c_uint) {
        self.update(|inner| {
            if inner.handle == handle {
                inner.reset();
            }
        });
    }

    fn back_up(&self) -> CursorPosition {
        let mut backup = CursorPosition::default();
        self.update(|inner| {
            inner.freeze();
            backup.clone_from(&inner.position);
        });
        backup
    }

    fn restore(&self, position: CursorPosition) {
        self.update(|inner| {
            inner.engine_cursor = None;
            inner.position = position;
        });
    }
}

/// Setting the position.
impl CursorState {
    fn freeze(&mut self) {
        let Some(cursor) = self.engine_cursor.take() else {
            return;
        };
        let value = match &cursor {
            // Where a key has one value, the key is the position.
            EngineCursor::Plain(_) => &[][..],
            cursor => cursor.value().unwrap_or_default(),
        };
        self.be_at(cursor.key(), value);
    }

    fn reset(&mut self) {
        self.engine_cursor = None;
        self.position = CursorPosition::default();
    }

    /// Sets the position to these bytes.
    fn be_at(&mut self, key: &[u8], value: &[u8]) {
        self.engine_cursor = None;
        self.position.is_at_first_value = false;
        self.position.location.set(key, value);
    }

    /// Sets the position to the record of an engine cursor.
    fn be_on(&mut self, cursor: EngineCursor) {
        self.position.is_without_value = false;
        self.position.is_at_first_value = false;
        self.position.location.set_at_engine_cursor();
        self.engine_cursor = Some(cursor);
    }

    fn be_after_last(&mut self) {
        self.engine_cursor = None;
        self.position.location = CursorLocation::AfterLast;
        self.position.is_at_end = true;
    }

    fn is_nowhere(&self) -> bool {
        self.position.location == CursorLocation::Nowhere
    }
}

/// Looking the position up.
impl CursorState {
    /// The database, if it exists.
    fn open(&self, txn: &mut Transaction) -> CallResult<Option<Arc<OpenDatabase>>> {
        match self.handle {
            FREE => Ok(None),
            handle => txn.open(handle),
        }
    }

    /// An engine cursor without a position. `MDB_NOTFOUND` for a main database that does not exist.
    fn new_cursor(&self, txn: &mut Transaction) -> CallResult<EngineCursor> {
        if self.handle == FREE {
            let free = FreePages::new(&txn.opened.database, txn.id())?;
            return Ok(EngineCursor::Free(free));
        }
        let open = txn.open(self.handle)?.ok_or(Code::NOT_FOUND)?;
        // SAFETY: `freeze` and `reset` drop it, and the transaction calls them before it changes,
        // is reset or ends.
        unsafe { EngineCursor::new(txn.view()?, &open.tables) }
    }

    /// An engine cursor with any position, to be moved elsewhere.
    fn any_cursor(&mut self, txn: &mut Transaction) -> CallResult<EngineCursor> {
        match self.take_cursor() {
            Some(cursor) => Ok(cursor),
            None => self.new_cursor(txn),
        }
    }

    /// Takes the engine cursor. If an error follows, this cursor is nowhere, because the bytes of
    /// its location have no meaning.
    fn take_cursor(&mut self) -> Option<EngineCursor> {
        let cursor = self.engine_cursor.take()?;
        self.position.location = CursorLocation::Nowhere;
        Some(cursor)
    }

    /// Looks up the position. The caller then sets it.
    fn find(&mut self, txn: &mut Transaction) -> CallResult<ResolvedPosition> {
        if let Some(cursor) = self.take_cursor() {
            return Ok(ResolvedPosition::On(cursor));
        }
        let mut cursor = match self.position.location {
            CursorLocation::Nowhere => return Ok(ResolvedPosition::Nowhere),
            CursorLocation::AfterLast => return Ok(ResolvedPosition::AfterLast),
            CursorLocation::At { .. } => self.new_cursor(txn)?,
        };
        let is_at_first_value = self.position.is_at_first_value;
        match &self.position.location {
            CursorLocation::At { key, .. } if is_at_first_value && cursor.seek_exact(key)? => {
                Ok(ResolvedPosition::On(cursor))
            }
            CursorLocation::At { key, value } if !cursor.seek_pair_exact(key, value)? => {
                Ok(ResolvedPosition::Gap(cursor, key.clone(), value.clone()))
            }
            _ => Ok(ResolvedPosition::On(cursor)),
        }
    }
}
