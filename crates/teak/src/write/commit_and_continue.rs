//! Commits that are not the end: a checkpoint goes on to write, another way goes on to read, and rolling back begins anew. All of
//! them keep the turn until it is clear what comes next, so no commit of anybody else slips in between.

use crate::{Error, Result, TransactionId};
use crate::{
    read::{
        catalog,
        reader::{Reader, ReservedSlot},
        snapshot::Snapshot,
    },
    write::transaction::WriteTransaction,
};
use std::{mem, sync::Arc};

impl WriteTransaction {
    /// Commits, and begins again on the new state without giving up the turn. Where nothing has changed the state is the one it
    /// began with. After an error, all that is left is [`Self::roll_back`].
    pub(crate) fn checkpoint(&mut self) -> Result<TransactionId> {
        self.refuse_broken()?;
        if self.is_nested() {
            let text = "a nested transaction makes no checkpoint; end it first";
            return Err(Error::InvalidArgument(text.into()));
        }
        let unfinished = EndedByPanic(self);
        let committed = unfinished.0.commit_in_place();
        mem::forget(unfinished);
        let note = self.timing.commit_note.take();
        if let (Ok(transaction), Some(note)) = (&committed, note) {
            note.note(
                &self.engine.flusher.events,
                *transaction,
                self.pages.limits.durability,
            );
        }
        // Wakers may want the turn.
        self.engine.flusher.wake_all_in_background();
        match committed {
            Ok(transaction) => {
                // What was committed stays so: whoever uses the transaction next is told if it cannot go on.
                if self.begin_again().is_err() {
                    self.end_unusable();
                }
                Ok(transaction)
            }
            Err(error) => {
                self.end_unusable();
                Err(error)
            }
        }
    }

    fn commit_in_place(&mut self) -> Result<TransactionId> {
        let transaction = self
            .write()
            .map_err(|error| error.at(&self.engine.file.path))?
            .transaction();
        self.undo();
        if !self.pages.limits.durability.is_seen_at_once() {
            self.engine
                .named(self.engine.flusher.wait_without_waking(transaction))?;
        }
        Ok(transaction)
    }

    /// Undoes what can be undone, and refuses everything but rolling back: of what was being committed it is not certain what is in
    /// the file.
    fn end_unusable(&mut self) {
        self.undo();
        self.status.is_broken = true;
        self.savepoints.clear();
        // Without these nothing is found but by what refuses to look.
        self.tables.open.clear();
        self.catalog = catalog::empty();
    }

    /// Undoes everything, and begins again.
    pub(crate) fn roll_back(&mut self) -> Result<()> {
        self.engine.refuse_forked()?;
        self.undo();
        let begun = match self.engine.flusher.refuse_poisoned() {
            Ok(()) => self.begin_again(),
            poisoned => poisoned,
        };
        if begun.is_err() {
            self.end_unusable();
        }
        begun
    }

    /// Commits, and begins to read just that state; where nothing has changed, the one that it began with.
    pub(crate) fn commit_and_read(mut self) -> Result<Reader> {
        self.refuse_broken()?;
        let durability = self.pages.limits.durability;
        let engine = Arc::clone(&self.engine);
        let mut slot = ReservedSlot::take(&engine)?;
        self.status.stays = true;
        let written = self.write_to_stay();
        if let Ok(state) = &written {
            slot.pin(Arc::clone(state));
        }
        let note = self.timing.commit_note.take();
        drop(self);
        if written.is_err() {
            engine.flusher.wake_all();
        }
        let transaction = engine.named(written)?.transaction();
        // Nobody reads what a failure may take back.
        if !durability.is_seen_at_once() || transaction > engine.visible() {
            engine.named(engine.flusher.wait(transaction))?;
        }
        engine.note_and_deliver_commit(note, transaction, durability);
        Ok(slot.begin())
    }

    /// Writes everything, with all pages of the state, whichever a later one uses.
    fn write_to_stay(&mut self) -> Result<Arc<Snapshot>> {
        let state = self.write()?;
        if state.transaction() == self.base.transaction() {
            // It may have been deferred.
            self.engine.flusher.write_deferred()?;
        }
        Ok(state)
    }
}

/// A checkpoint that is left by a panic of what the application had called has written only a part of what is to be committed.
struct EndedByPanic<'t>(&'t mut WriteTransaction);

impl Drop for EndedByPanic<'_> {
    fn drop(&mut self) {
        self.0.end_unusable();
    }
}
