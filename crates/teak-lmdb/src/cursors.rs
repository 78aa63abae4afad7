//! `mdb_cursor_*`.

use crate::{
    border::{Value, answer, key_and_data, live, live_mut, own, unanswered},
    codes::{self, CallResult, Code},
    cursor::Cursor,
    cursor_list::TrackedCursor,
    flags::{self, Operation},
    handles::FREE,
    registry::HasRegistry,
    transaction::Transaction,
};
use std::{
    ffi::{c_int, c_uint},
    ptr,
};

/// Opens a cursor on a database.
///
/// # Safety
///
/// `transaction` is a handle, and `cursor` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_open(
    transaction: *mut Transaction,
    handle: c_uint,
    cursor: *mut *mut Cursor,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (txn, out) = unsafe { (live_mut(transaction)?, own(cursor)?) };
        refuse_handle(txn, handle)?;
        txn.refuse_blocked()?;
        let (made, own_handle) = Cursor::open(txn, handle, txn.is_writing())?;
        // SAFETY: it was just made, and only `mdb_cursor_close` frees it after it has removed it.
        unsafe { txn.register(made) };
        *out = own_handle;
        Ok(())
    })
}

/// Refuses a handle that this transaction does not know. Only read transactions see the free pages.
fn refuse_handle(txn: &mut Transaction, handle: c_uint) -> CallResult {
    match handle {
        FREE if txn.is_writing() || txn.is_reset() => Err(Code::INVALID_ARGUMENT),
        FREE => Ok(()),
        handle => txn.open(handle).map(drop),
    }
}

/// Closes a cursor, and frees its handle.
///
/// # Safety
///
/// Nobody else uses `cursor`. Its handle may have ended, as those of a write transaction's cursors
/// do with the transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_close(cursor: *mut Cursor) {
    unanswered(|| {
        // SAFETY: the caller's promise.
        let found = Cursor::registry()
            .find(cursor)
            .ok_or(Code::INVALID_ARGUMENT)?;
        // SAFETY: registered objects exist.
        let transaction = unsafe { &*found }.transaction();
        // SAFETY: a cursor's transaction is null or exists.
        let is_own = match unsafe { transaction.as_mut() } {
            Some(transaction) => transaction.unregister(found),
            None => true,
        };
        if is_own {
            // SAFETY: it was made by `mdb_cursor_open`, and no list has it any more.
            drop(unsafe { Box::from_raw(found) });
        }
        Ok(())
    });
}

/// Moves a cursor of a read transaction to another one and clears its position.
///
/// # Safety
///
/// Both are handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_renew(
    transaction: *mut Transaction,
    cursor: *mut Cursor,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let open = unsafe { live(cursor) }?;
        {
            // SAFETY: the caller's promise.
            let txn = unsafe { live_mut(transaction) }?;
            refuse_handle(txn, open.handle())?;
            if open.is_of_writer() || txn.is_writing() {
                return Err(Code::INVALID_ARGUMENT);
            }
            txn.refuse_blocked()?;
        }
        // SAFETY: a cursor's transaction is null or exists.
        if let Some(before) = unsafe { open.transaction().as_mut() } {
            before.unregister(open);
        }
        open.reset();
        // SAFETY: the caller's promise.
        let txn = unsafe { live_mut(transaction) }?;
        open.set_transaction(txn);
        // SAFETY: as in `mdb_cursor_open`.
        unsafe { txn.register(ptr::from_ref(open)) };
        Ok(())
    })
}

/// Returns the transaction of a cursor; null if it has ended.
///
/// # Safety
///
/// `cursor` is null or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_txn(cursor: *mut Cursor) -> *mut Transaction {
    // SAFETY: the caller's promise.
    let transaction = unsafe { live(cursor) }.map_or(ptr::null_mut(), Cursor::transaction);
    // SAFETY: a cursor's transaction is null or exists.
    unsafe { transaction.as_ref() }.map_or(ptr::null_mut(), Transaction::handle)
}

/// Returns the handle of a cursor's database.
///
/// # Safety
///
/// `cursor` is null or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_dbi(cursor: *mut Cursor) -> c_uint {
    // SAFETY: the caller's promise.
    unsafe { live(cursor) }.map_or(0, Cursor::handle)
}

