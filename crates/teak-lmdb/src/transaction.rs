//! A transaction of a client.

mod databases;
mod ending;

pub(crate) use databases::stat_of_main;

use crate::{
    codes::{self, CallResult, Code},
    cursor_list::{CursorList, TrackedCursor},
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
/// Invariants: the outermost transaction owns the writer and outlives the transactions nested in
/// it. `child` and `parent` point to each other.
#[derive(Debug)]
pub struct Transaction {
    /// The handle that C has; null before the first one.
    own_handle: *mut Self,
    pub(crate) environment: *mut Environment,
    pub(crate) opened: Arc<OpenEnvironment>,
    side: TransactionKind,
    /// Whether it can only be aborted.
    is_broken: bool,
    pub(crate) parent: *mut Self,
    pub(crate) child: *mut Self,
    /// The databases that were open in the environment when this transaction began.
    remembered: RememberedDatabases,
    /// Named databases that outer transactions have opened.
    inherited: Vec<(c_uint, Arc<OpenDatabase>)>,
    /// Named databases that this transaction has opened.
    own: Vec<(c_uint, Arc<OpenDatabase>)>,
    /// Handles of databases that this transaction has dropped.
    dropped: Vec<c_uint>,
    main: Option<Arc<OpenDatabase>>,
    cursors: CursorList<Self>,
}

// SAFETY: C may use a transaction in any thread, one thread at a time. The parts that its pointers
// lead to (writer, parent, child, cursors) are only used together with it.
unsafe impl Send for Transaction {}

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
    Reading {
        /// `None` while the transaction is reset.
        txn: Option<ReadTxn>,
        /// The engine's transaction that was reset, to be renewed.
        reset: Option<ResetReadTxn>,
        reader_slot: Option<TakenSlot>,
    },
    Writing {
        writer: *mut Writer,
        /// Where a nested transaction began.
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
            cursors: CursorList::new(),
            opened: Arc::clone(opened),
        }
    }

    /// Begins a read transaction, with the spare object of the reader slot if there is one.
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
        let spare = opened.reader_slots.take_spare(reader_slot);
        let spare = spare.and_then(|spare| spare.downcast::<Self>().ok());
        let mut txn = spare.unwrap_or_else(new);
        txn.set_reader_slot(reader_slot);
        match txn.renew() {
            Ok(()) => Ok(txn),
            Err(code) => {
                txn.release_reader_slot();
                Err(code)
            }
        }
    }

    /// Begins a write transaction. Waits until no other one is open.
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

    /// Begins a transaction nested in `parent`, which must not have another one.
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

    /// Returns a handle for C of a transaction that has begun. The object does not move from now
    /// on.
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
        // SAFETY: the outer transaction outlives this one, and no function of it is running.
        if let Some(parent) = unsafe { txn.parent.as_mut() } {
            txn.cursors.adopt(&parent.cursors, begun);
            parent.child = begun;
        }
        Ok(txn.own_handle)
    }

    /// The handle that C has.
    pub(crate) fn handle(&self) -> *mut Self {
        self.own_handle
    }

    /// Ends the handle. The object gets another one, for the next transaction.
    #[inline]
    fn end_handle(&mut self) {
        let registry = Self::registry();
        let ended = self.own_handle;
        self.own_handle = registry.replace(ended).unwrap_or_else(|| {
            registry.end(ended);
            ptr::null_mut()
        });
    }

    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.side, TransactionKind::Writing { .. })
    }

    /// Whether this is a read transaction that was reset.
    pub(crate) fn is_reset(&self) -> bool {
        matches!(self.side, TransactionKind::Reading { txn: None, .. })
    }

    /// Refuses a transaction that was reset, has failed, or has a nested transaction.
    pub(crate) fn refuse_blocked(&self) -> CallResult {
        match self.is_reset() || self.is_broken || !self.child.is_null() {
            true => Err(Code(codes::BAD_TXN)),
            false => Ok(()),
        }
    }

    /// Refuses read transactions, and blocked ones.
    pub(crate) fn refuse_reader(&self) -> CallResult {
        match self.is_writing() {
            true => self.refuse_blocked(),
            false => Err(Code(libc::EACCES)),
        }
    }

    pub(crate) fn writer(&mut self) -> CallResult<&mut Writer> {
        match self.side {
            // SAFETY: the outermost transaction owns it and outlives this one. One function of one
            // of these transactions runs at a time.
            TransactionKind::Writing { writer, .. } => Ok(unsafe { &mut *writer }),
            TransactionKind::Reading { .. } => Err(Code(libc::EACCES)),
        }
    }

    /// Whether the record with this key in the main database describes a named database.
    pub(crate) fn is_database(&mut self, key: &[u8]) -> CallResult<bool> {
        let opened = Arc::clone(&self.opened);
        self.writer()?.is_database(&opened, key)
    }

    /// The state that this transaction sees.
    pub(crate) fn view(&self) -> CallResult<ReadView<'_>> {
        match &self.side {
            TransactionKind::Reading { txn, .. } => {
                txn.as_ref().map(ReadView::Read).ok_or(Code(codes::BAD_TXN))
            }
            TransactionKind::Writing { writer, .. } => {
                // SAFETY: the outermost transaction owns it and outlives this one. The view borrows
                // this transaction, so nothing changes while it is used.
                let txn = unsafe { &(**writer).txn };
                Ok(ReadView::Write(txn))
            }
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.view().map_or(0, ReadView::id)
    }

    /// Makes a change. Cursors save their positions first. An error in the middle breaks the
    /// transaction.
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
        self.cursors.freeze();
        // It stays broken if `work` panics.
        self.is_broken = true;
        let done = work(&mut self.writer()?.txn).map_err(Code::from);
        self.is_broken = done.as_ref().is_err_and(|code| code.breaks_transaction());
        done
    }

    /// Stores the bytes that the client has written to a reserved value.
    #[inline]
    pub(crate) fn store_reserved(&mut self) -> CallResult {
        match self.is_writing() {
            true => self.store_reserved_of_writer(),
            false => Ok(()),
        }
    }

    /// Like [`Self::store_reserved`], but does nothing if `key` is not the key of the reserved
    /// value. A client that reads other keys while it writes the value needs no comparison of
    /// bytes.
    pub(crate) fn store_reserved_of(&mut self, handle: c_uint, key: &[u8]) -> CallResult {
        let TransactionKind::Writing { writer, .. } = self.side else {
            return Ok(());
        };
        // SAFETY: the outermost transaction owns it and outlives this one. One function of one of
        // these transactions runs at a time.
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
        let stored = match reserved.is_changed(&writer.txn) {
            Ok(true) => self.change_only(|txn| reserved.store(txn)),
            other => other.map(drop),
        };
        // The client may write more to it.
        self.writer()?.reserved = Some(reserved);
        stored
    }

    /// Marks the transaction as failed.
    pub(crate) fn set_broken(&mut self) {
        self.is_broken = true;
    }

    /// Clears the positions of all cursors on a database.
    pub(crate) fn reset_cursors(&self, handle: c_uint) {
        self.cursors.reset_of(handle);
    }

    /// Adds a cursor that belongs to this transaction.
    ///
    /// # Safety
    ///
    /// It was made by `Box::into_raw`, and is not freed before [`Self::unregister`] has returned
    /// `true` for it. A write transaction frees its cursors when it ends.
    pub(crate) unsafe fn register(&mut self, cursor: *const dyn TrackedCursor<Self>) {
        // SAFETY: the caller's promise.
        unsafe { self.cursors.add(cursor) };
    }

    /// Removes a cursor. Returns `false` if it must stay because the outer transaction gets it
    /// back.
    pub(crate) fn unregister<C: TrackedCursor<Self>>(&mut self, cursor: *const C) -> bool {
        self.cursors.remove(cursor)
    }
}
