//! Transactions.

use crate::{
    border::{CallResult, OK, OutParameter, give, whether},
    cause::Failure,
    database::{DATABASES, DatabaseObject, teak_db},
    failure::{answer, teak_error},
    handles::{ExclusiveObject, HandleTable, SharedObject},
    names::OpenDatabase,
    options::durability,
    teak_code,
    tickets::{self, teak_ticket},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};
use teak::{ReadTxn, Savepoint, Transaction as _, WriteTxn};

/// A transaction: one that reads a state which does not change, or the one that writes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct teak_txn {
    /// Zero for none.
    pub handle: u64,
}

/// What a handle stands for.
pub(crate) struct Transaction {
    pub(crate) opened: Arc<OpenDatabase>,
    pub(crate) side: TransactionKind,
}

pub(crate) enum TransactionKind {
    Read(ReadTxn),
    Write(Box<OpenWriter>),
}

/// A write transaction.
pub(crate) struct OpenWriter {
    pub(crate) txn: WriteTxn,
    /// Savepoints and their numbers, the innermost last.
    savepoints: Vec<(u64, Savepoint)>,
    next_savepoint: u64,
    /// Says that it is there.
    presence: WriterPresence,
}

/// Tells the opening that there is a write transaction.
pub(crate) struct WriterPresence(Arc<OpenDatabase>);

impl WriterPresence {
    fn new(opened: &Arc<OpenDatabase>) -> Self {
        opened.note_writer();
        Self(Arc::clone(opened))
    }
}

impl Drop for WriterPresence {
    fn drop(&mut self) {
        self.0.forget_writer();
    }
}

pub(crate) static TRANSACTIONS: HandleTable<Transaction> = HandleTable::new(2, "transaction");

/// Does something with a transaction of either kind.
macro_rules! either {
    ($transaction:expr, $txn:ident => $work:expr) => {
        match &$transaction.side {
            $crate::transactions::TransactionKind::Read($txn) => $work,
            $crate::transactions::TransactionKind::Write(writer) => {
                let $txn = &writer.txn;
                $work
            }
        }
    };
}
pub(crate) use either;

const NOT_A_WRITER: &str = "this is a read transaction; changes need a write transaction";
const NOT_A_READER: &str = "this is a write transaction; this call needs a read transaction";

impl Transaction {
    pub(crate) fn reader(&self) -> Result<&ReadTxn, Failure> {
        match &self.side {
            TransactionKind::Read(txn) => Ok(txn),
            TransactionKind::Write(_) => Err(Failure::wrong_transaction(NOT_A_READER)),
        }
    }

    fn reader_mut(&mut self) -> Result<&mut ReadTxn, Failure> {
        match &mut self.side {
            TransactionKind::Read(txn) => Ok(txn),
            TransactionKind::Write(_) => Err(Failure::wrong_transaction(NOT_A_READER)),
        }
    }

    pub(crate) fn writer(&self) -> Result<&OpenWriter, Failure> {
        match &self.side {
            TransactionKind::Write(writer) => Ok(writer),
            TransactionKind::Read(_) => Err(Failure::wrong_transaction(NOT_A_WRITER)),
        }
    }

    /// Changes something, in a table too. A panic breaks the transaction.
    pub(crate) fn change<R>(
        &mut self,
        work: impl FnOnce(&OpenDatabase, &mut WriteTxn) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let TransactionKind::Write(writer) = &mut self.side else {
            return Err(Failure::wrong_transaction(NOT_A_WRITER));
        };
        match catch_unwind(AssertUnwindSafe(|| work(&self.opened, &mut writer.txn))) {
            Ok(done) => done,
            Err(payload) => {
                writer.txn.set_broken();
                Err(Failure::panicked(&*payload))
            }
        }
    }
}

/// The transaction of a handle, to be read.
#[inline]
pub(crate) fn read<'h>(txn: teak_txn) -> Result<SharedObject<'h, Transaction>, Failure> {
    TRANSACTIONS.read(txn.handle)
}

