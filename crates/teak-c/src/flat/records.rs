//! Twins of the functions for records and pairs.

use super::{
    arguments::{bound, slice},
    copies::find,
};
use crate::{
    codes::teak_code,
    error::{answer, teak_error},
    ffi::{OutParameter, teak_slice, whether},
    pairs::{
        teak_contains_pair, teak_count_values, teak_insert_pair, teak_remove_pair,
        teak_remove_values,
    },
    ranges::{teak_compare_keys, teak_count_range},
    records::{
        plain_of, teak_append, teak_contains, teak_insert, teak_insert_new, teak_remove,
        teak_remove_range, teak_update,
    },
    tables::teak_table,
    transactions::{read, teak_txn},
};
use std::ffi::c_void;

/// teak_get with scalar arguments. In a read transaction it is faster for keys that are looked up
/// in their order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_get(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    value: *mut teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(value, "value")?;
            let transaction = read(teak_txn { handle: txn })?;
            let table = plain_of(&transaction.opened, teak_table { number: table })?;
            let found = find(&transaction, table, slice(key, key_len).bytes()?)?;
            out.set(found.map_or(teak_slice::NOTHING, teak_slice::new));
            Ok(whether(found.is_some()))
        })
    }
}

/// teak_contains with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_contains(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_contains(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            error,
        )
    }
}

/// teak_insert with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_insert(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_insert(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            slice(value, value_len),
            error,
        )
    }
}

/// teak_insert_new with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_insert_new(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_insert_new(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            slice(value, value_len),
            error,
        )
    }
}

/// teak_update with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_update(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_update(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            slice(value, value_len),
            error,
        )
    }
}

/// teak_append with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_append(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_append(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            slice(value, value_len),
            error,
        )
    }
}

/// teak_remove with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_remove(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_remove(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            error,
        )
    }
}

/// teak_remove_range with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_remove_range(
    txn: u64,
    table: u64,
    low_kind: u32,
    low: *const c_void,
    low_len: usize,
    high_kind: u32,
    high: *const c_void,
    high_len: usize,
    removed: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_remove_range(
            teak_txn { handle: txn },
            teak_table { number: table },
            bound(low_kind, low, low_len),
            bound(high_kind, high, high_len),
            removed,
            error,
        )
    }
}

/// teak_count_range with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_count_range(
    txn: u64,
    table: u64,
    low_kind: u32,
    low: *const c_void,
    low_len: usize,
    high_kind: u32,
    high: *const c_void,
    high_len: usize,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_count_range(
            teak_txn { handle: txn },
            teak_table { number: table },
            bound(low_kind, low, low_len),
            bound(high_kind, high, high_len),
            count,
            error,
        )
    }
}

/// teak_compare_keys with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_compare_keys(
    txn: u64,
    table: u64,
    a: *const c_void,
    a_len: usize,
    b: *const c_void,
    b_len: usize,
    order: *mut i32,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_compare_keys(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(a, a_len),
            slice(b, b_len),
            order,
            error,
        )
    }
}

/// teak_insert_pair with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_insert_pair(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_insert_pair(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            slice(value, value_len),
            error,
        )
    }
}

/// teak_contains_pair with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_contains_pair(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_contains_pair(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            slice(value, value_len),
            error,
        )
    }
}

/// teak_count_values with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_count_values(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_count_values(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            count,
            error,
        )
    }
}

/// teak_remove_pair with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_remove_pair(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_remove_pair(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            slice(value, value_len),
            error,
        )
    }
}

/// teak_remove_values with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_remove_values(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    removed: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_remove_values(
            teak_txn { handle: txn },
            teak_table { number: table },
            slice(key, key_len),
            removed,
            error,
        )
    }
}
