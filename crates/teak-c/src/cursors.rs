//! Cursors: positions among the records of a table, independent of any transaction.

use crate::{
    border::{CallResult, OK, OutParameter, give, teak_slice, whether},
    cause::Failure,
    failure::{answer, teak_error},
    handles::{ExclusiveObject, HandleTable},
    names::{OpenDatabase, TableHandle},
    records::teak_record,
    tables::teak_table,
    teak_code,
    transactions::{Transaction, change, either, read, teak_txn},
};
use std::{borrow::Cow, sync::Arc};
use teak::{DeleteScope, DetachedCursor, WriteTxn};

/// A position among the records of a table. A cursor belongs to no transaction: each call names the
/// transaction to use, and the table may change between calls. Where a key has several values, each
/// pair of key and value is a record.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct teak_cursor {
    /// Zero for none.
    pub handle: u64,
}

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
    /// To the last value of the key before.
    TEAK_PREV_KEY = 6,
    /// To the next value of the same key. If there is none, the cursor does not move. The same
    /// holds for the three below.
    TEAK_NEXT_VALUE = 7,
    /// To the value before, of its key.
    TEAK_PREV_VALUE = 8,
    /// To the first value of its key.
    TEAK_FIRST_VALUE = 9,
    /// To the last value of its key.
    TEAK_LAST_VALUE = 10,
}

/// Which record is sought.
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

/// Which records a cursor removes.
#[repr(C)]
pub enum teak_delete_scope {
    /// The one that it is on.
    TEAK_DELETE_CURRENT = 0,
    /// All records before the position.
    TEAK_DELETE_BEFORE = 1,
    /// The one that it is on, and all before.
    TEAK_DELETE_UP_TO_CURRENT = 2,
    /// The current record and all after it.
    TEAK_DELETE_FROM_CURRENT = 3,
    /// All records after the position.
    TEAK_DELETE_AFTER = 4,
    /// All.
    TEAK_DELETE_ALL = 5,
    /// The values of the current key before the position.
    TEAK_DELETE_VALUES_BEFORE = 6,
    /// The values of the current key up to and including the current one.
    TEAK_DELETE_VALUES_UP_TO_CURRENT = 7,
    /// The values of the current key from the current one on.
    TEAK_DELETE_VALUES_FROM_CURRENT = 8,
    /// The values of the current key after the position.
    TEAK_DELETE_VALUES_AFTER = 9,
    /// All values of its key.
    TEAK_DELETE_ALL_VALUES = 10,
}

/// The object of a cursor handle.
pub(crate) struct CursorObject {
    opened: Arc<OpenDatabase>,
    pub(crate) table: teak_table,
    pub(crate) free: DetachedCursor,
    /// A copy of a value that is not contiguous in a page.
    value: Vec<u8>,
    /// Keys, and values like that, of the records that were read together.
    pub(crate) together: Vec<u8>,
}

static CURSORS: HandleTable<CursorObject> = HandleTable::new(5, "cursor");

/// A cursor, and the transaction to use it in.
pub(crate) fn changing<'h>(
    cursor: teak_cursor,
    transaction: &Transaction,
) -> Result<ExclusiveObject<'h, CursorObject>, Failure> {
    let held = CURSORS.change(cursor.handle)?;
    match Arc::ptr_eq(&held.opened, &transaction.opened) {
        true => Ok(held),
        false => Err(Failure::wrong_database("cursor")),
    }
}

impl CursorObject {
    /// The record that the cursor is on.
    fn record(&mut self, transaction: &Transaction) -> Result<teak_record, Failure> {
        let value = match either!(transaction, txn => self.free.value(txn))? {
            Cow::Borrowed(value) => teak_slice::new(value),
            Cow::Owned(value) => {
                self.value = value;
                teak_slice::new(&self.value)
            }
        };
        let key = teak_slice::new(self.free.key());
        Ok(teak_record { key, value })
    }
}

/// Moves a cursor, and stores the record that it is on afterwards.
///
/// # Safety
///
/// `record` is null or points to memory for one.
unsafe fn moved(
    cursor: teak_cursor,
    txn: teak_txn,
    record: *mut teak_record,
    step: impl FnOnce(&mut DetachedCursor, &Transaction) -> Result<bool, Failure>,
) -> CallResult {
    let transaction = read(txn)?;
    let mut held = changing(cursor, &transaction)?;
    let is_there = step(&mut held.free, &transaction)?;
    if record.is_null() {
        return Ok(whether(is_there));
    }
    let reported = match is_there {
        true => held.record(&transaction)?,
        false => teak_record::NOTHING,
    };
    // SAFETY: the caller's promise.
    unsafe { give(record, reported) };
    Ok(whether(is_there))
}

/// Opens a cursor over a table. The transaction only identifies the database. The cursor has no
/// position yet.
///
/// Threads: any; the cursor may go from one thread to another, and be used by one call at a time.
/// Lives: until teak_cursor_close.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE.
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
/// teak_code code;
/// while ((code = teak_cursor_move(cursor, txn, TEAK_NEXT, &record, &error)) == TEAK_OK)
///     printf("%.*s\n", (int)record.key.len, (const char *)record.key.data);
/// assert(code == TEAK_NONE); // and no error
/// check(teak_cursor_close(cursor, &error));
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_open(
    txn: teak_txn,
    table: teak_table,
    cursor: *mut teak_cursor,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(cursor, "cursor")?;
            out.set(teak_cursor { handle: 0 });
            let opened = Arc::clone(&read(txn)?.opened);
            let free = match opened.table(table.number)? {
                TableHandle::Plain(table) => DetachedCursor::new(table),
                TableHandle::Multi(table) => DetachedCursor::for_multi(table),
            };
            let handle = CURSORS.insert(CursorObject {
                opened,
                table,
                free,
                value: Vec::new(),
                together: Vec::new(),
            })?;
            out.set(teak_cursor { handle });
            OK
        })
    }
}

