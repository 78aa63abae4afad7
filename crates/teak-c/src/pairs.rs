//! Pairs of tables in which keys have several values.

use crate::{
    error::{answer, teak_error},
    failure::Failure,
    ffi::{OK, OutParameter, array, give, teak_slice, whether},
    names::{OpenDatabase, TableHandle},
    tables::{change_table, teak_table},
    teak_code,
    transactions::{either, read, teak_txn},
};
use teak::{MultiTable, WriteTxn, codec::Raw};

const ONE_VALUE: &str = "this is not a multi-value table; use the functions for records";

pub(crate) fn multi(named: &TableHandle) -> Result<&MultiTable<Raw, Raw>, Failure> {
    match named {
        TableHandle::Multi(table) => Ok(table),
        TableHandle::Plain(_) => Err(Failure::wrong_table(ONE_VALUE)),
    }
}

fn multi_of(opened: &OpenDatabase, table: teak_table) -> Result<&MultiTable<Raw, Raw>, Failure> {
    multi(opened.table(table.number)?)
}

fn change_multi<R>(
    txn: teak_txn,
    table: teak_table,
    work: impl FnOnce(&MultiTable<Raw, Raw>, &mut WriteTxn) -> Result<R, Failure>,
) -> Result<R, Failure> {
    change_table(txn, table, |table, txn| work(multi(table)?, txn))
}

/// Adds a value to a key. Returns TEAK_NONE if the key has that value already.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: those of teak_insert; TEAK_VALUE_TOO_LONG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_insert_pair(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    value: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, value) = (key.bytes()?, value.bytes()?);
            change_multi(txn, table, |table, txn| {
                Ok(whether(table.insert(txn, key, value)?))
            })
        })
    }
}

/// Adds many values to a key. Stores the number of new ones in `inserted`, unless that is NULL.
///
/// Threads, errors: as teak_insert_pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_insert_values(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    values: *const teak_slice,
    count: usize,
    inserted: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let key = key.bytes()?;
            let values: &[teak_slice] = array(values, count)?;
            let values = values.iter().map(|value| value.bytes());
            let values = values.collect::<Result<Vec<_>, Failure>>()?;
            let done = change_multi(txn, table, |table, txn| {
                Ok(table.insert_values(txn, key, &values)?)
            })?;
            give(inserted, done);
            OK
        })
    }
}

/// Returns TEAK_OK if a key has a value, and TEAK_NONE if not.
///
/// Threads, errors: as teak_get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_contains_pair(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    value: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, value) = (key.bytes()?, value.bytes()?);
            let transaction = read(txn)?;
            let table = multi_of(&transaction.opened, table)?;
            let is_there = either!(transaction, txn => table.contains(txn, key, value))?;
            Ok(whether(is_there))
        })
    }
}

/// Stores the number of values of a key, without reading them. Returns TEAK_NONE if it has none.
///
/// Threads, errors: as teak_get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_count_values(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(count, "count")?;
            let key = key.bytes()?;
            let transaction = read(txn)?;
            let table = multi_of(&transaction.opened, table)?;
            let counted = either!(transaction, txn => table.count(txn, key))?;
            out.set(counted);
            Ok(whether(counted > 0))
        })
    }
}

/// Replaces one value of a key by another. Returns TEAK_NONE if the key does not have the old one,
/// or has the new one too.
///
/// Threads, errors: as teak_insert_pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_replace_pair(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    old: teak_slice,
    new_value: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, old, new) = (key.bytes()?, old.bytes()?, new_value.bytes()?);
            change_multi(txn, table, |table, txn| {
                Ok(whether(table.replace(txn, key, old, new)?))
            })
        })
    }
}

/// Removes a value of a key. Returns TEAK_NONE if the key does not have it.
///
/// Threads, errors: as teak_insert_pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_remove_pair(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    value: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, value) = (key.bytes()?, value.bytes()?);
            change_multi(txn, table, |table, txn| {
                Ok(whether(table.remove(txn, key, value)?))
            })
        })
    }
}

/// Removes a key with all its values. Returns TEAK_NONE if the key does not exist. Stores the
/// number of values in `removed`, unless that is NULL.
///
/// Threads, errors: as teak_insert_pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_remove_values(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    removed: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let key = key.bytes()?;
            let done = change_multi(txn, table, |table, txn| Ok(table.remove_key(txn, key)?))?;
            give(removed, done);
            Ok(whether(done > 0))
        })
    }
}