/// The transaction of a handle, to be changed.
#[inline]
pub(crate) fn change<'h>(txn: teak_txn) -> Result<ExclusiveObject<'h, Transaction>, Failure> {
    TRANSACTIONS.change(txn.handle)
}

pub(crate) fn insert_reader(opened: &Arc<OpenDatabase>, txn: ReadTxn) -> Result<teak_txn, Failure> {
    let handle = TRANSACTIONS.insert(Transaction {
        opened: Arc::clone(opened),
        side: TransactionKind::Read(txn),
    })?;
    Ok(teak_txn { handle })
}

fn insert_writer(opened: &Arc<OpenDatabase>, txn: WriteTxn) -> Result<teak_txn, Failure> {
    let writer = OpenWriter {
        txn,
        savepoints: Vec::new(),
        next_savepoint: 1,
        presence: WriterPresence::new(opened),
    };
    let handle = TRANSACTIONS.insert(Transaction {
        opened: Arc::clone(opened),
        side: TransactionKind::Write(Box::new(writer)),
    })?;
    Ok(teak_txn { handle })
}

/// Ends the handle of a write transaction; gives the transaction, and what has to stay until that has ended.
pub(crate) fn take_writer(txn: teak_txn) -> Result<(WriteTxn, WriterPresence), Failure> {
    let taken = TRANSACTIONS.remove_if(txn.handle, |taken| taken.writer().map(drop))?;
    taken.opened.note_end();
    match taken.side {
        TransactionKind::Write(writer) => Ok((writer.txn, writer.presence)),
        TransactionKind::Read(_) => Err(Failure::wrong_transaction(NOT_A_WRITER)),
    }
}

/// Ends the handle of a read transaction; gives the transaction.
pub(crate) fn take_reader(txn: teak_txn) -> Result<(Arc<OpenDatabase>, ReadTxn), Failure> {
    let taken = TRANSACTIONS.remove_if(txn.handle, |taken| taken.reader().map(drop))?;
    match taken.side {
        TransactionKind::Read(txn) => Ok((taken.opened, txn)),
        TransactionKind::Write(_) => Err(Failure::wrong_transaction(NOT_A_READER)),
    }
}

/// Begins to read the newest state. It waits for nobody.
///
/// Threads: any; the transaction may be used from any thread, and from several at a time. Lives: until teak_txn_end, also if the database is closed. Values
/// that are read live as long as it does, or a clone of it.
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

/// Another handle of a read transaction: the same state, without another place among readers. Each thread that reads much had better have its own.
///
/// Threads: any. Lives: until teak_txn_end, whatever becomes of the first handle.
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

/// Has a read transaction go on to the newest state; TEAK_NONE if it sees that already. It is what ending it and beginning another would do, for less.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read before must not be used any more, unless the answer
/// is TEAK_NONE. Clones stay where they are.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_TOO_MANY_READERS, TEAK_FORKED; TEAK_INVALID_ARGUMENT if the database has been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_refresh(txn: teak_txn, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { answer(error, || Ok(whether(change(txn)?.reader_mut()?.refresh()?))) }
}

fn begin_write(
    db: teak_db,
    begin: impl FnOnce(&DatabaseObject) -> Result<Option<WriteTxn>, Failure>,
    out: &OutParameter<teak_txn>,
) -> CallResult {
    out.set(teak_txn { handle: 0 });
    // The handle is not kept in use while this waits.
    let handle = {
        let open = DATABASES.read(db.handle)?;
        open.another()
    };
    let begun = begin(&handle)?;
    let code = whether(begun.is_some());
    if let Some(begun) = begun {
        out.set(insert_writer(&handle.opened, begun)?);
    }
    Ok(code)
}

