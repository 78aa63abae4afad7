//! Twins of the functions for cursors and named snapshots.

use super::arguments::slice;
use crate::{
    batches::teak_cursor_read,
    codes::teak_code,
    cursors::{
        teak_cursor, teak_cursor_close, teak_cursor_move, teak_cursor_open, teak_cursor_seek,
        teak_cursor_seek_pair,
    },
    database::teak_db,
    error::teak_error,
    records::teak_record,
    snapshots::{teak_snapshot_create, teak_snapshot_drop, teak_snapshot_open},
    tables::teak_table,
    transactions::teak_txn,
};
use std::ffi::c_void;

/// teak_snapshot_create with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_snapshot_create(
    txn: u64,
    name: *const c_void,
    name_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_snapshot_create(teak_txn { handle: txn }, slice(name, name_len), error) }
}

/// teak_snapshot_drop with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_snapshot_drop(
    txn: u64,
    name: *const c_void,
    name_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_snapshot_drop(teak_txn { handle: txn }, slice(name, name_len), error) }
}

/// teak_snapshot_open with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_snapshot_open(
    db: u64,
    name: *const c_void,
    name_len: usize,
    txn: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_snapshot_open(
            teak_db { handle: db },
            slice(name, name_len),
            txn.cast::<teak_txn>(),
            error,
        )
    }
}

/// teak_cursor_open with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_cursor_open(
    txn: u64,
    table: u64,
    cursor: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_cursor_open(
            teak_txn { handle: txn },
            teak_table { number: table },
            cursor.cast::<teak_cursor>(),
            error,
        )
    }
}

/// teak_cursor_close with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_cursor_close(cursor: u64, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_cursor_close(teak_cursor { handle: cursor }, error) }
}

/// teak_cursor_move with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_cursor_move(
    cursor: u64,
    txn: u64,
    to: u32,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_cursor_move(
            teak_cursor { handle: cursor },
            teak_txn { handle: txn },
            to,
            record,
            error,
        )
    }
}

/// teak_cursor_seek with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_cursor_seek(
    cursor: u64,
    txn: u64,
    seek: u32,
    key: *const c_void,
    key_len: usize,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_cursor_seek(
            teak_cursor { handle: cursor },
            teak_txn { handle: txn },
            seek,
            slice(key, key_len),
            record,
            error,
        )
    }
}

/// teak_cursor_seek_pair with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_cursor_seek_pair(
    cursor: u64,
    txn: u64,
    seek: u32,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_cursor_seek_pair(
            teak_cursor { handle: cursor },
            teak_txn { handle: txn },
            seek,
            slice(key, key_len),
            slice(value, value_len),
            record,
            error,
        )
    }
}

/// teak_cursor_read with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_cursor_read(
    cursor: u64,
    txn: u64,
    direction: u32,
    records: *mut teak_record,
    max: usize,
    count: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_cursor_read(
            teak_cursor { handle: cursor },
            teak_txn { handle: txn },
            direction,
            records,
            max,
            count,
            error,
        )
    }
}
