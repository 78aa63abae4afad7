//! Transactions.

mod object;

pub use object::teak_txn;
use object::{TRANSACTIONS, insert_writer};
pub(crate) use object::{
    Transaction, TransactionKind, change, either, insert_reader, read, take_reader, take_writer,
};

use crate::{
    database::{CallDatabase, DATABASES, teak_db},
    error::{answer, teak_error},
    failure::Failure,
    ffi::{CallResult, OK, OutParameter, give, whether},
    options::durability,
    teak_code,
    tickets::{self, teak_ticket},
};
use std::{sync::Arc, time::Duration};
use teak::{Transaction as _, WriteOptions, WriteTxn};

/// Begins to read the newest state. Does not wait for writers.
///
/// Threads: any; the transaction may be used from any thread, and from several at a time. Lives:
/// until teak_txn_end, even if the database is closed. Values stay valid as long as the transaction
/// or a clone of it.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_TOO_MANY_READERS, TEAK_FORKED.
///
/// ```c
/// teak_txn txn;
/// check(teak_txn_begin_read(db, &txn, &error));
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_begin_read(
    db: teak_db,
    txn: *mut teak_txn,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(txn, "txn")?;
            out.set(teak_txn { handle: 0 });
            let open = DATABASES.read(db.handle)?;
            out.set(insert_reader(&open.opened, open.database.begin_read()?)?);
            OK
        })
    }
}

/// Creates another handle of a read transaction: it reads the same state and takes no further
/// reader slot. Threads that read a lot should each have a handle.
///
/// Threads: any. Lives: until teak_txn_end, independently of the first handle.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_clone(
    txn: teak_txn,
    clone: *mut teak_txn,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(clone, "clone")?;
            out.set(teak_txn { handle: 0 });
            let (opened, clone) = {
                let transaction = read(txn)?;
                (
                    Arc::clone(&transaction.opened),
                    transaction.reader()?.clone(),
                )
            };
            out.set(insert_reader(&opened, clone)?);
            OK
        })
    }
}

/// Moves a read transaction to the newest state. Returns TEAK_NONE if it reads that already. This
/// is cheaper than ending it and beginning another.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read before must
/// not be used any more, unless the result is TEAK_NONE. Clones still read their states.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_TOO_MANY_READERS,
/// TEAK_FORKED; TEAK_INVALID_ARGUMENT if the database has been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_refresh(txn: teak_txn, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { answer(error, || Ok(whether(change(txn)?.reader_mut()?.refresh()?))) }
}

fn begin_write(
    db: teak_db,
    begin: impl FnOnce(&CallDatabase) -> Result<Option<WriteTxn>, Failure>,
    out: &OutParameter<teak_txn>,
) -> CallResult {
    out.set(teak_txn { handle: 0 });
    // While this waits, it does not use the handle.
    let open = DATABASES.read(db.handle)?.for_call();
    let Some(begun) = begin(&open)? else {
        return Ok(whether(false));
    };
    if open.is_closed() {
        return Err(Failure::invalid_handle("database", db.handle));
    }
    out.set(insert_writer(&open.opened, begun)?);
    OK
}

/// Begins to write. Waits until no other transaction writes, in this process or another.
///
/// Threads: any; the transaction may be used from any thread, by one call that changes something or
/// by several that read. Lives: until teak_txn_commit, teak_txn_commit_async or teak_txn_end.
/// Values that were read are valid until its next change.
///
/// Errors: TEAK_INVALID_HANDLE, also if the database is closed meanwhile; TEAK_BUSY if this thread
/// began the transaction that the call would wait for; TEAK_READ_ONLY, TEAK_POISONED, TEAK_FORKED.
///
/// ```c
/// teak_txn txn;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_txn_end(txn, &error)); // nothing is changed
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_begin_write(
    db: teak_db,
    txn: *mut teak_txn,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let begin = |open: &CallDatabase| {
                open.opened.refuse_waiting_for_itself()?;
                Ok(Some(open.database.begin_write()?))
            };
            begin_write(db, begin, &OutParameter::new(txn, "txn")?)
        })
    }
}