/// Begins to write, when nobody else does, in this process or another.
///
/// Threads: any; the transaction may be used from any thread, by one call that changes something or several that read at a time. Lives: until teak_txn_commit,
/// teak_txn_commit_async or teak_txn_end. Values that are read live until its next change.
///
/// Errors: TEAK_INVALID_HANDLE; TEAK_BUSY if this thread has begun the transaction that it would wait for; TEAK_READ_ONLY, TEAK_POISONED, TEAK_FORKED.
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
            let begin = |open: &DatabaseObject| {
                open.opened.refuse_waiting_for_itself()?;
                Ok(Some(open.database.begin_write()?))
            };
            begin_write(db, begin, &OutParameter::new(txn, "txn")?)
        })
    }
}

/// The same, but waits for others at most so many milliseconds, and not at all with 0; TEAK_NONE if that was not enough.
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
            let begin = |open: &DatabaseObject| Ok(open.database.begin_write_timeout(limit)?);
            begin_write(db, begin, &OutParameter::new(txn, "txn")?)
        })
    }
}

/// Begins to write, exactly on the state that a read transaction sees: what was decided by reading it still holds.
///
/// Threads, lives: as teak_txn_begin_write.
///
/// Errors: TEAK_SNAPSHOT_STALE if there is a newer state: refresh the reader and decide anew; those of teak_txn_begin_write; TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE.
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
            let begin = |open: &DatabaseObject| {
                open.opened.refuse_waiting_for_itself()?;
                if !Arc::ptr_eq(&open.opened, &reader.opened) {
                    return Err(Failure::wrong_database("transaction"));
                }
                Ok(Some(open.database.begin_write_at(reader.reader()?)?))
            };
            begin_write(db, begin, &out)
        })
    }
}

/// Commits. When it returns all readers that begin see the changes, and they are on the disk, unless the durability is another. `id` is where the number
/// of the commit goes, or NULL; it is that of the last commit if nothing was changed.
///
/// Threads: any, while no other call uses the transaction. The handle ends also if there is an error, except with the first three.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_IO, TEAK_CORRUPTED: nothing is changed then;
/// TEAK_POISONED and TEAK_IO of a flush: it is uncertain what will be found when the database is opened again.
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

/// Commits and does not wait for the disk: all readers that begin see the changes, and the ticket tells when they are on the disk.
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

/// Commits, and goes on as a transaction that writes: nobody else writes in between. Savepoints end. `id` as for teak_txn_commit.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read before must not be used any more.
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

/// Ends a transaction. One that writes changes nothing then.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read must not be used any more.
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

/// The number of the state that is read: that of the commit which made it, or, of a transaction that writes, that of the commit which it will be.
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

/// How often a part of the file could not be read since it was opened. Whoever keeps a value for long asks before and afterwards: if both numbers are the same, what was read in between is what stands in
/// the file, and not the zeros that are there where the disk does not give anything.
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

/// Says when this transaction's commit is to be on the disk: a teak_durability.
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

/// Undoes everything since the transaction began, or since its last checkpoint, and goes on. Savepoints end. It is also the way on after TEAK_TRANSACTION_BROKEN.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read before must not be used any more.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_IO, TEAK_CORRUPTED, TEAK_POISONED.
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

/// Sets a savepoint, and gives its number.
///
/// Threads: any, while no other call uses the transaction. Lives: until it is released, an earlier one is released or rolled back to, or the transaction
/// ends, is rolled back or makes a checkpoint.
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

impl OpenWriter {
    /// Where a savepoint is among those that there are.
    fn savepoint(&self, number: u64) -> Result<usize, Failure> {
        let found = self
            .savepoints
            .iter()
            .position(|(known, _)| *known == number);
        found.ok_or_else(|| {
            let text = format!("this transaction has no savepoint {number} any more");
            Failure::invalid_argument(text)
        })
    }
}

/// Undoes everything since a savepoint, which stays.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read before must not be used any more.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_INVALID_ARGUMENT if there is no such savepoint any more; TEAK_TRANSACTION_BROKEN.
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

/// Ends a savepoint, and those set behind it; what was done stays.
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
