//! A transaction of a client.

mod databases;
mod ending;

pub(crate) use databases::stat_of_main;

use crate::{
    codes::{self, CallResult, Code},
    cursor::{Cursor, CursorBackup},
    environment::{Environment, OpenEnvironment},
    handles::OpenDatabase,
    read_view::ReadView,
    readers::TakenSlot,
    registry::{HandleKind, HasRegistry, Registry},
    remembered_databases::RememberedDatabases,
    writer::Writer,
};
use std::{ffi::c_uint, ptr, sync::Arc};
use teak::{ReadTxn, ResetReadTxn, Savepoint, WriteTxn};

/// `MDB_txn`: a read transaction, a write transaction, or one that is nested in another.
///
/// Invariants: `writer` belongs to the outermost transaction, which outlives those nested in it; `child` and `parent` point to each
/// other; each cursor in `cursors` is open, and says that it is of this transaction.
#[derive(Debug)]
pub struct Transaction {
    /// That by which C knows it, or will; null before the first one.
    own_handle: *mut Self,
    pub(crate) environment: *mut Environment,
    pub(crate) opened: Arc<OpenEnvironment>,
    side: TransactionKind,
    /// Whether nothing can be done but to abort it.
    is_broken: bool,
    pub(crate) parent: *mut Self,
    pub(crate) child: *mut Self,
    /// The databases that were open when it began.
    remembered: RememberedDatabases,
    /// Named ones that outer transactions have opened, and it itself.
    inherited: Vec<(c_uint, Arc<OpenDatabase>)>,
    own: Vec<(c_uint, Arc<OpenDatabase>)>,
    /// Handles of databases that it has dropped.
    dropped: Vec<c_uint>,
    main: Option<Arc<OpenDatabase>>,
    cursors: Vec<*const Cursor>,
    /// The cursors of the outer transaction, as they were when this one began.
    backups: Vec<(*const Cursor, CursorBackup)>,
}

impl HasRegistry for Transaction {
    fn registry() -> &'static Registry<Self> {
        static TRANSACTIONS: Registry<Transaction> = Registry::new(HandleKind::Transaction);
        &TRANSACTIONS
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        Self::registry().end(self.own_handle);
    }
}

#[derive(Debug)]
enum TransactionKind {
    /// Absent while it is reset. The place is that of a reader.
    Reading {
        txn: Option<ReadTxn>,
        /// That which was reset, to begin by it.
        reset: Option<ResetReadTxn>,
        reader_slot: Option<TakenSlot>,
    },
    Writing {
        writer: *mut Writer,
        /// Of a nested transaction.
        savepoint: Option<Savepoint>,
    },
}

/// How a transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransactionEnd {
    Commit,
    Abort,
}

impl Transaction {
    fn new(
        environment: *mut Environment,
        opened: &Arc<OpenEnvironment>,
        remembered: RememberedDatabases,
        side: TransactionKind,
    ) -> Self {
        Self {
            own_handle: ptr::null_mut(),
            environment,
            side,
            is_broken: false,
            parent: ptr::null_mut(),
            child: ptr::null_mut(),
            remembered,
            inherited: Vec::new(),
            own: Vec::new(),
            dropped: Vec::new(),
            main: None,
            cursors: Vec::new(),
            backups: Vec::new(),
            opened: Arc::clone(opened),
        }
    }

    /// Begins to read.
    pub(crate) fn read(
        environment: *mut Environment,
        opened: &Arc<OpenEnvironment>,
    ) -> CallResult<Box<Self>> {
        let reader_slot = opened.take_reader_slot()?;
        let new = || {
            let side = TransactionKind::Reading {
                txn: None,
                reset: None,
                reader_slot: None,
            };
            let remembered = RememberedDatabases::now(opened);
            Box::new(Self::new(environment, opened, remembered, side))
        };
        let mut txn = opened.reader_slots.handle(reader_slot).unwrap_or_else(new);
        txn.set_reader_slot(reader_slot);
        match txn.renew() {
            Ok(()) => Ok(txn),
            Err(code) => {
                txn.release_reader_slot();
                Err(code)
            }
        }
    }

