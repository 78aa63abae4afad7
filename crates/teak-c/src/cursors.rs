//! Cursors: positions among the records of a table, independent of any transaction.

mod changes;
mod moves;
mod object;

pub use changes::*;
pub(crate) use moves::seek_op;
pub use moves::*;
pub use object::teak_cursor;
pub(crate) use object::{CursorObject, changing};

use crate::{
    error::{answer, teak_error},
    ffi::{OK, OutParameter, whether},
    names::TableHandle,
    records::teak_record,
    tables::teak_table,
    teak_code,
    transactions::{either, read, teak_txn},
};
use object::{CURSORS, moved};
use std::sync::Arc;
use teak::DetachedCursor;

/// Opens a cursor over a table. The transaction only identifies the database. The cursor has no
/// position yet.
///
/// Threads: any; the cursor may go from one thread to another, and be used by one call at a time.
/// Lives: until teak_cursor_close.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// teak_cursor cursor;
/// teak_record record;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("trees"), NULL, &table, &error));
/// check(teak_insert(txn, table, teak_text("ash"), teak_text("1"), &error));
/// check(teak_insert(txn, table, teak_text("elm"), teak_text("2"), &error));
/// check(teak_cursor_open(txn, table, &cursor, &error));
/// teak_code code;
/// while ((code = teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error)) == TEAK_OK)
///     printf("%.*s\n", (int)record.key.len, (const char *)record.key.data);
/// assert(code == TEAK_NONE); // and no error
/// check(teak_cursor_close(cursor, &error));
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_open(
    txn: teak_txn,
    table: teak_table,
    cursor: *mut teak_cursor,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(cursor, "cursor")?;
            out.set(teak_cursor { handle: 0 });
            let opened = Arc::clone(&read(txn)?.opened);
            let free = match opened.table(table.number)? {
                TableHandle::Plain(table) => DetachedCursor::new(table),
                TableHandle::Multi(table) => DetachedCursor::new(table),
            };
            let handle = CURSORS.insert(CursorObject {
                opened,
                table,
                free,
                value: Vec::new(),
                together: Vec::new(),
            })?;
            out.set(teak_cursor { handle });
            OK
        })
    }
}

/// Creates another cursor at the same position.
///
/// Threads: any. Lives: until teak_cursor_close.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_clone(
    cursor: teak_cursor,
    clone: *mut teak_cursor,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(clone, "clone")?;
            out.set(teak_cursor { handle: 0 });
            let clone = {
                let held = CURSORS.read(cursor.handle)?;
                CursorObject {
                    opened: Arc::clone(&held.opened),
                    table: held.table,
                    free: held.free.clone(),
                    value: Vec::new(),
                    together: Vec::new(),
                }
            };
            let handle = CURSORS.insert(clone)?;
            out.set(teak_cursor { handle });
            OK
        })
    }
}

/// Closes a cursor.
///
/// Threads: any, while no other call uses the cursor. Lives: keys that it returned must not be used
/// any more, nor its values if keys have several.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_close(
    cursor: teak_cursor,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            drop(CURSORS.remove(cursor.handle)?);
            OK
        })
    }
}

/// Clears the position of a cursor, as if it had just been opened.
///
/// Threads: any, while no other call uses the cursor.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_reset(
    cursor: teak_cursor,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            CURSORS.change(cursor.handle)?.free.reset();
            OK
        })
    }
}

/// Returns the record that a cursor is on, without moving it. Returns TEAK_NONE if the record has
/// been removed from the table.
///
/// Threads, lives, errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_record(
    cursor: teak_cursor,
    txn: teak_txn,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            moved(cursor, txn, record, |free, transaction| {
                Ok(either!(transaction, txn => free.is_on_record(txn))?)
            })
        })
    }
}

/// Stores the number of values of the cursor's key, without reading them. If keys have one
/// value, the number is 1, or 0 without a record.
///
/// Threads, errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_count_values(
    cursor: teak_cursor,
    txn: teak_txn,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(count, "count")?;
            let transaction = read(txn)?;
            let held = changing(cursor, &transaction)?;
            out.set(either!(transaction, txn => held.free.count(txn))?);
            OK
        })
    }
}

/// Compares the positions of two cursors: -1, 0 or 1. Returns TEAK_NONE if they are over different
/// tables, or if one has no position.
///
/// Threads: any, while no other call uses the cursors, which must be different ones.
///
/// Errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_compare(
    cursor: teak_cursor,
    other: teak_cursor,
    txn: teak_txn,
    order: *mut i32,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(order, "order")?;
            let transaction = read(txn)?;
            let (one, other) = (
                changing(cursor, &transaction)?,
                changing(other, &transaction)?,
            );
            let found = either!(transaction, txn => one.free.compare(&other.free, txn))?;
            if let Some(order) = found {
                out.set(order as i32);
            }
            Ok(whether(found.is_some()))
        })
    }
}
