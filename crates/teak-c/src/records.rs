//! Records of tables in which keys have one value.

use crate::{
    error::{answer, teak_error},
    failure::Failure,
    ffi::{CallResult, OK, OutParameter, array, array_mut, give, teak_slice, whether},
    names::{OpenDatabase, TableHandle},
    tables::{change_table, teak_table},
    teak_code,
    transactions::{either, read, teak_txn},
};
use std::ops::Bound;
use teak::{Table, WriteTxn, codec::Raw};

/// A key and its value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_record {
    /// The key.
    pub key: teak_slice,
    /// The value.
    pub value: teak_slice,
}

impl teak_record {
    pub(crate) const NOTHING: Self = Self {
        key: teak_slice::NOTHING,
        value: teak_slice::NOTHING,
    };
}

/// The kind of a range's bound.
#[repr(C)]
pub enum teak_bound_kind {
    /// There is no bound.
    TEAK_UNBOUNDED = 0,
    /// The range includes the key.
    TEAK_INCLUDED = 1,
    /// The range excludes the key.
    TEAK_EXCLUDED = 2,
}

/// A bound of a range. All zero for no bound.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_bound {
    /// A teak_bound_kind.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
    /// The key.
    pub key: teak_slice,
}

impl teak_bound {
    /// # Safety
    ///
    /// The key is valid and unchanged for `'k`.
    pub(crate) unsafe fn to_engine<'k>(self) -> Result<Bound<&'k [u8]>, Failure> {
        // SAFETY: the caller's promise.
        let key = || unsafe { self.key.bytes() };
        match self.kind {
            0 => Ok(Bound::Unbounded),
            1 => Ok(Bound::Included(key()?)),
            2 => Ok(Bound::Excluded(key()?)),
            other => Err(Failure::invalid_argument(format!(
                "there is no kind of bound {other}"
            ))),
        }
    }
}

const SEVERAL_VALUES: &str = "this is a multi-value table; use the functions for pairs";

pub(crate) fn plain(named: &TableHandle) -> Result<&Table<Raw, Raw>, Failure> {
    match named {
        TableHandle::Plain(table) => Ok(table),
        TableHandle::Multi(_) => Err(Failure::wrong_table(SEVERAL_VALUES)),
    }
}

#[inline]
pub(crate) fn plain_of(
    opened: &OpenDatabase,
    table: teak_table,
) -> Result<&Table<Raw, Raw>, Failure> {
    plain(opened.table(table.number)?)
}

fn change_plain<R>(
    txn: teak_txn,
    table: teak_table,
    work: impl FnOnce(&Table<Raw, Raw>, &mut WriteTxn) -> Result<R, Failure>,
) -> Result<R, Failure> {
    change_table(txn, table, |table, txn| work(plain(table)?, txn))
}

/// Finds the value of a key. Returns TEAK_NONE and an empty value if the key does not exist.
///
/// Threads: any. Lives: the value as long as the read transaction or a clone of it; in a write
/// transaction until its next change.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_TABLE_NOT_FOUND,
/// TEAK_TABLE_MISMATCH, TEAK_CORRUPTED, TEAK_IO, TEAK_SNAPSHOT_LOST, TEAK_FORKED.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// teak_slice value;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("ages"), NULL, &table, &error));
/// check(teak_insert(txn, table, teak_text("Ada"), teak_text("36"), &error));
/// check(teak_get(txn, table, teak_text("Ada"), &value, &error));
/// assert(value.len == 2 && memcmp(value.data, "36", 2) == 0);
/// assert(teak_get(txn, table, teak_text("Bob"), &value, &error) == TEAK_NONE);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_get(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    value: *mut teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(value, "value")?;
            let transaction = read(txn)?;
            let table = plain_of(&transaction.opened, table)?;
            let key = key.bytes()?;
            let found = either!(transaction, txn => table.get(txn, key))?;
            out.set(found.map_or(teak_slice::NOTHING, teak_slice::new));
            Ok(whether(found.is_some()))
        })
    }
}