/// Like teak_txn_begin_write, but waits at most the given number of milliseconds, and with 0 not at
/// all. Returns TEAK_NONE if that time has passed.
///
/// Threads, lives: as teak_txn_begin_write.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_POISONED, TEAK_FORKED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_begin_write_within(
    db: teak_db,
    limit_ms: u64,
    txn: *mut teak_txn,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let limit = Duration::from_millis(limit_ms);
            let options = WriteOptions::new().timeout(limit);
            let begin = |open: &CallDatabase| Ok(open.database.begin_write_with(options)?);
            begin_write(db, begin, &OutParameter::new(txn, "txn")?)
        })
    }
}

/// Begins to write on exactly the state that a read transaction sees, so that decisions based on it
/// still hold.
///
/// Threads, lives: as teak_txn_begin_write.
///
/// Errors: TEAK_SNAPSHOT_STALE if there is a newer state: refresh the reader and decide again;
/// those of teak_txn_begin_write; TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_begin_write_at(
    db: teak_db,
    reader: teak_txn,
    txn: *mut teak_txn,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(txn, "txn")?;
            let reader = read(reader)?;
            let begin = |open: &CallDatabase| {
                open.opened.refuse_waiting_for_itself()?;
                if !Arc::ptr_eq(&open.opened, &reader.opened) {
                    return Err(Failure::wrong_database("transaction"));
                }
                let options = WriteOptions::new().at(reader.reader()?);
                Ok(open.database.begin_write_with(options)?)
            };
            begin_write(db, begin, &out)
        })
    }
}

/// Commits. When it returns, all readers that begin see the changes, and unless another durability
/// was chosen, the changes are on the disk. Stores the number of the commit in `id`, unless that is
/// NULL; if nothing was changed, it is the number of the last commit.
///
/// Threads: any, while no other call uses the transaction. The handle ends even if there is an
/// error, except with the first three.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_TRANSACTION_BROKEN,
/// TEAK_FULL, TEAK_IO, TEAK_CORRUPTED: nothing is changed; TEAK_POISONED and TEAK_IO of a flush: it
/// is uncertain whether the commit will be found when the database is opened again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_commit(
    txn: teak_txn,
    id: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (txn, _presence) = take_writer(txn)?;
            give(id, txn.commit()?.0);
            OK
        })
    }
}

/// Commits without waiting for the disk: all readers that begin see the changes, and the ticket
/// reports when they are on the disk.
///
/// Threads, errors: as teak_txn_commit. Lives: the ticket until teak_ticket_end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_commit_async(
    txn: teak_txn,
    ticket: *mut teak_ticket,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(ticket, "ticket")?;
            out.set(teak_ticket { handle: 0 });
            let (txn, _presence) = take_writer(txn)?;
            out.set(tickets::insert(txn.commit_async()?)?);
            OK
        })
    }
}

/// Commits, and continues as a write transaction: no other writer comes in between. Savepoints end.
/// `id` as for teak_txn_commit.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read before must
/// not be used any more.
///
/// Errors: those of teak_txn_commit; the transaction stays, and can be ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_checkpoint(
    txn: teak_txn,
    id: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let mut transaction = change(txn)?;
            let made = transaction.change(|_, txn| Ok(txn.checkpoint()?))?;
            if let TransactionKind::Write(writer) = &mut transaction.side {
                writer.savepoints.clear();
            }
            give(id, made.0);
            OK
        })
    }
}

/// Ends a transaction. The changes of a write transaction are undone.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read must not be
/// used any more.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_end(txn: teak_txn, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let taken = TRANSACTIONS.remove(txn.handle)?;
            if let TransactionKind::Write(writer) = taken.side {
                taken.opened.note_end();
                writer.txn.abort();
                drop(writer.presence);
            }
            OK
        })
    }
}

/// Stores the number of the commit that made the state being read. For a write transaction it is
/// the number that its commit will have.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_id(
    txn: teak_txn,
    id: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(id, "id")?;
            let transaction = read(txn)?;
            out.set(either!(transaction, txn => txn.id()).0);
            OK
        })
    }
}

