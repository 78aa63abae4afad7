//! Twins of the functions for tables.

use super::arguments::slice;
use crate::{
    codes::teak_code,
    error::teak_error,
    options::teak_table_options,
    tables::{
        teak_table, teak_table_clear, teak_table_create, teak_table_draw_sequence, teak_table_drop,
        teak_table_get_stat, teak_table_open, teak_table_rename, teak_table_stat,
    },
    transactions::teak_txn,
};
use std::ffi::c_void;

/// teak_table_open with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_table_open(
    txn: u64,
    name: *const c_void,
    name_len: usize,
    table: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_table_open(
            teak_txn { handle: txn },
            slice(name, name_len),
            table.cast::<teak_table>(),
            error,
        )
    }
}

/// teak_table_create with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_table_create(
    txn: u64,
    name: *const c_void,
    name_len: usize,
    options: *const teak_table_options,
    table: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_table_create(
            teak_txn { handle: txn },
            slice(name, name_len),
            options,
            table.cast::<teak_table>(),
            error,
        )
    }
}

/// teak_table_drop with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_table_drop(
    txn: u64,
    name: *const c_void,
    name_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_table_drop(teak_txn { handle: txn }, slice(name, name_len), error) }
}

/// teak_table_rename with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_table_rename(
    txn: u64,
    old_name: *const c_void,
    old_name_len: usize,
    new_name: *const c_void,
    new_name_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_table_rename(
            teak_txn { handle: txn },
            slice(old_name, old_name_len),
            slice(new_name, new_name_len),
            error,
        )
    }
}

/// teak_table_clear with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_table_clear(
    txn: u64,
    table: u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_table_clear(
            teak_txn { handle: txn },
            teak_table { number: table },
            error,
        )
    }
}

/// teak_table_draw_sequence with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_table_draw_sequence(
    txn: u64,
    table: u64,
    count: u64,
    first: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_table_draw_sequence(
            teak_txn { handle: txn },
            teak_table { number: table },
            count,
            first,
            error,
        )
    }
}

/// teak_table_get_stat with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_table_get_stat(
    txn: u64,
    table: u64,
    stat: *mut teak_table_stat,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_table_get_stat(
            teak_txn { handle: txn },
            teak_table { number: table },
            stat,
            error,
        )
    }
}
