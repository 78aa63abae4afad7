//! Prepared transactions: durable under a name, and invisible until they are decided.

use crate::{
    database::{DATABASES, teak_db},
    error::{answer, teak_error},
    ffi::{OK, OutParameter, give, teak_slice},
    snapshots::no_function,
    teak_code,
    transactions::{insert_reader, take_writer, teak_txn},
};
use std::{
    ffi::{c_int, c_void},
    time::SystemTime,
};
use teak::Error;

/// Makes the changes of a transaction durable under a name, without committing them. Readers see
/// them after teak_prepared_commit, and teak_prepared_roll_back undoes them; either is possible in
/// any process, also after a crash. Until then no other transaction begins to write. The
/// transaction ends. Stores its number in `id`, unless that is NULL.
///
/// Threads: any, while no other call uses the transaction. The handle ends even if there is an
/// error, except with the first three.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_INVALID_ARGUMENT for a name
/// of none or more than 255 bytes, and for a transaction that creates or drops a named snapshot or
/// sets the geometry; TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_IO, TEAK_CORRUPTED: nothing is
/// prepared; TEAK_POISONED and TEAK_IO of a flush: teak_prepared_each tells when the database is
/// opened again.
///
/// ```c
/// teak_txn txn;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_txn_prepare(txn, teak_text("transfer 7"), NULL, &error));
/// // When all others are prepared, too:
/// check(teak_prepared_commit(db, teak_text("transfer 7"), NULL, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_prepare(
    txn: teak_txn,
    name: teak_slice,
    id: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let name = name.bytes()?;
            let (txn, _presence) = take_writer(txn)?;
            give(id, txn.prepare(name)?.0);
            OK
        })
    }
}

/// Commits a prepared transaction. Stores the number of the commit in `id`, unless that is NULL.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY; TEAK_PREPARED_NOT_FOUND if none has that name, or not
/// any more; TEAK_READ_ONLY, TEAK_FORKED; TEAK_FULL, TEAK_IO, TEAK_CORRUPTED: it stays prepared;
/// TEAK_POISONED and TEAK_IO of a flush: teak_prepared_each tells when the database is opened
/// again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_prepared_commit(
    db: teak_db,
    name: teak_slice,
    id: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let name = name.bytes()?;
            let open = DATABASES.read(db.handle)?.for_call();
            give(id, open.database.commit_prepared(name)?.0);
            OK
        })
    }
}

/// Undoes a prepared transaction. Stores the number of the commit that undoes it in `id`, unless
/// that is NULL.
///
/// Threads, errors: as teak_prepared_commit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_prepared_roll_back(
    db: teak_db,
    name: teak_slice,
    id: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let name = name.bytes()?;
            let open = DATABASES.read(db.handle)?.for_call();
            give(id, open.database.rollback_prepared(name)?.0);
            OK
        })
    }
}

/// Begins to read the state that a prepared transaction would make visible. Returns TEAK_NONE if
/// none has that name.
///
/// Threads, lives, errors: as teak_txn_begin_read; TEAK_CORRUPTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_prepared_open(
    db: teak_db,
    name: teak_slice,
    txn: *mut teak_txn,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(txn, "txn")?;
            out.set(teak_txn { handle: 0 });
            let name = name.bytes()?;
            let open = DATABASES.read(db.handle)?;
            match open.database.open_prepared(name) {
                Err(Error::PreparedNotFound(_)) => Ok(teak_code::TEAK_NONE),
                reader => {
                    out.set(insert_reader(&open.opened, reader?)?);
                    OK
                }
            }
        })
    }
}

/// A prepared transaction, as teak_prepared_each reports it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_prepared {
    /// Its name.
    pub name: teak_slice,
    /// Its number.
    pub transaction: u64,
    /// When it was prepared, in microseconds since the beginning of 1970.
    pub time_us: u64,
    /// Pages that it wrote.
    pub changed_pages: u64,
}

/// A function that is called for each prepared transaction. A result other than 0 ends the walk.
pub type teak_prepared_function =
    Option<unsafe extern "C" fn(user: *mut c_void, prepared: *const teak_prepared) -> c_int>;

/// Calls a function for each prepared transaction, of which there is at most one. Returns TEAK_NONE
/// if the function ended the walk. A program that prepares transactions calls this when it starts,
/// before it writes.
///
/// Threads: any. Lives: the function's arguments until it returns.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED, TEAK_FORKED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_prepared_each(
    db: teak_db,
    each: teak_prepared_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let each = each.ok_or_else(no_function)?;
            let all = DATABASES.read(db.handle)?.database.prepared()?;
            for prepared in &all {
                let since = prepared.time.duration_since(SystemTime::UNIX_EPOCH);
                let reported = teak_prepared {
                    name: teak_slice::new(&prepared.name),
                    transaction: prepared.transaction.0,
                    time_us: since.map_or(0, |since| since.as_micros() as u64),
                    changed_pages: prepared.changed_pages,
                };
                if each(user, &raw const reported) != 0 {
                    return Ok(teak_code::TEAK_NONE);
                }
            }
            OK
        })
    }
}
