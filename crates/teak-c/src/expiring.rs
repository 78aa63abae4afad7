//! Tables whose records expire. They have a type of their own, because functions for other tables
//! would change their records and not their index.

use crate::{
    batches::teak_record_function,
    error::{answer, teak_error},
    expiry::{
        RawExpiringTable, TEAK_NEVER_EXPIRES, in_ms, limit, teak_expiry, teak_expiry_options,
        teak_expiry_stat,
    },
    failure::Failure,
    ffi::{Grows, OK, OutParameter, give, teak_slice, whether},
    records::teak_bound,
    snapshots::no_function,
    teak_code,
    transactions::{Transaction, change, either, read, teak_txn},
};
use std::{ffi::c_void, sync::Arc};
use teak::{Transaction as _, WriteTxn, codec::Raw};

/// A table whose records expire: a number that is valid while its database is open.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct teak_expiring_table {
    /// Zero for none.
    pub number: u64,
}

impl Transaction {
    fn expiring_number(&self, table: RawExpiringTable) -> Result<teak_expiring_table, Failure> {
        let number = self.opened.number_of_expiring(table)?;
        Ok(teak_expiring_table { number })
    }

    fn expiring(&self, table: teak_expiring_table) -> Result<Arc<RawExpiringTable>, Failure> {
        self.opened.expiring_table(table.number)
    }
}

fn change_expiring<R>(
    txn: teak_txn,
    table: teak_expiring_table,
    work: impl FnOnce(&RawExpiringTable, &mut WriteTxn) -> Result<R, Failure>,
) -> Result<R, Failure> {
    change(txn)?.change(|opened, txn| work(&*opened.expiring_table(table.number)?, txn))
}

/// Opens a table whose records expire. Returns TEAK_NONE if no table has that name.
///
/// Threads: any. Lives: as teak_table_open.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_TABLE_MISMATCH, TEAK_CORRUPTED,
/// TEAK_SNAPSHOT_LOST, TEAK_FORKED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_open(
    txn: teak_txn,
    name: teak_slice,
    table: *mut teak_expiring_table,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(table, "table")?;
            out.set(teak_expiring_table { number: 0 });
            let transaction = read(txn)?;
            let name = name.bytes()?;
            match either!(transaction, txn => txn.open_expiring_table(name)) {
                Err(teak::Error::TableNotFound(_)) => return Ok(teak_code::TEAK_NONE),
                opened => out.set(transaction.expiring_number(opened?)?),
            }
            OK
        })
    }
}

/// Opens a table whose records expire, or creates it if no table has that name. `options` may be
/// NULL. Those of a table that exists do not change.
///
/// Threads: any, while no other call uses the transaction. Lives: as teak_table_open.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_TABLE_MISMATCH for a table
/// of another kind; TEAK_KEY_TOO_LONG (of the name), TEAK_INVALID_ARGUMENT,
/// TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
///
/// ```c
/// teak_expiry_options options = {.size = sizeof options, .ttl_ms = 3600 * 1000};
/// teak_txn txn;
/// teak_expiring_table sessions;
/// teak_expiry minute = {.kind = TEAK_EXPIRY_AFTER, .ms = 60 * 1000};
/// teak_expiry past = {.kind = TEAK_EXPIRY_AT, .ms = 1};
/// teak_slice value;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_expiring_create(txn, teak_text("sessions"), &options, &sessions, &error));
/// check(teak_expiring_insert(txn, sessions, teak_text("a"), teak_text("Ada"), minute, &error));
/// check(teak_expiring_insert(txn, sessions, teak_text("b"), teak_text("Bob"), past, &error));
/// check(teak_expiring_get(txn, sessions, teak_text("a"), &value, NULL, &error));
/// assert(value.len == 3);
/// assert(teak_expiring_get(txn, sessions, teak_text("b"), &value, NULL, &error) == TEAK_NONE);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_create(
    txn: teak_txn,
    name: teak_slice,
    options: *const teak_expiry_options,
    table: *mut teak_expiring_table,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(table, "table")?;
            out.set(teak_expiring_table { number: 0 });
            let options = teak_expiry_options::read_from(options)?.to_engine();
            let name = name.bytes()?;
            let mut transaction = change(txn)?;
            let created = transaction
                .change(|_, txn| Ok(txn.create_expiring_table::<Raw, Raw>(name, &options)?))?;
            out.set(transaction.expiring_number(created)?);
            OK
        })
    }
}

/// Finds the value of a key. Returns TEAK_NONE and an empty value if there is no such record, or if
/// it has expired. `expires_ms` may be NULL; otherwise it gets the time at which the record
/// expires, in milliseconds since 1970, or TEAK_NEVER_EXPIRES.
///
/// Threads, lives, errors: as teak_get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_get(
    txn: teak_txn,
    table: teak_expiring_table,
    key: teak_slice,
    value: *mut teak_slice,
    expires_ms: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(value, "value")?;
            let transaction = read(txn)?;
            let table = transaction.expiring(table)?;
            let key = key.bytes()?;
            let found = either!(transaction, txn => table.get_with_expiry(txn, key))?;
            let (bytes, expiry) = match &found {
                Some((value, expiry)) => (teak_slice::new(value), in_ms(*expiry)),
                None => (teak_slice::NOTHING, TEAK_NEVER_EXPIRES),
            };
            out.set(bytes);
            give(expires_ms, expiry);
            Ok(whether(found.is_some()))
        })
    }
}

