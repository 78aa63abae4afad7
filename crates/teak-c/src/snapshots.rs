//! Named snapshots, and the differences between two states.

use crate::{
    database::{DATABASES, teak_db},
    error::{answer, teak_error},
    failure::Failure,
    ffi::{CallResult, OK, OutParameter, give, teak_slice, whether},
    names::TableHandle,
    tables::teak_table,
    teak_code,
    transactions::{change, insert_reader, read, teak_txn},
};
use std::{
    ffi::{c_int, c_void},
    ops::Bound,
    sync::Arc,
    time::SystemTime,
};
use teak::{Difference, Error};

/// Creates a named snapshot of the state that a transaction makes. The state is kept until the
/// snapshot is dropped. If teak_snapshot_roll_back follows in the transaction, the snapshot has the
/// state that the transaction began with.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_SNAPSHOT_EXISTS;
/// TEAK_INVALID_ARGUMENT for a name of none or more than 255 bytes; TEAK_TRANSACTION_BROKEN,
/// TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_snapshot_create(
    txn: teak_txn,
    name: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let name = name.bytes()?;
            change(txn)?.change(|_, txn| {
                txn.create_snapshot(name)?;
                OK
            })
        })
    }
}

/// Drops a named snapshot. Returns TEAK_NONE if none has that name.
///
/// Threads, errors: as teak_snapshot_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_snapshot_drop(
    txn: teak_txn,
    name: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let name = name.bytes()?;
            change(txn)?.change(|_, txn| match txn.drop_snapshot(name) {
                Err(Error::SnapshotNotFound(_)) => Ok(teak_code::TEAK_NONE),
                dropped => {
                    dropped?;
                    OK
                }
            })
        })
    }
}

/// Resets all tables to their contents in a named snapshot. Takes effect when the transaction is
/// committed.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read before must
/// not be used any more.
///
/// Errors: as teak_snapshot_create; TEAK_SNAPSHOT_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_snapshot_roll_back(
    txn: teak_txn,
    name: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let name = name.bytes()?;
            change(txn)?.change(|_, txn| {
                txn.roll_back_to_snapshot(name)?;
                OK
            })
        })
    }
}

/// Begins to read a named snapshot. Returns TEAK_NONE if none has that name.
///
/// Threads, lives, errors: as teak_txn_begin_read; TEAK_CORRUPTED.
///
/// ```c
/// teak_txn txn;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_snapshot_create(txn, teak_text("monday"), &error));
/// check(teak_txn_commit(txn, NULL, &error));
/// check(teak_snapshot_open(db, teak_text("monday"), &txn, &error));
/// check(teak_txn_end(txn, &error));
/// assert(teak_snapshot_open(db, teak_text("tuesday"), &txn, &error) == TEAK_NONE);
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_snapshot_open(
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
            match open.database.open_snapshot(name) {
                Err(Error::SnapshotNotFound(_)) => Ok(teak_code::TEAK_NONE),
                reader => {
                    out.set(insert_reader(&open.opened, reader?)?);
                    OK
                }
            }
        })
    }
}

/// A named snapshot, as teak_snapshot_each reports it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_snapshot {
    /// Its name.
    pub name: teak_slice,
    /// The commit that made its state.
    pub transaction: u64,
    /// The time of that commit, in microseconds since the beginning of 1970.
    pub time_us: u64,
    /// Pages that would be free if nothing kept this state.
    pub kept_pages: u64,
}

/// A function that is called for each named snapshot. A result other than 0 ends the walk.
pub type teak_snapshot_function =
    Option<unsafe extern "C" fn(user: *mut c_void, snapshot: *const teak_snapshot) -> c_int>;

/// Calls a function for each named snapshot, in the order of their names. Returns TEAK_NONE if the
/// function ended the walk before the last one.
///
/// Threads: any. Lives: the function's arguments until it returns.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED, TEAK_FORKED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_snapshot_each(
    db: teak_db,
    each: teak_snapshot_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let each = each.ok_or_else(no_function)?;
            let snapshots = DATABASES.read(db.handle)?.database.snapshots()?;
            for snapshot in &snapshots {
                let since = snapshot.time.duration_since(SystemTime::UNIX_EPOCH);
                let reported = teak_snapshot {
                    name: teak_slice::new(&snapshot.name),
                    transaction: snapshot.transaction.0,
                    time_us: since.map_or(0, |since| since.as_micros() as u64),
                    kept_pages: snapshot.kept_pages,
                };
                if each(user, &raw const reported) != 0 {
                    return Ok(teak_code::TEAK_NONE);
                }
            }
            OK
        })
    }
}

pub(crate) fn no_function() -> Failure {
    Failure::invalid_argument("the callback is a null pointer")
}