/// Moves a cursor and returns the record there.
///
/// # Safety
///
/// `cursor` is a handle, and `key` and `data` are null or point to values. The returned bytes are
/// valid until the transaction changes something or ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_get(
    cursor: *mut Cursor,
    key: *mut Value,
    data: *mut Value,
    operation: c_int,
) -> c_int {
    answer(|| {
        if operation == Operation::Next as c_int && key != data {
            // SAFETY: the caller's promise; the two differ.
            let (cursor, key, data) = unsafe { (live(cursor)?, key.as_mut(), data.as_mut()) };
            // SAFETY: the caller's promise; the two differ.
            if let Some(outcome) = unsafe { cursor.next_of_reader(key, data) } {
                return outcome;
            }
        }
        // SAFETY: the caller's promise.
        let (cursor, txn) = unsafe { both(cursor) }?;
        txn.refuse_blocked()?;
        let operation = Operation::from_number(operation).ok_or(Code::INVALID_ARGUMENT)?;
        txn.store_reserved()?;
        if key == data && !key.is_null() {
            // SAFETY: the caller's promise.
            return get_both_in_one(cursor, txn, unsafe { own(key) }?, operation);
        }
        // SAFETY: the caller's promise; the two differ.
        let (key, data) = unsafe { (key.as_mut(), data.as_mut()) };
        cursor.inner()?.get(txn, key, data, operation)
    })
}

/// Returns key and data in one value. LMDB stores the data there first, and then the key if the
/// operation returns it.
fn get_both_in_one(
    cursor: &Cursor,
    txn: &mut Transaction,
    both: &mut Value,
    operation: Operation,
) -> CallResult {
    let before = *both;
    let mut data = before;
    (cursor.inner()?).get(txn, Some(both), Some(&mut data), operation)?;
    if (both.bytes, both.len) == (before.bytes, before.len) {
        *both = data;
    }
    Ok(())
}

/// Puts a record and moves to it.
///
/// # Safety
///
/// `cursor` is a handle, and `key` and `data` point to values. With [`flags::MULTIPLE`], `data`
/// points to two.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_put(
    cursor: *mut Cursor,
    key: *mut Value,
    data: *mut Value,
    asked: c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (cursor, txn) = unsafe { both(cursor) }?;
        let mut copy = Value::default();
        // SAFETY: the caller's promise.
        let (key, first) = unsafe { key_and_data(key, data, &mut copy) }?;
        if asked & flags::MULTIPLE == 0 {
            txn.refuse_reader()?;
            txn.store_reserved()?;
            return cursor.inner()?.put(txn, key, first, asked);
        }
        let first = *first;
        // SAFETY: with this flag there are two values.
        let count = unsafe { own(data.add(1)) }?;
        let asked_count = std::mem::take(&mut count.len);
        if asked_count == 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        let is_fixed = (txn.open(cursor.handle())?).is_some_and(|open| open.has(flags::DUPFIXED));
        let is_new_main =
            txn.open(cursor.handle())?.is_none() && txn.main_flags()? & flags::DUPFIXED != 0;
        if !is_fixed && !is_new_main {
            return Err(Code(codes::INCOMPATIBLE));
        }
        txn.refuse_reader()?;
        txn.store_reserved()?;
        let len = first.len.checked_mul(asked_count).filter(|len| *len != 0);
        let all = Value {
            len: len.ok_or(Code(codes::BAD_VALSIZE))?,
            ..first
        };
        // SAFETY: the client passes this number of values, one after the other.
        let values = (unsafe { all.bytes() }?, first.len);
        let (done, outcome) =
            cursor
                .inner()?
                .put_several(txn, key, values, asked & !flags::MULTIPLE);
        count.len = done;
        outcome
    })
}

/// Deletes the record that the cursor is on; with [`flags::NODUPDATA`] all values of its key.
///
/// # Safety
///
/// `cursor` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_del(cursor: *mut Cursor, asked: c_uint) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (cursor, txn) = unsafe { both(cursor) }?;
        txn.refuse_reader()?;
        txn.store_reserved()?;
        cursor.inner()?.delete(txn, asked)
    })
}

/// Returns the number of values of the cursor's key.
///
/// # Safety
///
/// `cursor` is a handle, and `count` points to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cursor_count(cursor: *mut Cursor, count: *mut usize) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let ((cursor, txn), count) = unsafe { (both(cursor)?, own(count)?) };
        cursor.inner()?.refuse_one_value(txn, flags::DUPSORT)?;
        txn.refuse_blocked()?;
        txn.store_reserved()?;
        *count = cursor.inner()?.count(txn)?;
        Ok(())
    })
}

/// A cursor and its transaction.
///
/// # Safety
///
/// `cursor` is null or a handle, and no other function of its transaction is running.
unsafe fn both<'c>(cursor: *mut Cursor) -> CallResult<(&'c Cursor, &'c mut Transaction)> {
    // SAFETY: the caller's promise.
    let cursor = unsafe { live(cursor) }?;
    // SAFETY: a cursor's transaction is null or exists, and the caller promises that no other
    // function uses it.
    let transaction = unsafe { cursor.transaction().as_mut() };
    Ok((cursor, transaction.ok_or(Code(codes::BAD_TXN))?))
}
