//! A client's cursor: where it is, while the table changes below it.
//!
//! As long as nothing changes it has a borrowing cursor of the engine, its *walk*, which is on the record of its place. Before each change
//! of the transaction the place is turned into bytes, key and value, and the walk is given up; when the cursor is next used the place is
//! looked for. If there is no record any more the cursor is in a gap, and what follows from that is LMDB's behaviour after deletions.

mod changes;
mod moves;

use crate::{
    codes::{self, CallResult, Code},
    free_pages::FreePages,
    handles::{FREE, OpenDatabase},
    registry::{HandleKind, HasRegistry, Registry},
    transaction::Transaction,
    untracked_cursor::UntrackedCursor,
};
use std::{cell::RefCell, ffi::c_uint, fmt, sync::Arc};

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
    /// That by which C knows it.
    own_handle: *mut Cursor,
    transaction: *mut Transaction,
    handle: c_uint,
    is_of_writer: bool,
    position: CursorPosition,
    /// On the record of the place, and only if it is `At` one. Nothing has changed since.
    walk: Option<UntrackedCursor>,
    /// The last step forward led nowhere, or it went to the last record: LMDB takes the values of its key that may be left for the end.
    is_at_end: bool,
    /// The last search found no such key. Of the key that it led to LMDB has not looked at the values: if there are several, who asks for the
    /// one that the cursor is on is refused, and a step leads to the first or the last of them.
    is_without_value: bool,
    /// The value of the place is the first one of its key, whatever that is: the client writes it after it was put.
    is_at_first_value: bool,
}

/// Where a cursor is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum CursorPosition {
    #[default]
    Nowhere,
    /// At a record, or in the gap where it was. The bytes count only where there is no walk.
    At { key: Vec<u8>, value: Vec<u8> },
    /// Behind the last record.
    After,
}

/// The place of a cursor when a nested transaction began.
#[derive(Debug, Default)]
pub(crate) struct CursorBackup {
    position: CursorPosition,
    is_at_end: bool,
    is_without_value: bool,
    is_at_first_value: bool,
}

/// What the place of a cursor is in the table as it is now.
enum ResolvedPosition {
    Nowhere,
    On(UntrackedCursor),
    /// In a gap of this key; the walk is on the record behind it, if there is one.
    Gap(UntrackedCursor, Vec<u8>, Vec<u8>),
    After,
}

impl fmt::Debug for CursorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("handle", &self.handle)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Cursor {
    /// Makes a cursor that is nowhere, of a transaction that is to have it in its list; gives its handle too.
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
            own_handle: std::ptr::null_mut(),
            transaction,
            handle,
            is_of_writer,
            position: CursorPosition::Nowhere,
            walk: None,
            is_at_end: false,
            is_without_value: false,
            is_at_first_value: false,
        }))
    }

    pub(crate) fn inner(&self) -> CallResult<std::cell::RefMut<'_, CursorState>> {
        self.0.try_borrow_mut().map_err(|_| Code(codes::PANIC))
    }

    /// Changes it, unless it is just being used: who uses it has done the same.
    fn update(&self, change: impl FnOnce(&mut CursorState)) {
        if let Ok(mut inner) = self.0.try_borrow_mut() {
            change(&mut inner);
        }
    }

    pub(crate) fn transaction(&self) -> *mut Transaction {
        (self.0.try_borrow()).map_or(std::ptr::null_mut(), |inner| inner.transaction)
    }

    pub(crate) fn handle(&self) -> c_uint {
        self.0.try_borrow().map_or(0, |inner| inner.handle)
    }

    pub(crate) fn is_of_writer(&self) -> bool {
        self.0.try_borrow().is_ok_and(|inner| inner.is_of_writer)
    }

    pub(crate) fn set_transaction(&self, transaction: *mut Transaction) {
        self.update(|inner| inner.transaction = transaction);
    }

    /// Turns the place into bytes, since the table is about to change.
    pub(crate) fn freeze(&self) {
        self.update(CursorState::freeze);
    }

    /// Is nowhere, as in the beginning.
    pub(crate) fn reset(&self) {
        self.update(CursorState::reset);
    }

    pub(crate) fn reset_if_of(&self, handle: c_uint) {
        self.update(|inner| {
            if inner.handle == handle {
                inner.reset();
            }
        });
    }

    pub(crate) fn back_up(&self) -> CursorBackup {
        let mut backup = CursorBackup::default();
        self.update(|inner| {
            inner.freeze();
            backup = CursorBackup {
                position: inner.position.clone(),
                is_at_end: inner.is_at_end,
                is_without_value: inner.is_without_value,
                is_at_first_value: inner.is_at_first_value,
            };
        });
        backup
    }

    pub(crate) fn restore(&self, backup: CursorBackup) {
        self.update(|inner| {
            inner.walk = None;
            inner.position = backup.position;
            inner.is_at_end = backup.is_at_end;
            inner.is_without_value = backup.is_without_value;
            inner.is_at_first_value = backup.is_at_first_value;
        });
    }
}