/// Stores how often a part of the file could not be read since it was opened. A program that keeps
/// a value for a long time calls this before and after: if both numbers are equal, the bytes read
/// in between are those of the file, and not the zeros that replace unreadable parts.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_read_faults(
    txn: teak_txn,
    faults: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(faults, "faults")?;
            out.set(read(txn)?.reader()?.read_faults());
            OK
        })
    }
}

/// Sets when this transaction's commit is to be on the disk: a teak_durability.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_set_durability(
    txn: teak_txn,
    durability: u32,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let Some(durability) = self::durability(durability)? else {
                let text = "pass the durability of the commit; without this call the database's default applies";
                return Err(Failure::invalid_argument(text));
            };
            change(txn)?.change(|_, txn| {
                txn.set_durability(durability);
                OK
            })
        })
    }
}

/// Undoes all changes since the transaction began, or since its last checkpoint. The transaction
/// stays usable. Savepoints end. This also recovers from TEAK_TRANSACTION_BROKEN.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read before must
/// not be used any more.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_IO, TEAK_CORRUPTED,
/// TEAK_POISONED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_roll_back(txn: teak_txn, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let mut transaction = change(txn)?;
            transaction.change(|_, txn| Ok(txn.roll_back()?))?;
            if let TransactionKind::Write(writer) = &mut transaction.side {
                writer.savepoints.clear();
            }
            OK
        })
    }
}

/// Sets a savepoint, and stores its number.
///
/// Threads: any, while no other call uses the transaction. Lives: until it is released, an earlier
/// one is released or rolled back to, or the transaction ends, is rolled back or makes a
/// checkpoint.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_TRANSACTION_BROKEN.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// uint64_t savepoint;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("words"), NULL, &table, &error));
/// check(teak_txn_savepoint(txn, &savepoint, &error));
/// check(teak_insert(txn, table, teak_text("ash"), teak_text("1"), &error));
/// check(teak_txn_roll_back_to(txn, savepoint, &error));
/// teak_slice value;
/// assert(teak_get(txn, table, teak_text("ash"), &value, &error) == TEAK_NONE);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_savepoint(
    txn: teak_txn,
    savepoint: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(savepoint, "savepoint")?;
            let mut transaction = change(txn)?;
            let made = transaction.change(|_, txn| Ok(txn.savepoint()?))?;
            if let TransactionKind::Write(writer) = &mut transaction.side {
                let number = writer.next_savepoint;
                writer.next_savepoint += 1;
                writer.savepoints.push((number, made));
                out.set(number);
            }
            OK
        })
    }
}

/// Undoes all changes since a savepoint, which stays.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read before must
/// not be used any more.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_INVALID_ARGUMENT if the
/// savepoint has ended; TEAK_TRANSACTION_BROKEN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_roll_back_to(
    txn: teak_txn,
    savepoint: u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let mut transaction = change(txn)?;
            let index = transaction.writer()?.savepoint(savepoint)?;
            let mut kept = Vec::new();
            if let TransactionKind::Write(writer) = &mut transaction.side {
                writer.savepoints.truncate(index + 1);
                kept = std::mem::take(&mut writer.savepoints);
            }
            let rolled = transaction.change(|_, txn| Ok(txn.rollback_to(&kept[index].1)?));
            if let TransactionKind::Write(writer) = &mut transaction.side {
                writer.savepoints = kept;
            }
            rolled?;
            OK
        })
    }
}

/// Ends a savepoint and all later ones. The changes stay.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: those of teak_txn_roll_back_to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_release(
    txn: teak_txn,
    savepoint: u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let mut transaction = change(txn)?;
            let index = transaction.writer()?.savepoint(savepoint)?;
            let TransactionKind::Write(writer) = &mut transaction.side else {
                return OK;
            };
            let released = writer.savepoints.drain(index..).next();
            let (_, released) = released.expect("it was found there");
            transaction.change(|_, txn| Ok(txn.release(released)?))?;
            OK
        })
    }
}
