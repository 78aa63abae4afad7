//! The objects of transaction handles.

use crate::{
    failure::Failure,
    handles::{ExclusiveObject, HandleTable, SharedObject},
    names::OpenDatabase,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use teak::{ReadTxn, Savepoint, WriteTxn};

/// A transaction: a read transaction sees one state, and at most one write transaction makes the
/// next one.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct teak_txn {
    /// Zero for none.
    pub handle: u64,
}

/// The object of a transaction handle.
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
    pub(super) savepoints: Vec<(u64, Savepoint)>,
    pub(super) next_savepoint: u64,
    /// Registers the write transaction with its opening.
    pub(super) presence: WriterPresence,
}

/// Registers a write transaction with its opening while it lives.
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

pub(super) static TRANSACTIONS: HandleTable<Transaction> = HandleTable::new(2, "transaction");

/// Runs an expression with a transaction of either kind.
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

    pub(super) fn reader_mut(&mut self) -> Result<&mut ReadTxn, Failure> {
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

    /// Makes a change, possibly in a table. A panic breaks the transaction.
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

pub(super) fn insert_writer(
    opened: &Arc<OpenDatabase>,
    txn: WriteTxn,
) -> Result<teak_txn, Failure> {
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

/// Ends the handle of a write transaction. Returns the transaction, and its registration, which has
/// to live until the transaction has ended.
pub(crate) fn take_writer(txn: teak_txn) -> Result<(WriteTxn, WriterPresence), Failure> {
    let taken = TRANSACTIONS.remove_if(txn.handle, |taken| taken.writer().map(drop))?;
    taken.opened.note_end();
    match taken.side {
        TransactionKind::Write(writer) => Ok((writer.txn, writer.presence)),
        TransactionKind::Read(_) => Err(Failure::wrong_transaction(NOT_A_WRITER)),
    }
}

/// Ends the handle of a read transaction, and returns the transaction.
pub(crate) fn take_reader(txn: teak_txn) -> Result<(Arc<OpenDatabase>, ReadTxn), Failure> {
    let taken = TRANSACTIONS.remove_if(txn.handle, |taken| taken.reader().map(drop))?;
    match taken.side {
        TransactionKind::Read(txn) => Ok((taken.opened, txn)),
        TransactionKind::Write(_) => Err(Failure::wrong_transaction(NOT_A_READER)),
    }
}

impl OpenWriter {
    /// The index of a savepoint.
    pub(super) fn savepoint(&self, number: u64) -> Result<usize, Failure> {
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