impl CursorState {
    fn freeze(&mut self) {
        let Some(walk) = self.walk.take() else {
            return;
        };
        let value = match &walk {
            // The place among records of one value is their key.
            UntrackedCursor::Plain(_) => &[][..],
            walk => walk.value().unwrap_or_default(),
        };
        self.be_at(walk.key(), value);
    }

    fn reset(&mut self) {
        self.is_without_value = false;
        self.is_at_first_value = false;
        self.walk = None;
        self.position = CursorPosition::Nowhere;
        self.is_at_end = false;
    }

    /// Is at these bytes.
    fn be_at(&mut self, key: &[u8], value: &[u8]) {
        self.walk = None;
        self.is_at_first_value = false;
        match &mut self.position {
            CursorPosition::At {
                key: own_key,
                value: own_value,
            } => {
                own_key.clear();
                own_key.extend_from_slice(key);
                own_value.clear();
                own_value.extend_from_slice(value);
            }
            position => {
                *position = CursorPosition::At {
                    key: key.to_vec(),
                    value: value.to_vec(),
                }
            }
        }
    }

    /// Is on the record of a walk.
    fn be_on(&mut self, walk: UntrackedCursor) {
        self.is_without_value = false;
        self.is_at_first_value = false;
        if !matches!(self.position, CursorPosition::At { .. }) {
            self.position = CursorPosition::At {
                key: Vec::new(),
                value: Vec::new(),
            };
        }
        self.walk = Some(walk);
    }

    fn be_after(&mut self) {
        self.walk = None;
        self.position = CursorPosition::After;
        self.is_at_end = true;
    }

    /// The database, if it is there.
    fn open(&self, txn: &mut Transaction) -> CallResult<Option<Arc<OpenDatabase>>> {
        match self.handle {
            FREE => Ok(None),
            handle => txn.open(handle),
        }
    }

    /// A walk that is nowhere; `MDB_NOTFOUND` for a main database that is not there.
    fn new_walk(&self, txn: &mut Transaction) -> CallResult<UntrackedCursor> {
        if self.handle == FREE {
            let free = FreePages::new(&txn.opened.database, txn.id())?;
            return Ok(UntrackedCursor::Free(free));
        }
        let open = txn.open(self.handle)?.ok_or(Code::NOT_FOUND)?;
        // SAFETY: it is given up by `freeze` and `reset`, which the transaction calls before it changes, is reset or ends.
        unsafe { UntrackedCursor::new(txn.view()?, &open.tables) }
    }

    /// The walk, wherever it is, to be sent elsewhere.
    fn any_walk(&mut self, txn: &mut Transaction) -> CallResult<UntrackedCursor> {
        match self.walk.take() {
            Some(walk) => {
                // An error on the way leaves it nowhere, rather than at bytes that are not its own.
                self.position = CursorPosition::Nowhere;
                Ok(walk)
            }
            None => self.new_walk(txn),
        }
    }

    /// Looks for the place. After an error that follows the cursor is nowhere, unless it says otherwise.
    fn find(&mut self, txn: &mut Transaction) -> CallResult<ResolvedPosition> {
        if let Some(walk) = self.walk.take() {
            self.position = CursorPosition::Nowhere;
            return Ok(ResolvedPosition::On(walk));
        }
        let mut walk = match self.position {
            CursorPosition::Nowhere => return Ok(ResolvedPosition::Nowhere),
            CursorPosition::After => return Ok(ResolvedPosition::After),
            CursorPosition::At { .. } => self.new_walk(txn)?,
        };
        match &self.position {
            CursorPosition::At { key, .. } if self.is_at_first_value && walk.seek_exact(key)? => {
                Ok(ResolvedPosition::On(walk))
            }
            CursorPosition::At { key, value } if !walk.seek_pair_exact(key, value)? => {
                Ok(ResolvedPosition::Gap(walk, key.clone(), value.clone()))
            }
            _ => Ok(ResolvedPosition::On(walk)),
        }
    }
}
