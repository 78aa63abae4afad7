//! How transactions end, and begin anew.

use super::{End, Side, Transaction};
use crate::{
    codes::{self, Code, Outcome},
    flags,
    view::View,
    writer::Writer,
};
use std::{ptr, sync::Arc};
use teak::ReadTxn;

impl Transaction {
    /// Begins to read the newest state, after it was reset or at first.
    pub(crate) fn renew(&mut self) -> Outcome {
        let Side::Reading {
            txn: None,
            reset,
            place,
        } = &mut self.side
        else {
            return Err(Code::INVALID_ARGUMENT);
        };
        let taken = match *place {
            Some(taken) => taken,
            None => *place.insert(self.opened.place_of_reader()?),
        };
        let begun = match reset.take() {
            Some(reset) => reset.renew(),
            None => self.opened.database.begin_read(),
        };
        let begun = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.give_place_back();
                return Err(error.into());
            }
        };
        self.opened.places.read(taken, View::Read(&begun).id());
        if let Side::Reading { txn, .. } = &mut self.side {
            *txn = Some(begun);
        }
        self.remembered.renew(&self.opened);
        Ok(())
    }

    /// Ends reading, and keeps the handle; nothing, if it writes.
    pub(crate) fn reset(&mut self) {
        if self.is_writing() || self.is_reset() {
            return;
        }
        // Clients go on from where their cursors were when it was renewed, though LMDB's manual forbids that.
        self.freeze_cursors();
        self.end_handles(End::Abort);
        self.remember_main();
        if let Side::Reading { txn, reset, place } = &mut self.side {
            *reset = txn.take().map(ReadTxn::reset);
            if let (Some(place), true) = (*place, self.opened.has(flags::NOTLS)) {
                self.opened.places.keep(place);
            }
        }
        if !self.opened.has(flags::NOTLS) {
            self.give_place_back();
        }
    }

    /// Has a reader's place.
    pub(super) fn set_place(&mut self, taken: usize) {
        if let Side::Reading { place, .. } = &mut self.side {
            *place = Some(taken);
        }
    }

    pub(super) fn give_place_back(&mut self) {
        if let Side::Reading { place, .. } = &mut self.side
            && let Some(place) = place.take()
        {
            self.opened.places.give_back(place);
        }
    }

    /// What it has opened becomes everybody's, or nobody's.
    #[inline]
    fn end_handles(&mut self, end: End) {
        if self.own.is_empty() {
            return;
        }
        let own = std::mem::take(&mut self.own);
        let mut handles = self.opened.handles();
        match end {
            End::Commit => handles.publish(&own),
            End::Abort => handles.forget(&own),
        }
        self.opened.count_generation();
    }

    fn remember_main(&mut self) {
        self.remembered.main = self.main.take();
    }

    /// Ends it, however that goes.
    #[inline]
    pub(crate) fn end(mut self: Box<Self>, end: End) -> Outcome {
        match self.side {
            Side::Reading { .. } => {
                self.end_reading(end);
                Ok(())
            }
            Side::Writing { writer, .. } if self.parent.is_null() => self.end_writing(writer, end),
            Side::Writing { .. } => self.end_nested(end),
        }
    }

    /// The handle stays at the place, for the next one there.
    fn end_reading(mut self: Box<Self>, end: End) {
        self.end_handles(end);
        self.remember_main();
        self.leave_cursors();
        let Side::Reading { txn, reset, place } = &mut self.side else {
            return;
        };
        *reset = txn.take().map(ReadTxn::reset).or(reset.take());
        let Some(place) = place.take() else {
            return;
        };
        if self.opened.is_closed() {
            self.opened.places.give_back(place);
            return;
        }
        self.is_broken = false;
        self.end_handle();
        let opened = Arc::as_ptr(&self.opened);
        // SAFETY: the environment keeps it, which is not closed while transactions end.
        unsafe { &*opened }.places.give_back_with(place, self);
    }

    fn end_writing(&mut self, writer: *mut Writer, end: End) -> Outcome {
        let settled = match end {
            End::Commit if self.is_broken => Err(Code(codes::BAD_TXN)),
            End::Commit => self.store_reserved(),
            End::Abort => Ok(()),
        };
        self.free_cursors();
        // SAFETY: it was made by `write`, and this transaction, which ends now, is the only one that has it still.
        let writer = unsafe { Box::from_raw(writer) };
        let done = settled.and_then(|()| match end {
            End::Commit => writer.commit(&self.opened),
            End::Abort => Ok(()),
        });
        self.opened.count_writer(false);
        if let (Ok(()), End::Commit, Some(main)) = (&done, end, &self.main) {
            self.opened.see_main(main);
        }
        self.end_handles(match done {
            Ok(()) => end,
            Err(_) => End::Abort,
        });
        done
    }

    fn end_nested(&mut self, end: End) -> Outcome {
        let settled = match end {
            End::Commit if self.is_broken => Err(Code(codes::BAD_TXN)),
            End::Commit => self.change_nothing(),
            End::Abort => Ok(()),
        };
        let end = match settled {
            Ok(()) => end,
            Err(_) => End::Abort,
        };
        self.freeze_cursors();
        let savepoint = match &mut self.side {
            Side::Writing { savepoint, .. } => savepoint.take(),
            Side::Reading { .. } => None,
        };
        let writer = self.writer()?;
        if end == End::Abort {
            writer.reserved = None;
        }
        writer.forget_names();
        let done = savepoint.map_or(Ok(()), |savepoint| {
            if end == End::Abort {
                writer.txn.rollback_to(&savepoint)?;
            }
            writer.txn.release(savepoint)
        });
        self.give_cursors_back(end);
        // SAFETY: the outer transaction lives as long as this one, and its function is not running.
        let parent = unsafe { &mut *self.parent };
        parent.child = ptr::null_mut();
        match end {
            End::Commit => {
                parent.own.append(&mut self.own);
                parent.main = self.main.take();
                parent.dropped = std::mem::take(&mut self.dropped);
            }
            End::Abort => self.end_handles(End::Abort),
        }
        // LMDB's parent has failed then too.
        parent.is_broken |= settled.is_err() || done.is_err();
        settled?;
        Ok(done?)
    }

    fn change_nothing(&mut self) -> Outcome {
        self.store_reserved()?;
        self.writer()?.reserved = None;
        Ok(())
    }

    /// The cursors of the outer transaction go back to it; those of this one end.
    fn give_cursors_back(&mut self, end: End) {
        for (cursor, backup) in std::mem::take(&mut self.backups) {
            self.cursors.retain(|open| *open != cursor);
            // SAFETY: cursors in the list are open.
            let cursor = unsafe { &*cursor };
            cursor.set_transaction(self.parent);
            if end == End::Abort {
                cursor.restore(backup);
            }
        }
        self.free_cursors();
    }

    fn free_cursors(&mut self) {
        for cursor in std::mem::take(&mut self.cursors) {
            // SAFETY: cursors in the list are open, and their handles end with a write transaction.
            drop(unsafe { Box::from_raw(cursor.cast_mut()) });
        }
    }

    /// The cursors of a read transaction are the client's, and of no transaction from now on.
    fn leave_cursors(&mut self) {
        for cursor in self.cursors.drain(..) {
            // SAFETY: cursors in the list are open.
            let cursor = unsafe { &*cursor };
            cursor.reset();
            cursor.set_transaction(ptr::null_mut());
        }
    }
}
