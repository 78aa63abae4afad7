//! Ranges and orders, of either kind of table: counts, and how keys and values follow each other.

use crate::{
    border::{OK, Out, answer, give, teak_slice},
    failure::teak_error,
    names::Named,
    pairs::multi,
    records::teak_bound,
    tables::teak_table,
    teak_code,
    transactions::{either, read, teak_txn},
};

/// Counts the records of a range of keys, or, where a key has several values, the pairs. In a table that counts it takes two descents.
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
            let out = Out::new(count, "count")?;
            let range = (low.to_engine()?, high.to_engine()?);
            let transaction = read(txn)?;
            let table = transaction.opened.table(table.number)?;
            out.set(either!(transaction, txn => match table {
                Named::Plain(table) => table.count_range(txn, range),
                Named::Multi(table) => table.count_range(txn, range),
            })?);
            OK
        })
    }
}

/// Estimates how many records, or pairs, a range of keys has, by looking at two paths: there are not fewer than `at_least` and not more than `at_most`. All three may be NULL.
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
                Named::Plain(table) => table.estimate_range(txn, range),
                Named::Multi(table) => table.estimate_range(txn, range),
            })?;
            give(records, about.records);
            give(at_least, about.at_least);
            give(at_most, about.at_most);
            OK
        })
    }
}

/// How two keys follow each other in the order of a table, whether it has them or not: -1, 0 or 1.
///
/// Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT for an integer of another length than the keys.
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
            let out = Out::new(order, "order")?;
            let (a, b) = (a.bytes()?, b.bytes()?);
            let transaction = read(txn)?;
            let table = transaction.opened.table(table.number)?;
            out.set(either!(transaction, txn => match table {
                Named::Plain(table) => table.compare_keys(txn, a, b),
                Named::Multi(table) => table.compare_keys(txn, a, b),
            })? as i32);
            OK
        })
    }
}

/// The same for values, in a table in which a key has several.
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
            let out = Out::new(order, "order")?;
            let (a, b) = (a.bytes()?, b.bytes()?);
            let transaction = read(txn)?;
            let table = multi(transaction.opened.table(table.number)?)?;
            out.set(either!(transaction, txn => table.compare_values(txn, a, b))? as i32);
            OK
        })
    }
}
