//! Changes of a table through a cursor.

use super::object::{changing, teak_cursor, unknown};
use crate::{
    error::{answer, teak_error},
    failure::Failure,
    ffi::{OK, give, teak_slice, whether},
    teak_code,
    transactions::{change, teak_txn},
};
use teak::{DeleteScope, DetachedCursor, InsertMode, WriteTxn};

/// The records that a cursor removes.
#[repr(C)]
pub enum teak_delete_scope {
    /// The current record.
    TEAK_DELETE_CURRENT = 0,
    /// All records before the position.
    TEAK_DELETE_BEFORE = 1,
    /// The current record and all before it.
    TEAK_DELETE_UP_TO_CURRENT = 2,
    /// The current record and all after it.
    TEAK_DELETE_FROM_CURRENT = 3,
    /// All records after the position.
    TEAK_DELETE_AFTER = 4,
    /// All records of the table.
    TEAK_DELETE_ALL = 5,
    /// The values of the current key before the position.
    TEAK_DELETE_VALUES_BEFORE = 6,
    /// The values of the current key up to and including the current one.
    TEAK_DELETE_VALUES_UP_TO_CURRENT = 7,
    /// The values of the current key from the current one on.
    TEAK_DELETE_VALUES_FROM_CURRENT = 8,
    /// The values of the current key after the position.
    TEAK_DELETE_VALUES_AFTER = 9,
    /// All values of the current key.
    TEAK_DELETE_ALL_VALUES = 10,
}

/// Changes a table through a cursor.
fn changed<R>(
    cursor: teak_cursor,
    txn: teak_txn,
    work: impl FnOnce(&mut DetachedCursor, &mut WriteTxn) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let mut transaction = change(txn)?;
    let mut held = changing(cursor, &transaction)?;
    transaction.change(|_, txn| work(&mut held.free, txn))
}

/// Inserts a record, and replaces the record with the same key if there is one. Where a key has
/// several values, adds the pair. Afterwards the cursor is on it.
///
/// Threads: any, while no other call uses the cursor or the transaction.
///
/// Errors: those of teak_insert and teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_insert(
    cursor: teak_cursor,
    txn: teak_txn,
    key: teak_slice,
    value: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, value) = (key.bytes()?, value.bytes()?);
            changed(cursor, txn, |free, txn| {
                free.insert(txn, key, value)?;
                OK
            })
        })
    }
}

/// Inserts a record if its key is new. Returns TEAK_NONE if the key exists; the cursor is then on
/// its record.
///
/// Threads, errors: as teak_cursor_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_insert_new(
    cursor: teak_cursor,
    txn: teak_txn,
    key: teak_slice,
    value: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, value) = (key.bytes()?, value.bytes()?);
            changed(cursor, txn, |free, txn| {
                Ok(whether(free.insert_as(
                    txn,
                    InsertMode::NewKey,
                    key,
                    value,
                )?))
            })
        })
    }
}

/// Replaces the value of the record that the cursor is on. Returns TEAK_NONE if it is on no record,
/// or if the key has several values and `value` is one of them already.
///
/// Threads, errors: as teak_cursor_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_update(
    cursor: teak_cursor,
    txn: teak_txn,
    value: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let value = value.bytes()?;
            changed(cursor, txn, |free, txn| {
                Ok(whether(free.update(txn, value)?))
            })
        })
    }
}

/// Removes records as a teak_delete_scope says. Returns TEAK_NONE if there were none. Stores their
/// number in `removed`, unless that is NULL. The cursor keeps its position: TEAK_NEXT continues
/// after the removed records.
///
/// Threads, errors: as teak_cursor_insert.
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
/// while (teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error) == TEAK_OK)
///     if (*(const char *)record.value.data == '1')
///         check(teak_cursor_remove(cursor, txn, TEAK_DELETE_CURRENT, NULL, &error));
/// check(teak_cursor_move(cursor, txn, TEAK_FIRST, &record, &error));
/// assert(memcmp(record.key.data, "elm", 3) == 0);
/// check(teak_cursor_close(cursor, &error));
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_remove(
    cursor: teak_cursor,
    txn: teak_txn,
    scope: u32,
    removed: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let scope = match scope {
                0 => None,
                1 => Some(DeleteScope::Before),
                2 => Some(DeleteScope::UpToCurrent),
                3 => Some(DeleteScope::FromCurrent),
                4 => Some(DeleteScope::After),
                5 => Some(DeleteScope::All),
                6 => Some(DeleteScope::ValuesBefore),
                7 => Some(DeleteScope::ValuesUpToCurrent),
                8 => Some(DeleteScope::ValuesFromCurrent),
                9 => Some(DeleteScope::ValuesAfter),
                10 => Some(DeleteScope::AllValues),
                other => return Err(unknown("scope", other)),
            };
            let count = changed(cursor, txn, |free, txn| {
                Ok(match scope {
                    None => free.remove(txn)?.into(),
                    Some(scope) => free.remove_scope(txn, scope)?,
                })
            })?;
            give(removed, count);
            Ok(whether(count > 0))
        })
    }
}