/// Creates another cursor at the same position.
///
/// Threads: any. Lives: until teak_cursor_close.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_clone(
    cursor: teak_cursor,
    clone: *mut teak_cursor,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(clone, "clone")?;
            out.set(teak_cursor { handle: 0 });
            let clone = {
                let held = CURSORS.read(cursor.handle)?;
                CursorObject {
                    opened: Arc::clone(&held.opened),
                    table: held.table,
                    free: held.free.clone(),
                    value: Vec::new(),
                    together: Vec::new(),
                }
            };
            let handle = CURSORS.insert(clone)?;
            out.set(teak_cursor { handle });
            OK
        })
    }
}

/// Closes a cursor.
///
/// Threads: any, while no other call uses the cursor. Lives: keys, and values that it gave where a key has several, must not be used any more.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_close(
    cursor: teak_cursor,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            drop(CURSORS.remove(cursor.handle)?);
            OK
        })
    }
}

/// Clears the position of a cursor, as if it had just been opened.
///
/// Threads: any, while no other call uses the cursor.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_reset(
    cursor: teak_cursor,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            CURSORS.change(cursor.handle)?.free.reset();
            OK
        })
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
                    5 => free.next_key(txn),
                    6 => free.prev_key(txn),
                    7 => free.next_value(txn),
                    8 => free.prev_value(txn),
                    9 => free.first_value(txn),
                    10 => free.last_value(txn),
                    other => return Err(unknown("move", other)),
                })?)
            })
        })
    }
}

fn unknown(description: &str, number: u32) -> Failure {
    let text = format!("there is no teak_{description} {number}; teak.h lists the values");
    Failure::invalid_argument(text)
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
                Ok(either!(transaction, txn => match seek {
                    0 => free.seek(txn, key),
                    1 => free.seek_exact(txn, key),
                    2 => free.seek_greater(txn, key),
                    3 => free.seek_less(txn, key),
                    4 => free.seek_less_or_equal(txn, key),
                    other => return Err(unknown("seek", other)),
                })?)
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
                Ok(either!(transaction, txn => match seek {
                    0 => free.seek_pair(txn, key, value),
                    1 => free.seek_pair_exact(txn, key, value),
                    2 => free.seek_pair_greater(txn, key, value),
                    3 => free.seek_pair_less(txn, key, value),
                    4 => free.seek_pair_less_or_equal(txn, key, value),
                    other => return Err(unknown("seek", other)),
                })?)
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
                Ok(either!(transaction, txn => match seek {
                    0 => free.seek_value(txn, key, value),
                    1 => free.seek_value_exact(txn, key, value),
                    2 => free.seek_value_greater(txn, key, value),
                    3 => free.seek_value_less(txn, key, value),
                    4 => free.seek_value_less_or_equal(txn, key, value),
                    other => return Err(unknown("seek", other)),
                })?)
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
                        Some((key, _)) => free.seek_exact(txn, &key),
                        None => Ok(false),
                    },
                    TableHandle::Multi(table) => match table.nth(txn, number)? {
                        Some((key, value)) => free.seek_pair_exact(txn, &key, &value),
                        None => Ok(false),
                    },
                })?)
            })
        })
    }
}

/// Gives the record that a cursor is on, without moving it; TEAK_NONE if the table does not have that now.
///
/// Threads, lives, errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_record(
    cursor: teak_cursor,
    txn: teak_txn,
    record: *mut teak_record,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            moved(cursor, txn, record, |free, transaction| {
                Ok(either!(transaction, txn => free.is_on_record(txn))?)
            })
        })
    }
}

/// Stores the number of values of the cursor's key, without reading them. Where a key has one
/// value, that is 1, or 0 without a record.
///
/// Threads, errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_count_values(
    cursor: teak_cursor,
    txn: teak_txn,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(count, "count")?;
            let transaction = read(txn)?;
            let held = changing(cursor, &transaction)?;
            out.set(either!(transaction, txn => held.free.count(txn))?);
            OK
        })
    }
}

/// Changes a table by a cursor.
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
                Ok(whether(free.insert_new(txn, key, value)?))
            })
        })
    }
}

/// Gives the record that the cursor is on another value; TEAK_NONE if it is on none, or, where a key has several values, the key has that value too.
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

/// Compares the positions of two cursors: -1, 0 or 1. Returns TEAK_NONE if they are over different
/// tables, or one has no position.
///
/// Threads: any, while no other call uses the cursors, which must be different ones.
///
/// Errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_compare(
    cursor: teak_cursor,
    other: teak_cursor,
    txn: teak_txn,
    order: *mut i32,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(order, "order")?;
            let transaction = read(txn)?;
            let (one, other) = (
                changing(cursor, &transaction)?,
                changing(other, &transaction)?,
            );
            let found = either!(transaction, txn => one.free.compare(&other.free, txn))?;
            if let Some(order) = found {
                out.set(order as i32);
            }
            Ok(whether(found.is_some()))
        })
    }
}
