//! `mdb_get`, `mdb_put` and `mdb_del`.

use crate::{
    border::{Value, answer, key_and_data, live_mut, shared},
    codes::{self, Code},
    compare::ComparisonScope,
    flags,
    orders::SoughtValue,
    put,
    transaction::Transaction,
};
use std::ffi::{c_int, c_uint};

/// Returns the value of a key, or its first one.
///
/// # Safety
///
/// `transaction` is a handle, and `key` and `data` point to values. The returned bytes are valid
/// until the transaction changes something or ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_get(
    transaction: *mut Transaction,
    handle: c_uint,
    key: *mut Value,
    data: *mut Value,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let txn = unsafe { live_mut(transaction) }?;
        let mut copy = Value::default();
        // SAFETY: the caller's promise.
        let (key, data) = unsafe { key_and_data(key, data, &mut copy) }?;
        txn.prepare(handle)?;
        txn.prepared(handle)?;
        txn.refuse_blocked()?;
        if key.len == 0 {
            return Err(Code(codes::BAD_VALSIZE));
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { key.bytes() }?;
        txn.store_reserved_of(handle, bytes)?;
        let open = txn.prepared(handle)?.ok_or(Code::NOT_FOUND)?;
        let _sought = SoughtValue::new(open, ComparisonScope::Keys, key, bytes);
        let found = txn.view()?.get(&open.tables, bytes).map_err(put::of_size)?;
        *data = Value::new(found.ok_or(Code::NOT_FOUND)?);
        Ok(())
    })
}

/// Puts a record.
///
/// # Safety
///
/// `transaction` is a handle, and `key` and `data` point to values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_put(
    transaction: *mut Transaction,
    handle: c_uint,
    key: *mut Value,
    data: *mut Value,
    asked: c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let txn = unsafe { live_mut(transaction) }?;
        let mut copy = Value::default();
        // SAFETY: the caller's promise.
        let (key, data) = unsafe { key_and_data(key, data, &mut copy) }?;
        txn.prepare(handle)?;
        txn.prepared(handle)?;
        let known = flags::NOOVERWRITE | flags::NODUPDATA | flags::RESERVE;
        if asked & !(known | flags::APPEND | flags::APPENDDUP) != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        put::put(txn, handle, key, data, asked)
    })
}

/// Deletes a key, or one of its values.
///
/// # Safety
///
/// `transaction` is a handle, `key` points to a value, and `data` is null or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_del(
    transaction: *mut Transaction,
    handle: c_uint,
    key: *mut Value,
    data: *mut Value,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (txn, key) = unsafe { (live_mut(transaction)?, shared(key)?) };
        // SAFETY: the caller's promise.
        put::delete(txn, handle, key, unsafe { data.as_ref() })
    })
}