/// Finds the values of many keys, faster than one by one. Stores the value of `keys[i]` in
/// `values[i]`, with a data of NULL if the key does not exist. Stores the number of keys found in
/// `found`, unless that is NULL.
///
/// Threads, lives, errors: as teak_get. After an error the values are undefined.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("ages"), NULL, &table, &error));
/// check(teak_insert(txn, table, teak_text("Ada"), teak_text("36"), &error));
/// teak_slice keys[] = {teak_text("Ada"), teak_text("Bob")}, values[2];
/// size_t found;
/// check(teak_get_many(txn, table, keys, 2, values, &found, &error));
/// assert(found == 1 && values[0].len == 2 && values[1].data == NULL);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_get_many(
    txn: teak_txn,
    table: teak_table,
    keys: *const teak_slice,
    count: usize,
    values: *mut teak_slice,
    found: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let values = array_mut(values, count)?;
            let keys = byte_slices(keys, count)?;
            let transaction = read(txn)?;
            let table = plain_of(&transaction.opened, table)?;
            let got = either!(transaction, txn => table.get_many(txn, &keys))?;
            for (value, got) in values.iter_mut().zip(&got) {
                *value = got.map_or(teak_slice::NOTHING, teak_slice::new);
            }
            give(found, got.iter().flatten().count());
            OK
        })
    }
}

/// # Safety
///
/// The slices and their bytes are valid and unchanged for `'k`.
unsafe fn byte_slices<'k>(keys: *const teak_slice, count: usize) -> Result<Vec<&'k [u8]>, Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        let keys: &'k [teak_slice] = array(keys, count)?;
        keys.iter().map(|key| key.bytes()).collect()
    }
}

/// Returns TEAK_OK if a key exists, and TEAK_NONE if not.
///
/// Threads, errors: as teak_get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_contains(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let transaction = read(txn)?;
            let table = plain_of(&transaction.opened, table)?;
            let key = key.bytes()?;
            Ok(whether(
                either!(transaction, txn => table.contains_key(txn, key))?,
            ))
        })
    }
}

/// Inserts a record, and replaces the record with the same key if there is one.
///
/// Threads: any, while no other call uses the transaction. The arguments may point to values of the
/// same transaction: they are read before anything is changed.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE,
/// TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_KEY_TOO_LONG, TEAK_INVALID_ARGUMENT,
/// TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_insert(
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
            change_plain(txn, table, |table, txn| {
                table.insert(txn, key, value)?;
                OK
            })
        })
    }
}

/// Inserts a record if its key is new. Returns TEAK_NONE if the key exists; its record is not
/// changed.
///
/// Threads, errors: as teak_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_insert_new(
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
            change_plain(txn, table, |table, txn| {
                Ok(whether(table.insert_new(txn, key, value)?))
            })
        })
    }
}

/// Replaces the value of a record. Returns TEAK_NONE if the key does not exist.
///
/// Threads, errors: as teak_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_update(
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
            change_plain(txn, table, |table, txn| {
                Ok(whether(table.update(txn, key, value)?))
            })
        })
    }
}

/// Inserts a record after the last one, without a search.
///
/// Threads, errors: as teak_insert; TEAK_NOT_SORTED if the key does not come after the last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_append(
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
            change_plain(txn, table, |table, txn| {
                table.append(txn, key, value)?;
                OK
            })
        })
    }
}

