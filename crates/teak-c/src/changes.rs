//! Following other processes: open readers, waiting for commits, and the tables that commits
//! changed.

use crate::{
    database::{DATABASES, teak_db},
    error::{answer, teak_error},
    failure::Failure,
    ffi::{CallResult, OutParameter, teak_slice, whether},
    snapshots::{no_function, teak_change},
    teak_code,
    transactions::{read, teak_txn},
};
use std::{
    ffi::{c_int, c_void},
    sync::Arc,
    time::Duration,
};
use teak::{ReaderInfo, TableChange, TransactionId};

/// A read transaction of any process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_reader {
    /// The id of its process, 0 if that is not known here.
    pub process: u32,
    /// 1 if it is parked: its state is given up when the space is needed.
    pub is_parked: u32,
    /// The system's number of the thread that began it.
    pub thread: u64,
    /// The time since then, in milliseconds.
    pub age_ms: u64,
    /// The state that it reads.
    pub transaction: u64,
    /// The number of commits that have become visible since.
    pub lag: u64,
    /// Pages that would be free without this reader.
    pub kept_pages: u64,
    /// 1 if it was cancelled and has not ended yet.
    pub is_cancelled: u64,
}

impl From<&ReaderInfo> for teak_reader {
    fn from(reader: &ReaderInfo) -> Self {
        Self {
            process: reader.process.unwrap_or(0),
            is_parked: reader.is_parked.into(),
            thread: reader.thread,
            age_ms: u64::try_from(reader.age.as_millis()).unwrap_or(u64::MAX),
            transaction: reader.transaction.0,
            lag: reader.lag,
            kept_pages: reader.kept_pages,
            is_cancelled: reader.is_cancelled.into(),
        }
    }
}

/// The decision about a reader.
#[repr(C)]
pub enum teak_reader_choice {
    /// Continue with the next reader.
    TEAK_READER_LEAVE = 0,
    /// End the walk.
    TEAK_READER_STOP = 1,
    /// Cancel it: its next call returns TEAK_SNAPSHOT_LOST, and its pages become free when it has
    /// ended. The walk continues.
    TEAK_READER_CANCEL = 2,
}

/// A function that is called for each reader. It returns a teak_reader_choice.
pub type teak_reader_function =
    Option<unsafe extern "C" fn(user: *mut c_void, reader: *const teak_reader) -> c_int>;

/// Calls a function for each open read transaction of all processes. Returns TEAK_NONE if the
/// function ended the walk before the last one.
///
/// Threads: any. Lives: the function's arguments until it returns.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_CORRUPTED; TEAK_INVALID_ARGUMENT if the function
/// returns another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_each_reader(
    db: teak_db,
    each: teak_reader_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let each = each.ok_or_else(no_function)?;
            let database = DATABASES.read(db.handle)?.database.clone();
            for reader in &database.readers()? {
                let reported = teak_reader::from(reader);
                match each(user, &raw const reported) {
                    0 => {}
                    1 => return Ok(teak_code::TEAK_NONE),
                    2 => {
                        database.cancel_reader(reader)?;
                    }
                    other => {
                        let text = format!("there is no teak_reader_choice {other}");
                        return Err(Failure::invalid_argument(text));
                    }
                }
            }
            Ok(teak_code::TEAK_OK)
        })
    }
}

/// Waits until there is a commit newer than `after`, of any process, and stores the number of the
/// newest visible commit. Waits at most the given number of milliseconds and then returns
/// TEAK_NONE; UINT64_MAX waits without a limit. A program that then begins to read, and compares
/// with its previous state by teak_changed_tables and teak_differences, follows all commits.
///
/// Threads: any; the database may be closed while the call waits.
///
/// Errors: TEAK_INVALID_HANDLE; TEAK_INVALID_ARGUMENT if the database was closed during the wait.
///
/// ```c
/// teak_txn before, txn;
/// teak_table table;
/// uint64_t seen, newest;
/// check(teak_txn_begin_read(db, &before, &error));
/// check(teak_txn_id(before, &seen, &error));
/// assert(teak_db_wait_for_commit(db, seen, 0, &newest, &error) == TEAK_NONE);
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("words"), NULL, &table, &error));
/// check(teak_txn_commit(txn, NULL, &error));
/// check(teak_db_wait_for_commit(db, seen, UINT64_MAX, &newest, &error));
/// assert(newest > seen);
/// check(teak_txn_end(before, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_wait_for_commit(
    db: teak_db,
    after: u64,
    limit_ms: u64,
    newest: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || -> CallResult {
            let out = OutParameter::new(newest, "newest")?;
            // While this waits, it does not use the handle, nor keep the database open.
            let database = DATABASES.read(db.handle)?.database.clone();
            let limit = (limit_ms != u64::MAX).then(|| Duration::from_millis(limit_ms));
            let seen = database.wait_for_commit(TransactionId(after), limit)?;
            if let Some(seen) = seen {
                out.set(seen.0);
            }
            Ok(whether(seen.is_some()))
        })
    }
}

/// A function that is called for each table that differs between two states, with its name and a
/// teak_change. An answer other than 0 ends the walk.
pub type teak_table_change_function =
    Option<unsafe extern "C" fn(user: *mut c_void, name: teak_slice, change: u32) -> c_int>;

/// Calls a function for each table that was created (TEAK_INSERTED), dropped (TEAK_REMOVED) or
/// changed since an older state, in the order of their names. Returns TEAK_NONE if the function
/// ended the walk before the last one. A renamed table counts as dropped and created.
///
/// Threads: any. Lives: the name until the function returns.
///
/// Errors: as teak_differences.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_changed_tables(
    older: teak_txn,
    newer: teak_txn,
    each: teak_table_change_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let each = each.ok_or_else(no_function)?;
            let (older, newer) = (read(older)?, read(newer)?);
            if !Arc::ptr_eq(&older.opened, &newer.opened) {
                return Err(Failure::wrong_database("transaction"));
            }
            let changed = newer.reader()?.changed_tables(older.reader()?)?;
            let is_whole = changed.iter().all(|(name, change)| {
                let change = match change {
                    TableChange::Created => teak_change::TEAK_INSERTED,
                    TableChange::Dropped => teak_change::TEAK_REMOVED,
                    _ => teak_change::TEAK_CHANGED,
                };
                each(user, teak_slice::new(name), change as u32) == 0
            });
            Ok(whether(is_whole))
        })
    }
}

/// Stores the id of the process that is writing now, which is the one that teak_txn_begin_write
/// waits for. Returns TEAK_NONE if there is none, or if it is unknown, as in another PID namespace.
/// A process may keep the writer lock between two transactions, to commit what it has in memory.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
///
/// ```c
/// uint32_t writer;
/// teak_txn txn;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_db_writer_process(db, &writer, &error));
/// assert(writer != 0);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_writer_process(
    db: teak_db,
    process: *mut u32,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || -> CallResult {
            let out = OutParameter::new(process, "process")?;
            let writer = DATABASES.read(db.handle)?.database.info().writer_process;
            if let Some(writer) = writer {
                out.set(writer);
            }
            Ok(whether(writer.is_some()))
        })
    }
}