/// Inserts a record, or replaces it.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE,
/// TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_KEY_TOO_LONG, TEAK_INVALID_ARGUMENT,
/// TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_insert(
    txn: teak_txn,
    table: teak_expiring_table,
    key: teak_slice,
    value: teak_slice,
    expiry: teak_expiry,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, value, expiry) = (key.bytes()?, value.bytes()?, expiry.to_engine()?);
            change_expiring(txn, table, |table, txn| {
                table.insert_with_expiry(txn, key, value, expiry)?;
                OK
            })
        })
    }
}

/// Inserts a record. Returns TEAK_NONE and changes nothing if there is one with this key that has
/// not expired.
///
/// Threads, errors: as teak_expiring_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_insert_new(
    txn: teak_txn,
    table: teak_expiring_table,
    key: teak_slice,
    value: teak_slice,
    expiry: teak_expiry,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, value, expiry) = (key.bytes()?, value.bytes()?, expiry.to_engine()?);
            change_expiring(txn, table, |table, txn| {
                Ok(whether(table.insert_new(txn, key, value, expiry)?))
            })
        })
    }
}

/// Changes when a record expires. Returns TEAK_NONE if there is none that has not expired. Its
/// value is written again.
///
/// Threads, errors: as teak_expiring_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_set_expiry(
    txn: teak_txn,
    table: teak_expiring_table,
    key: teak_slice,
    expiry: teak_expiry,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (key, expiry) = (key.bytes()?, expiry.to_engine()?);
            change_expiring(txn, table, |table, txn| {
                Ok(whether(table.set_expiry(txn, key, expiry)?))
            })
        })
    }
}

/// Removes a record. Returns TEAK_NONE if there is none that has not expired.
///
/// Threads, errors: as teak_expiring_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_remove(
    txn: teak_txn,
    table: teak_expiring_table,
    key: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let key = key.bytes()?;
            change_expiring(txn, table, |table, txn| {
                Ok(whether(table.remove(txn, key)?))
            })
        })
    }
}

/// Removes up to `limit` expired records, those that expired first. `removed` may be NULL; it gets
/// their number. Commits remove a few, too.
///
/// Threads, errors: as teak_expiring_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_remove_expired(
    txn: teak_txn,
    table: teak_expiring_table,
    limit: u64,
    removed: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let count = change_expiring(txn, table, |table, txn| {
                Ok(table.remove_expired(txn, limit)?)
            })?;
            give(removed, count);
            OK
        })
    }
}

/// Removes all records.
///
/// Threads, errors: as teak_expiring_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_clear(
    txn: teak_txn,
    table: teak_expiring_table,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            change_expiring(txn, table, |table, txn| {
                table.clear(txn)?;
                OK
            })
        })
    }
}

/// Changes the time to live of records that are inserted from now on, and the limits. Removes the
/// oldest records above the limits. The first limits take time in proportion to the records.
///
/// Threads, errors: as teak_expiring_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_set_options(
    txn: teak_txn,
    table: teak_expiring_table,
    options: *const teak_expiry_options,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let options = teak_expiry_options::read_from(options)?;
            change_expiring(txn, table, |table, txn| {
                table.set_ttl(txn, options.ttl())?;
                table.set_max_records(txn, limit(options.max_records))?;
                table.set_max_bytes(txn, limit(options.max_bytes))?;
                OK
            })
        })
    }
}

/// Stores counts and settings. Takes a few descents.
///
/// Threads, errors: as teak_get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_stat(
    txn: teak_txn,
    table: teak_expiring_table,
    stat: *mut teak_expiry_stat,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let transaction = read(txn)?;
            let table = transaction.expiring(table)?;
            let found = either!(transaction, txn => table.stat(txn))?;
            let options = either!(transaction, txn => table.options(txn))?;
            teak_expiry_stat::new(&found, &options).write_to(stat);
            OK
        })
    }
}

/// Calls a function for each record of a range of keys that has not expired, in key order. Returns
/// TEAK_NONE when no records are left, and TEAK_OK if the function ended the walk by returning
/// another number than 0. The function may read with the same transaction.
///
/// Threads, errors: as teak_get; TEAK_INVALID_ARGUMENT. Lives: the function's arguments until it
/// returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_expiring_each(
    txn: teak_txn,
    table: teak_expiring_table,
    low: teak_bound,
    high: teak_bound,
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
            let table = transaction.expiring(table)?;
            either!(transaction, txn => {
                for record in table.range(txn, range)? {
                    let (key, value) = record?;
                    if each(user, teak_slice::new(&key), teak_slice::new(value)) != 0 {
                        return Ok(teak_code::TEAK_OK);
                    }
                }
            });
            Ok(teak_code::TEAK_NONE)
        })
    }
}