/// Changes a record if its value is the expected one. `old` may be NULL for a key that is expected
/// not to exist, and `new_value` may be NULL to remove the record. Returns TEAK_NONE if the value
/// differs; the record is not changed.
///
/// Threads, errors: as teak_insert.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("locks"), NULL, &table, &error));
/// teak_slice mine = teak_text("mine");
/// check(teak_compare_and_swap(txn, table, teak_text("door"), NULL, &mine, &error));
/// assert(teak_compare_and_swap(txn, table, teak_text("door"), NULL, &mine, &error) == TEAK_NONE);
/// check(teak_compare_and_swap(txn, table, teak_text("door"), &mine, NULL, &error));
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_compare_and_swap(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    old: *const teak_slice,
    new_value: *const teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let key = key.bytes()?;
            let old = old.as_ref().map(|old| old.bytes()).transpose()?;
            let new = new_value.as_ref().map(|new| new.bytes()).transpose()?;
            change_plain(txn, table, |table, txn| {
                let swapped = table.compare_and_swap(txn, key, old, new)?;
                Ok(whether(swapped == Ok(())))
            })
        })
    }
}

/// Removes the record of a key. Returns TEAK_NONE if the key does not exist.
///
/// Threads, errors: as teak_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_remove(
    txn: teak_txn,
    table: teak_table,
    key: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let key = key.bytes()?;
            change_plain(txn, table, |table, txn| {
                Ok(whether(table.remove(txn, key)?))
            })
        })
    }
}

/// Inserts many records in any order, faster than one by one. Of several records with the same key
/// the last one counts. Stores the number of new keys in `inserted`, unless that is NULL. If the
/// table has several values per key, the pairs are added.
///
/// Threads, errors: as teak_insert. Nothing is changed if a key is invalid.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// uint64_t inserted;
/// teak_record records[] = {{teak_text("elm"), teak_text("2")}, {teak_text("ash"), teak_text("1")}};
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("trees"), NULL, &table, &error));
/// check(teak_insert_many(txn, table, records, 2, &inserted, &error));
/// assert(inserted == 2);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_insert_many(
    txn: teak_txn,
    table: teak_table,
    records: *const teak_record,
    count: usize,
    inserted: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let records: &[teak_record] = array(records, count)?;
            let pair = |record: &teak_record| Ok((record.key.bytes()?, record.value.bytes()?));
            let records = records
                .iter()
                .map(pair)
                .collect::<Result<Vec<_>, Failure>>()?;
            let done = change_table(txn, table, |table, txn| {
                Ok(match table {
                    TableHandle::Plain(table) => table.insert_many(txn, &records)?,
                    TableHandle::Multi(table) => table.insert_many(txn, &records)?,
                })
            })?;
            give(inserted, done);
            OK
        })
    }
}

/// Removes the records of many keys. Stores the number of removed records in `removed`, unless that
/// is NULL.
///
/// Threads, errors: as teak_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_remove_many(
    txn: teak_txn,
    table: teak_table,
    keys: *const teak_slice,
    count: usize,
    removed: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let keys = byte_slices(keys, count)?;
            let done = change_plain(txn, table, |table, txn| Ok(table.remove_many(txn, &keys)?))?;
            give(removed, done);
            OK
        })
    }
}

/// Removes all records of a range, or all pairs if keys have several values. Pages that lie within
/// the range are released unread. Stores the number of removed records in `removed`, unless
/// that is NULL.
///
/// Threads, errors: as teak_insert.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// uint64_t removed;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("log"), NULL, &table, &error));
/// check(teak_insert(txn, table, teak_text("2025-12-31"), teak_text("old"), &error));
/// check(teak_insert(txn, table, teak_text("2026-01-01"), teak_text("new"), &error));
/// teak_bound all = {0}, end = {.kind = TEAK_EXCLUDED, .key = teak_text("2026")};
/// check(teak_remove_range(txn, table, all, end, &removed, &error));
/// assert(removed == 1);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_remove_range(
    txn: teak_txn,
    table: teak_table,
    low: teak_bound,
    high: teak_bound,
    removed: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || -> CallResult {
            let range = (low.to_engine()?, high.to_engine()?);
            let done = change_table(txn, table, |table, txn| {
                Ok(match table {
                    TableHandle::Plain(table) => table.range(range).remove(txn)?,
                    TableHandle::Multi(table) => table.range(range).remove(txn)?,
                })
            })?;
            give(removed, done);
            OK
        })
    }
}
