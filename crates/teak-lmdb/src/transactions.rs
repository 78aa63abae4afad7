//! `mdb_txn_*`.

use crate::{
    border::{answer, caught, live, live_mut, own, unanswered},
    codes::{self, CallResult, Code},
    environment::Environment,
    flags,
    registry::HasRegistry,
    transaction::{Transaction, TransactionEnd},
};
use std::{
    ffi::{c_int, c_uint},
    ptr,
};

/// Begins a transaction, nested in `parent` unless that is null.
///
/// # Safety
///
/// `environment` is a handle, `parent` is null or a handle of a transaction, and `transaction`
/// points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_txn_begin(
    environment: *mut Environment,
    parent: *mut Transaction,
    asked: c_uint,
    transaction: *mut *mut Transaction,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (opened, out) = unsafe { (live(environment)?.opened()?, own(transaction)?) };
        let is_reading = asked & flags::RDONLY != 0;
        if !is_reading {
            opened.refuse_read_only()?;
        }
        let begun = match parent.is_null() {
            true if is_reading => Transaction::read(environment, opened)?,
            true => Transaction::write(environment, opened)?,
            false => {
                // SAFETY: the caller's promise.
                let parent = unsafe { live_mut(parent) }?;
                if is_reading {
                    return Err(Code(match parent.is_writing() {
                        true => codes::BAD_TXN,
                        false => libc::EINVAL,
                    }));
                }
                Transaction::nested(parent)?
            }
        };
        *out = Transaction::give(begun)?;
        Ok(())
    })
}

/// Returns the environment of a transaction.
///
/// # Safety
///
/// `transaction` is null or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_txn_env(transaction: *mut Transaction) -> *mut Environment {
    // SAFETY: the caller's promise.
    match unsafe { live(transaction) } {
        Ok(transaction) => transaction.environment,
        Err(_) => ptr::null_mut(),
    }
}

/// Returns the number of the state that a transaction reads, or that its commit makes.
///
/// # Safety
///
/// `transaction` is null or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_txn_id(transaction: *mut Transaction) -> usize {
    // SAFETY: the caller's promise.
    let id = caught(|| Ok(unsafe { live(transaction) }?.id()));
    id.unwrap_or(0) as usize
}

/// Commits, including nested transactions, and frees the handle even if that fails.
///
/// # Safety
///
/// `transaction` is null or a handle. It is not used afterwards, nor are cursors of a write
/// transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_txn_commit(transaction: *mut Transaction) -> c_int {
    // SAFETY: the caller's promise.
    answer(|| unsafe { end(transaction, TransactionEnd::Commit) })
}

/// Undoes all changes, including nested transactions, and frees the handle.
///
/// # Safety
///
/// As for [`mdb_txn_commit`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_txn_abort(transaction: *mut Transaction) {
    // SAFETY: the caller's promise.
    unanswered(|| unsafe { end(transaction, TransactionEnd::Abort) });
}

/// # Safety
///
/// As for [`mdb_txn_commit`].
unsafe fn end(transaction: *mut Transaction, mode: TransactionEnd) -> CallResult {
    let found = Transaction::registry().find(transaction);
    let found = found.ok_or(Code::INVALID_ARGUMENT)?;
    // SAFETY: registered objects exist; a child is null or exists.
    let child = unsafe { (*found).child.as_ref() }.map(Transaction::handle);
    let mut mode = mode;
    let mut ended = Ok(());
    if let Some(child) = child {
        // SAFETY: it ends with its parent.
        ended = unsafe { end(child, mode) };
        if ended.is_err() {
            mode = TransactionEnd::Abort;
        }
    }
    // SAFETY: it was made by `mdb_txn_begin`, and the caller gives it up.
    let transaction = unsafe { Box::from_raw(found) };
    let own = transaction.end(mode);
    ended.and(own)
}

/// Ends a read transaction, and keeps its handle.
///
/// # Safety
///
/// `transaction` is null or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_txn_reset(transaction: *mut Transaction) {
    unanswered(|| {
        // SAFETY: the caller's promise.
        unsafe { live_mut(transaction) }?.reset();
        Ok(())
    });
}

/// Begins to read again with a handle that was kept.
///
/// # Safety
///
/// `transaction` is null or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_txn_renew(transaction: *mut Transaction) -> c_int {
    // SAFETY: the caller's promise.
    answer(|| unsafe { live_mut(transaction) }?.renew())
}
