//! Ranges and orders of both kinds of tables: counts, ranks, parts and comparisons.

use crate::{
    batches::teak_record_function,
    error::{answer, teak_error},
    ffi::{OK, OutParameter, give, teak_slice, whether},
    names::TableHandle,
    pairs::multi,
    records::{plain_of, teak_bound},
    snapshots::no_function,
    tables::teak_table,
    teak_code,
    transactions::{either, read, teak_txn},
};
use std::{ffi::c_void, ops::Bound};

/// Counts the records of a range of keys, or the pairs if keys have several values. In a counted
/// table this costs two descents.
///
/// Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_count_range(
    txn: teak_txn,
    table: teak_table,
    low: teak_bound,
    high: teak_bound,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(count, "count")?;
            let range = (low.to_engine()?, high.to_engine()?);
            let transaction = read(txn)?;
            let table = transaction.opened.table(table.number)?;
            out.set(either!(transaction, txn => match table {
                TableHandle::Plain(table) => table.range(range).count(txn),
                TableHandle::Multi(table) => table.range(range).count(txn),
            })?);
            OK
        })
    }
}

/// Estimates the number of records, or pairs, in a range of keys. Reads two paths of the tree.
/// There are at least `at_least` and at most `at_most`. All three pointers may be NULL.
///
/// Threads, errors: as teak_count_range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_estimate_range(
    txn: teak_txn,
    table: teak_table,
    low: teak_bound,
    high: teak_bound,
    records: *mut u64,
    at_least: *mut u64,
    at_most: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let range = (low.to_engine()?, high.to_engine()?);
            let transaction = read(txn)?;
            let table = transaction.opened.table(table.number)?;
            let about = either!(transaction, txn => match table {
                TableHandle::Plain(table) => table.range(range).estimate(txn),
                TableHandle::Multi(table) => table.range(range).estimate(txn),
            })?;
            give(records, about.records);
            give(at_least, about.at_least);
            give(at_most, about.at_most);
            OK
        })
    }
}

/// Compares two keys in the order of a table: -1, 0 or 1. The keys need not exist.
///
/// Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT for an integer of another length than the
/// keys.
///
/// ```c
/// teak_table_options options = {.size = sizeof options, .order = TEAK_ORDER_REVERSE_BYTES};
/// teak_txn txn;
/// teak_table table;
/// int32_t order;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("words"), &options, &table, &error));
/// check(teak_compare_keys(txn, table, teak_text("ab"), teak_text("ba"), &order, &error));
/// assert(order == 1);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_compare_keys(
    txn: teak_txn,
    table: teak_table,
    a: teak_slice,
    b: teak_slice,
    order: *mut i32,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(order, "order")?;
            let (a, b) = (a.bytes()?, b.bytes()?);
            let transaction = read(txn)?;
            let table = transaction.opened.table(table.number)?;
            out.set(either!(transaction, txn => match table {
                TableHandle::Plain(table) => table.compare_keys(txn, a, b),
                TableHandle::Multi(table) => table.compare_keys(txn, a, b),
            })? as i32);
            OK
        })
    }
}

/// Compares two values in the order of a table in which keys have several values.
///
/// Threads, errors: as teak_compare_keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_compare_values(
    txn: teak_txn,
    table: teak_table,
    a: teak_slice,
    b: teak_slice,
    order: *mut i32,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(order, "order")?;
            let (a, b) = (a.bytes()?, b.bytes()?);
            let transaction = read(txn)?;
            let table = multi(transaction.opened.table(table.number)?)?;
            out.set(either!(transaction, txn => table.compare_values(txn, a, b))? as i32);
            OK
        })
    }
}

/// Stores the number of records with smaller keys, which is the number of the key's own record,
/// counted from 0, if that exists. Only for counted tables with one value per key; costs one
/// descent.
///
/// Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT for a table that is not counted.
///
/// ```c
/// teak_table_options options = {.size = sizeof options, .counted = 1};
/// teak_txn txn;
/// teak_table words;
/// teak_cursor cursor;
/// teak_record record;
/// uint64_t rank;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("words"), &options, &words, &error));
/// check(teak_insert(txn, words, teak_text("ash"), teak_text("1"), &error));
/// check(teak_insert(txn, words, teak_text("elm"), teak_text("2"), &error));
/// check(teak_rank(txn, words, teak_text("elm"), &rank, &error));
/// assert(rank == 1);
/// check(teak_cursor_open(txn, words, &cursor, &error));
/// check(teak_cursor_nth(cursor, txn, rank, &record, &error));
/// assert(memcmp(record.key.data, "elm", 3) == 0);
/// check(teak_cursor_close(cursor, &error));
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_rank(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    rank: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(rank, "rank")?;
            let key = key.bytes()?;
            let transaction = read(txn)?;
            let table = plain_of(&transaction.opened, table)?;
            out.set(either!(transaction, txn => table.rank(txn, key))?);
            OK
        })
    }
}

/// Stores the number of pairs before this one, by key and then by value. Only for counted tables in
/// which keys have several values.
///
/// Threads, errors: as teak_rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_rank_pair(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    value: teak_slice,
    rank: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(rank, "rank")?;
            let (key, value) = (key.bytes()?, value.bytes()?);
            let transaction = read(txn)?;
            let table = multi(transaction.opened.table(table.number)?)?;
            out.set(either!(transaction, txn => table.rank(txn, key, value))?);
            OK
        })
    }
}

/// Splits a range into parts with about equal numbers of records, or pairs, for several threads or
/// processes to read. Calls a function with the key at which each part except the first begins, and
/// with the value if the part begins among the values of the key; the value is empty otherwise.
/// Returns TEAK_NONE if the function ended the calls before the last one. There are `parts` parts,
/// but never more than records, nor more than 65,536.
///
/// Threads: any. Lives: the function's arguments until it returns.
///
/// Errors: as teak_count_range; TEAK_INVALID_ARGUMENT for no parts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_split_range(
    txn: teak_txn,
    table: teak_table,
    low: teak_bound,
    high: teak_bound,
    parts: usize,
    each: teak_record_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let each = each.ok_or_else(no_function)?;
            let range = (low.to_engine()?, high.to_engine()?);
            let transaction = read(txn)?;
            let visit = |low: Bound<(&[u8], Option<&[u8]>)>| {
                let (Bound::Included((key, value)) | Bound::Excluded((key, value))) = low else {
                    return true;
                };
                let value = value.unwrap_or_default();
                each(user, teak_slice::new(key), teak_slice::new(value)) == 0
            };
            let is_whole = either!(transaction, txn => {
                match transaction.opened.table(table.number)? {
                    TableHandle::Plain(table) => {
                        let parts = table.range(range).split(txn, parts)?;
                        parts.iter().skip(1).all(|part| visit(part.low()))
                    }
                    TableHandle::Multi(table) => {
                        let parts = table.range(range).split(txn, parts)?;
                        parts.iter().skip(1).all(|part| visit(part.low()))
                    }
                }
            });
            Ok(whether(is_whole))
        })
    }
}
