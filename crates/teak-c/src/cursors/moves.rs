//! Moves and searches of cursors.

use super::object::{changing, moved, teak_cursor, unknown};
use crate::{
    error::{answer, teak_error},
    failure::Failure,
    ffi::teak_slice,
    names::TableHandle,
    records::teak_record,
    teak_code,
    transactions::{either, read, teak_txn},
};
use teak::{KeyStep, SeekOp, SeekTarget};

/// A movement of a cursor.
#[repr(C)]
pub enum teak_move {
    /// To the first record.
    TEAK_FIRST = 0,
    /// To the last record.
    TEAK_LAST = 1,
    /// To the next record. To the first one if the cursor has no position yet.
    TEAK_NEXT = 2,
    /// To the previous record. To the last one if the cursor has no position yet.
    TEAK_PREV = 3,
    /// Stays, or moves to the next record if the current one has been removed.
    TEAK_CURRENT = 4,
    /// To the first value of the next key.
    TEAK_NEXT_KEY = 5,
    /// To the last value of the previous key.
    TEAK_PREV_KEY = 6,
    /// To the next value of the current key. If there is none, the cursor does not move.
    TEAK_NEXT_VALUE = 7,
    /// To the previous value of the current key. If there is none, the cursor does not move.
    TEAK_PREV_VALUE = 8,
    /// To the first value of the current key.
    TEAK_FIRST_VALUE = 9,
    /// To the last value of the current key.
    TEAK_LAST_VALUE = 10,
}

/// The record that a search looks for.
#[repr(C)]
pub enum teak_seek {
    /// The first one at or after the given key or value.
    TEAK_AT_LEAST = 0,
    /// Exactly the given one. If there is none, the call returns TEAK_NONE and the cursor is on the
    /// first one after it.
    TEAK_EXACT = 1,
    /// The first one after the given key or value.
    TEAK_GREATER = 2,
    /// The last one before the given key or value.
    TEAK_LESS = 3,
    /// The last one at or before the given key or value.
    TEAK_AT_MOST = 4,
}

pub(crate) fn seek_op(seek: u32) -> Result<SeekOp, Failure> {
    match seek {
        0 => Ok(SeekOp::GreaterOrEqual),
        1 => Ok(SeekOp::Equal),
        2 => Ok(SeekOp::Greater),
        3 => Ok(SeekOp::Less),
        4 => Ok(SeekOp::LessOrEqual),
        other => Err(unknown("seek", other)),
    }
}

/// Moves a cursor as a teak_move says, and stores the record that it is on afterwards in `record`,
/// unless that is NULL. Returns TEAK_NONE and an empty record if there is none.
///
/// Threads: any, while no other call uses the cursor. Lives: the key until the next call with the
/// cursor; the value as that of teak_get, or, where a key has several, as the key.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_INVALID_ARGUMENT,
/// TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_CORRUPTED, TEAK_IO, TEAK_SNAPSHOT_LOST,
/// TEAK_FORKED. After an error the cursor has not moved.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_move(
    cursor: teak_cursor,
    txn: teak_txn,
    to: u32,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            moved(cursor, txn, record, |free, transaction| {
                Ok(either!(transaction, txn => match to {
                    0 => free.first(txn),
                    1 => free.last(txn),
                    2 => free.next(txn),
                    3 => free.prev(txn),
                    4 => free.current(txn),
                    5 => free.step(txn, KeyStep::NextKey),
                    6 => free.step(txn, KeyStep::PrevKey),
                    7 => free.step(txn, KeyStep::NextValue),
                    8 => free.step(txn, KeyStep::PrevValue),
                    9 => free.step(txn, KeyStep::FirstValue),
                    10 => free.step(txn, KeyStep::LastValue),
                    other => return Err(unknown("move", other)),
                })?)
            })
        })
    }
}

/// Seeks a key as a teak_seek says, and stores the record that the cursor is on afterwards in
/// `record`, unless that is NULL. Returns TEAK_NONE if there is none. Where a key has several
/// values, the cursor goes to the first of them; with TEAK_LESS and TEAK_AT_MOST it goes to the
/// last.
///
/// Threads, lives, errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_seek(
    cursor: teak_cursor,
    txn: teak_txn,
    seek: u32,
    key: teak_slice,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let key = key.bytes()?;
            moved(cursor, txn, record, |free, transaction| {
                let op = seek_op(seek)?;
                Ok(either!(transaction, txn => free.seek(txn, op, key))?)
            })
        })
    }
}

/// Seeks a pair of key and value, in a table in which a key has several.
///
/// Threads, lives, errors: as teak_cursor_move.
///
/// ```c
/// teak_table_options options = {.size = sizeof options, .several_values = 1};
/// teak_txn txn;
/// teak_table lines;
/// teak_cursor cursor;
/// teak_record record;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("lines"), &options, &lines, &error));
/// check(teak_insert_pair(txn, lines, teak_text("teak"), teak_text("3"), &error));
/// check(teak_insert_pair(txn, lines, teak_text("teak"), teak_text("5"), &error));
/// check(teak_cursor_open(txn, lines, &cursor, &error));
/// check(teak_cursor_seek_pair(cursor, txn, TEAK_GREATER, teak_text("teak"), teak_text("3"), &record, &error));
/// assert(record.value.len == 1 && *(const char *)record.value.data == '5');
/// assert(teak_cursor_move(cursor, txn, TEAK_NEXT_VALUE, &record, &error) == TEAK_NONE);
/// check(teak_cursor_close(cursor, &error));
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_seek_pair(
    cursor: teak_cursor,
    txn: teak_txn,
    seek: u32,
    key: teak_slice,
    value: teak_slice,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, value) = (key.bytes()?, value.bytes()?);
            moved(cursor, txn, record, |free, transaction| {
                let op = seek_op(seek)?;
                Ok(either!(transaction, txn => free.seek(txn, op, (key, value)))?)
            })
        })
    }
}

/// Seeks among the values of one key, in a table in which a key has several. If no value is found,
/// the cursor does not move.
///
/// Threads, lives, errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_seek_value(
    cursor: teak_cursor,
    txn: teak_txn,
    seek: u32,
    key: teak_slice,
    value: teak_slice,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, value) = (key.bytes()?, value.bytes()?);
            moved(cursor, txn, record, |free, transaction| {
                let op = seek_op(seek)?;
                Ok(either!(transaction, txn => free.seek(txn, op, SeekTarget::Value(key, value)))?)
            })
        })
    }
}

/// Moves to the record with a number, counted from 0 in the order of the table, and stores it in
/// `record`, unless that is NULL. Returns TEAK_NONE if the table has fewer records. Only for
/// counted tables; costs one descent. teak_rank is the inverse.
///
/// Threads, lives, errors: as teak_cursor_move; TEAK_INVALID_ARGUMENT for a table that is not
/// counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_nth(
    cursor: teak_cursor,
    txn: teak_txn,
    number: u64,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let table = {
                let transaction = read(txn)?;
                changing(cursor, &transaction)?.table
            };
            moved(cursor, txn, record, |free, transaction| {
                let named = transaction.opened.table(table.number)?;
                Ok(either!(transaction, txn => match named {
                    TableHandle::Plain(table) => match table.nth(txn, number)? {
                        Some((key, _)) => free.seek(txn, SeekOp::Equal, &key),
                        None => Ok(false),
                    },
                    TableHandle::Multi(table) => match table.nth(txn, number)? {
                        Some((key, value)) => free.seek(txn, SeekOp::Equal, (&key, &value)),
                        None => Ok(false),
                    },
                })?)
            })
        })
    }
}