/// How a record differs between two states.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum teak_change {
    /// Only the newer state has it.
    TEAK_INSERTED = 0,
    /// Both have its key, with different values.
    TEAK_CHANGED = 1,
    /// Only the older state has it.
    TEAK_REMOVED = 2,
}

/// A record that differs between two states.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_difference {
    /// A teak_change. If keys have several values, pairs are not changed: one is removed and
    /// another inserted.
    pub change: u32,
    /// Zero.
    pub reserved: u32,
    /// Its key.
    pub key: teak_slice,
    /// Its value in the older state; empty if that state does not have the record.
    pub old_value: teak_slice,
    /// Its value in the newer state; empty if that state does not have the record.
    pub new_value: teak_slice,
}

impl teak_difference {
    fn new(change: teak_change, key: &[u8], [old, new]: [Option<&[u8]>; 2]) -> Self {
        let slice = |value: Option<&[u8]>| value.map_or(teak_slice::NOTHING, teak_slice::new);
        Self {
            change: change as u32,
            reserved: 0,
            key: teak_slice::new(key),
            old_value: slice(old),
            new_value: slice(new),
        }
    }
}

/// A function that is called for each difference. A result other than 0 ends the walk.
pub type teak_difference_function =
    Option<unsafe extern "C" fn(user: *mut c_void, difference: *const teak_difference) -> c_int>;

/// Calls a function for each record in which two states of a table differ, in the order of keys.
/// Returns TEAK_NONE if the function ended the walk before the last one. The time depends on the
/// amount of change, not on the size of the table. Stores the number of reported differences in
/// `count`, unless that is NULL.
///
/// Threads: any. Lives: the function's arguments until it returns. It may read with both
/// transactions.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_WRONG_TRANSACTION,
/// TEAK_INVALID_ARGUMENT, TEAK_TABLE_NOT_FOUND, TEAK_TABLE_MISMATCH, TEAK_CORRUPTED,
/// TEAK_SNAPSHOT_LOST, TEAK_FORKED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_differences(
    older: teak_txn,
    newer: teak_txn,
    table: teak_table,
    each: teak_difference_function,
    user: *mut c_void,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            each_difference(older, newer, table, None, each, user, count)
        })
    }
}

/// Calls `each` for the differences after a record, or for all. The value of `after` counts only
/// if keys have several.
///
/// # Safety
///
/// As for [`teak_differences`].
pub(crate) unsafe fn each_difference(
    older: teak_txn,
    newer: teak_txn,
    table: teak_table,
    after: Option<(&[u8], &[u8])>,
    each: teak_difference_function,
    user: *mut c_void,
    count: *mut u64,
) -> CallResult {
    let each = each.ok_or_else(no_function)?;
    let (older, newer) = (read(older)?, read(newer)?);
    if !Arc::ptr_eq(&older.opened, &newer.opened) {
        return Err(Failure::wrong_database("transaction"));
    }
    let mut reported = 0_u64;
    let mut visit = |difference: teak_difference| {
        reported += 1;
        // SAFETY: the caller's promise.
        unsafe { each(user, &raw const difference) == 0 }
    };
    let (old, new) = (older.reader()?, newer.reader()?);
    let (low, high) = (
        after.map_or(Bound::Unbounded, Bound::Excluded),
        Bound::Unbounded,
    );
    let is_whole = match newer.opened.table(table.number)? {
        TableHandle::Plain(table) => {
            let range = table.range_encoded(low.map(|(key, _)| (key, None)), high);
            until(range.differences(old, new)?, |difference| {
                visit(of_record(&difference))
            })
        }
        TableHandle::Multi(table) => {
            let range = table.range_encoded(low.map(|(key, value)| (key, Some(value))), high);
            until(range.differences(old, new)?, |difference| {
                visit(of_record(&difference))
            })
        }
    }?;
    // SAFETY: the caller's promise.
    unsafe { give(count, reported) };
    Ok(whether(is_whole))
}

/// Continues while `visit` says so. Returns whether the walk reached the end.
fn until<T>(
    differences: impl Iterator<Item = teak::Result<T>>,
    mut visit: impl FnMut(T) -> bool,
) -> teak::Result<bool> {
    for difference in differences {
        if !visit(difference?) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn of_record<K: AsRef<[u8]>, V: AsRef<[u8]>>(difference: &Difference<K, V>) -> teak_difference {
    use teak_change as C;
    match difference {
        Difference::Inserted { key, value } => {
            let values = [None, Some(value.as_ref())];
            teak_difference::new(C::TEAK_INSERTED, key.as_ref(), values)
        }
        Difference::Changed { key, old, new } => {
            let values = [Some(old.as_ref()), Some(new.as_ref())];
            teak_difference::new(C::TEAK_CHANGED, key.as_ref(), values)
        }
        Difference::Removed { key, value } => {
            let values = [Some(value.as_ref()), None];
            teak_difference::new(C::TEAK_REMOVED, key.as_ref(), values)
        }
    }
}