    /// Begins to write, when nobody else does.
    pub(crate) fn write(
        environment: *mut Environment,
        opened: &Arc<OpenEnvironment>,
    ) -> CallResult<Box<Self>> {
        opened.refuse_read_only()?;
        let writer = Box::into_raw(Box::new(Writer::begin(opened)?));
        opened.count_writer(true);
        let savepoint = None;
        let remembered = RememberedDatabases::now(opened);
        let side = TransactionKind::Writing { writer, savepoint };
        Ok(Box::new(Self::new(environment, opened, remembered, side)))
    }

    /// Begins a transaction in `parent`, which has no other one.
    pub(crate) fn nested(parent: &mut Self) -> CallResult<Box<Self>> {
        if !parent.is_writing() {
            return Err(Code::INVALID_ARGUMENT);
        }
        parent.refuse_blocked()?;
        parent.change(|_| Ok(()))?;
        let writer = parent.writer()?;
        let savepoint = Some(writer.txn.savepoint()?);
        let side = TransactionKind::Writing { writer, savepoint };
        let remembered = parent.remembered.clone();
        let mut nested = Self::new(parent.environment, &parent.opened, remembered, side);
        nested.inherited = parent
            .inherited
            .iter()
            .chain(&parent.own)
            .cloned()
            .collect();
        nested.main = parent.main.clone();
        nested.dropped.clone_from(&parent.dropped);
        nested.parent = parent;
        Ok(Box::new(nested))
    }

    /// Gives C a handle of a transaction that has begun, which stays where it is from now on.
    pub(crate) fn give(begun: Box<Self>) -> CallResult<*mut Self> {
        let begun = Box::into_raw(begun);
        // SAFETY: it was just made from a box.
        let txn = unsafe { &mut *begun };
        if txn.own_handle.is_null() {
            txn.own_handle = match Self::registry().insert(begun) {
                Ok(handle) => handle,
                Err(code) => {
                    // SAFETY: it was just made from a box, and nobody else has it.
                    let _ = unsafe { Box::from_raw(begun) }.end(TransactionEnd::Abort);
                    return Err(code);
                }
            };
        }
        // SAFETY: the outer transaction lives as long as this one, and its function is not running.
        if let Some(parent) = unsafe { txn.parent.as_mut() } {
            txn.adopt_cursors(parent);
        }
        Ok(txn.own_handle)
    }

    /// That by which C knows it.
    pub(crate) fn handle(&self) -> *mut Self {
        self.own_handle
    }

    /// Ends the handle; the transaction is kept for the next one.
    #[inline]
    fn end_handle(&mut self) {
        let registry = Self::registry();
        let ended = self.own_handle;
        self.own_handle = registry.replace(ended).unwrap_or_else(|| {
            registry.end(ended);
            ptr::null_mut()
        });
    }

