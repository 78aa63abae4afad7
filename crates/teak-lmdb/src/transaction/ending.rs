//! The end of transactions, and the renewal of read transactions.

use super::{Transaction, TransactionEnd, TransactionKind};
use crate::{
    codes::{self, CallResult, Code},
    flags,
    read_view::ReadView,
    readers::TakenSlot,
    writer::Writer,
};
use std::{ptr, sync::Arc};
use teak::ReadTxn;

impl Transaction {
    /// Begins to read the newest state: in a new transaction, or in one that was reset.
    pub(crate) fn renew(&mut self) -> CallResult {
        let TransactionKind::Reading {
            txn: None,
            reset,
            reader_slot,
        } = &mut self.side
        else {
            return Err(Code::INVALID_ARGUMENT);
        };
        let taken = match *reader_slot {
            Some(taken) => taken,
            None => *reader_slot.insert(self.opened.take_reader_slot()?),
        };
        let begun = match reset.take() {
            Some(reset) => reset.renew(),
            None => self.opened.database.begin_read(),
        };
        let begun = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.release_reader_slot();
                return Err(error.into());
            }
        };
        self.opened
            .reader_slots
            .read(taken, ReadView::Read(&begun).id());
        if let TransactionKind::Reading { txn, .. } = &mut self.side {
            *txn = Some(begun);
        }
        self.remembered.renew(&self.opened);
        Ok(())
    }

    /// Ends reading and keeps the handle. Does nothing in a write transaction.
    pub(crate) fn reset(&mut self) {
        if self.is_writing() || self.is_reset() {
            return;
        }
        // After the renewal clients continue from the positions of their cursors, although LMDB's
        // manual forbids that.
        self.cursors.freeze();
        self.end_handles(TransactionEnd::Abort);
        self.remember_main();
        if let TransactionKind::Reading {
            txn,
            reset,
            reader_slot,
        } = &mut self.side
        {
            *reset = txn.take().map(ReadTxn::reset);
            if let (Some(reader_slot), true) = (*reader_slot, self.opened.has(flags::NOTLS)) {
                self.opened.reader_slots.retain(reader_slot);
            }
        }
        if !self.opened.has(flags::NOTLS) {
            self.release_reader_slot();
        }
    }

    /// Sets the reader slot of a read transaction.
    pub(super) fn set_reader_slot(&mut self, taken: TakenSlot) {
        if let TransactionKind::Reading { reader_slot, .. } = &mut self.side {
            *reader_slot = Some(taken);
        }
    }

    pub(super) fn release_reader_slot(&mut self) {
        if let TransactionKind::Reading { reader_slot, .. } = &mut self.side
            && let Some(reader_slot) = reader_slot.take()
        {
            self.opened.reader_slots.release(reader_slot);
        }
    }

    /// Makes the databases that this transaction has opened known to all, or closes them.
    #[inline]
    fn end_handles(&mut self, end: TransactionEnd) {
        if self.own.is_empty() {
            return;
        }
        let own = std::mem::take(&mut self.own);
        let mut handles = self.opened.handles();
        match end {
            TransactionEnd::Commit => handles.publish(&own),
            TransactionEnd::Abort => handles.forget(&own),
        }
        self.opened.count_generation();
    }

    fn remember_main(&mut self) {
        self.remembered.main = self.main.take();
    }

    /// Ends the transaction, even if an error is returned.
    #[inline]
    pub(crate) fn end(mut self: Box<Self>, end: TransactionEnd) -> CallResult {
        match self.side {
            TransactionKind::Reading { .. } => {
                self.end_reading(end);
                Ok(())
            }
            TransactionKind::Writing { writer, .. } if self.parent.is_null() => {
                self.end_writing(writer, end)
            }
            TransactionKind::Writing { .. } => self.end_nested(end),
        }
    }

    /// Leaves the object at its reader slot as a spare.
    fn end_reading(mut self: Box<Self>, end: TransactionEnd) {
        self.end_handles(end);
        self.remember_main();
        // From now on the cursors belong to the client.
        self.cursors.detach_all();
        let TransactionKind::Reading {
            txn,
            reset,
            reader_slot,
        } = &mut self.side
        else {
            return;
        };
        *reset = txn.take().map(ReadTxn::reset).or(reset.take());
        let Some(reader_slot) = reader_slot.take() else {
            return;
        };
        if self.opened.is_closed() {
            self.opened.reader_slots.release(reader_slot);
            return;
        }
        self.is_broken = false;
        self.end_handle();
        let opened = Arc::as_ptr(&self.opened);
        // SAFETY: the environment has it too, and clients do not close an environment while a
        // transaction ends.
        unsafe { &*opened }
            .reader_slots
            .release_with_spare(reader_slot, self);
    }

    fn end_writing(&mut self, writer: *mut Writer, end: TransactionEnd) -> CallResult {
        let settled = match end {
            TransactionEnd::Commit if self.is_broken => Err(Code(codes::BAD_TXN)),
            TransactionEnd::Commit => self.store_reserved(),
            TransactionEnd::Abort => Ok(()),
        };
        self.cursors.close_all();
        // SAFETY: it was made by `write`, and only this transaction has it, which ends now.
        let writer = unsafe { Box::from_raw(writer) };
        let done = settled.and_then(|()| match end {
            TransactionEnd::Commit => writer.commit(&self.opened),
            TransactionEnd::Abort => Ok(()),
        });
        self.opened.count_writer(false);
        if let (Ok(()), TransactionEnd::Commit, Some(main)) = (&done, end, &self.main) {
            self.opened.see_main(main);
        }
        self.end_handles(match done {
            Ok(()) => end,
            Err(_) => TransactionEnd::Abort,
        });
        done
    }

    fn end_nested(&mut self, end: TransactionEnd) -> CallResult {
        let settled = match end {
            TransactionEnd::Commit if self.is_broken => Err(Code(codes::BAD_TXN)),
            TransactionEnd::Commit => self.change_nothing(),
            TransactionEnd::Abort => Ok(()),
        };
        let end = match settled {
            Ok(()) => end,
            Err(_) => TransactionEnd::Abort,
        };
        self.cursors.freeze();
        let savepoint = match &mut self.side {
            TransactionKind::Writing { savepoint, .. } => savepoint.take(),
            TransactionKind::Reading { .. } => None,
        };
        let writer = self.writer()?;
        if end == TransactionEnd::Abort {
            writer.reserved = None;
        }
        writer.forget_names();
        let done = savepoint.map_or(Ok(()), |savepoint| {
            if end == TransactionEnd::Abort {
                writer.txn.rollback_to(&savepoint)?;
            }
            writer.txn.release(savepoint)
        });
        if end == TransactionEnd::Abort {
            self.cursors.restore_adopted();
        }
        self.cursors.give_back(self.parent);
        self.cursors.close_all();
        // SAFETY: the outer transaction outlives this one, and no function of it is running.
        let parent = unsafe { &mut *self.parent };
        parent.child = ptr::null_mut();
        match end {
            TransactionEnd::Commit => {
                parent.own.append(&mut self.own);
                parent.main = self.main.take();
                parent.dropped = std::mem::take(&mut self.dropped);
            }
            TransactionEnd::Abort => self.end_handles(TransactionEnd::Abort),
        }
        // As in LMDB, an error breaks the parent too.
        parent.is_broken |= settled.is_err() || done.is_err();
        settled?;
        Ok(done?)
    }

    fn change_nothing(&mut self) -> CallResult {
        self.store_reserved()?;
        self.writer()?.reserved = None;
        Ok(())
    }
}