    /// Takes over the cursors of the outer transaction, until this one ends.
    fn adopt_cursors(&mut self, parent: &mut Self) {
        for cursor in &parent.cursors {
            // SAFETY: cursors in the list are open.
            let open = unsafe { &**cursor };
            self.backups.push((*cursor, open.back_up()));
            open.set_transaction(self);
            self.cursors.push(*cursor);
        }
        parent.child = self;
    }

    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.side, TransactionKind::Writing { .. })
    }

    /// Whether it was reset.
    pub(crate) fn is_reset(&self) -> bool {
        matches!(self.side, TransactionKind::Reading { txn: None, .. })
    }

    /// Refuses a transaction that was reset, has failed, or has one nested in it.
    pub(crate) fn refuse_blocked(&self) -> CallResult {
        match self.is_reset() || self.is_broken || !self.child.is_null() {
            true => Err(Code(codes::BAD_TXN)),
            false => Ok(()),
        }
    }

    /// Refuses what only a writer can do.
    pub(crate) fn refuse_reader(&self) -> CallResult {
        match self.is_writing() {
            true => self.refuse_blocked(),
            false => Err(Code(libc::EACCES)),
        }
    }

    pub(crate) fn writer(&mut self) -> CallResult<&mut Writer> {
        match self.side {
            // SAFETY: the outermost transaction has it as long as this one lives, and one function of one transaction
            // uses it at a time.
            TransactionKind::Writing { writer, .. } => Ok(unsafe { &mut *writer }),
            TransactionKind::Reading { .. } => Err(Code(libc::EACCES)),
        }
    }

    /// Whether the main database's record of this key is that of a named database.
    pub(crate) fn is_database(&mut self, key: &[u8]) -> CallResult<bool> {
        let opened = Arc::clone(&self.opened);
        self.writer()?.is_database(&opened, key)
    }

    /// The state to read.
    pub(crate) fn view(&self) -> CallResult<ReadView<'_>> {
        match &self.side {
            TransactionKind::Reading { txn, .. } => {
                txn.as_ref().map(ReadView::Read).ok_or(Code(codes::BAD_TXN))
            }
            TransactionKind::Writing { writer, .. } => {
                // SAFETY: the outermost transaction has it as long as this one lives. The view borrows this transaction, so
                // nobody changes it meanwhile.
                let txn = unsafe { &(**writer).txn };
                Ok(ReadView::Write(txn))
            }
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.view().map_or(0, ReadView::id)
    }

    /// Changes something. Cursors keep their places as bytes; an error in the middle breaks the transaction.
    pub(crate) fn change<R>(
        &mut self,
        work: impl FnOnce(&mut WriteTxn) -> teak::Result<R>,
    ) -> CallResult<R> {
        self.store_reserved()?;
        self.writer()?.reserved = None;
        let changed = self.change_only(work)?;
        self.writer()?.is_changed = true;
        Ok(changed)
    }

    fn change_only<R>(
        &mut self,
        work: impl FnOnce(&mut WriteTxn) -> teak::Result<R>,
    ) -> CallResult<R> {
        self.freeze_cursors();
        // A panic leaves it so.
        self.is_broken = true;
        let done = work(&mut self.writer()?.txn).map_err(Code::from);
        self.is_broken = done.as_ref().is_err_and(|code| code.breaks_transaction());
        done
    }

    /// Gives the record of a reserved value what the client has written there meanwhile.
    #[inline]
    pub(crate) fn store_reserved(&mut self) -> CallResult {
        match self.is_writing() {
            true => self.store_reserved_of_writer(),
            false => Ok(()),
        }
    }

    /// Does so where this key may be that of the reserved value: who reads others while it is being written compares nothing.
    pub(crate) fn store_reserved_of(&mut self, handle: c_uint, key: &[u8]) -> CallResult {
        let TransactionKind::Writing { writer, .. } = self.side else {
            return Ok(());
        };
        // SAFETY: the outermost transaction has it as long as this one lives, and one function of one transaction
        // uses it at a time.
        let reserved = unsafe { &(*writer).reserved };
        match (reserved, self.prepared(handle)?) {
            (Some(reserved), Some(open)) if !reserved.may_be(open, key) => Ok(()),
            _ => self.store_reserved_of_writer(),
        }
    }

    fn store_reserved_of_writer(&mut self) -> CallResult {
        let writer = self.writer()?;
        let Some(reserved) = writer.reserved.take() else {
            return Ok(());
        };
        let stored = match reserved.is_news(&writer.txn) {
            Ok(true) => self.change_only(|txn| reserved.store(txn)),
            known => known.map(drop),
        };
        // The client may go on writing there.
        self.writer()?.reserved = Some(reserved);
        stored
    }

    /// Marks it as failed.
    pub(crate) fn set_broken(&mut self) {
        self.is_broken = true;
    }

    fn freeze_cursors(&self) {
        for cursor in &self.cursors {
            // SAFETY: cursors in the list are open.
            unsafe { &**cursor }.freeze();
        }
    }

    /// All cursors of a database are nowhere from now on.
    pub(crate) fn reset_cursors(&self, handle: c_uint) {
        for cursor in &self.cursors {
            // SAFETY: cursors in the list are open.
            unsafe { &**cursor }.reset_if_of(handle);
        }
    }

    pub(crate) fn register(&mut self, cursor: *const Cursor) {
        self.cursors.push(cursor);
    }

    /// Forgets a cursor, unless it is one that is given back to the outer transaction; says whether it did.
    pub(crate) fn unregister(&mut self, cursor: *const Cursor) -> bool {
        if self.backups.iter().any(|(kept, _)| *kept == cursor) {
            return false;
        }
        // Most are closed soon after they were opened.
        if let Some(index) = self.cursors.iter().rposition(|open| *open == cursor) {
            self.cursors.swap_remove(index);
        }
        true
    }
}
