//! Commits that do not end the work: a checkpoint continues to write, `commit_and_read` continues
//! to read, and a rollback begins again. Each keeps the writer lock until it is clear what comes
//! next, so that no other commit slips in between.

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
    /// Commits, and begins again on the new state without releasing the writer lock. If nothing
    /// changed, the state is the one it began with. After an error only [`Self::roll_back`] is
    /// possible.
    pub(crate) fn checkpoint(&mut self) -> Result<TransactionId> {
        self.refuse_broken()?;
        if self.is_nested() {
            let text = "a nested transaction cannot make a checkpoint; end it first";
            return Err(Error::InvalidArgument(text.into()));
        }
        let unfinished = EndedByPanic(self);
        let committed = unfinished.0.commit_and_stay();
        let committed = committed.map(|state| state.transaction());
        mem::forget(unfinished);
        let note = self.timing.commit_note.take();
        if let (Ok(transaction), Some(note)) = (&committed, note) {
            note.note(
                &self.engine.committer.events,
                *transaction,
                self.pages.limits.durability,
            );
        }
        // Wakers may want the writer lock, which is still held here.
        self.engine.committer.wake_all_in_background();
        match committed {
            Ok(transaction) => {
                // The commit stands. If the transaction cannot continue, its next use returns an
                // error.
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

    /// Commits, and keeps the writer lock. The transaction has ended.
    pub(super) fn commit_and_stay(&mut self) -> Result<Arc<Snapshot>> {
        let _span = (self.timing.spans).enter_commit(self.pages.limits.durability);
        let written = self.write();
        let state = written.map_err(|error| error.at(&self.engine.file.path))?;
        let transaction = state.transaction();
        assert!(
            transaction == self.base.transaction() || self.status.is_ended,
            "a transaction that was committed has ended"
        );
        self.undo();
        if !self.pages.limits.durability.is_seen_at_once() {
            self.engine
                .named(self.engine.committer.wait_without_waking(transaction))?;
        }
        self.timing.spans.end_commit();
        Ok(state)
    }

    /// Undoes what can be undone, and refuses everything except a rollback: it is uncertain how
    /// much of the failed commit is in the file.
    fn end_unusable(&mut self) {
        self.undo();
        self.status.is_broken = true;
        self.savepoints.clear();
        // Clears the tables, so that each lookup takes the path that refuses.
        self.tables.open.clear();
        self.catalog = catalog::empty();
    }

    /// Undoes everything, and begins again.
    pub(crate) fn roll_back(&mut self) -> Result<()> {
        self.engine.refuse_forked()?;
        self.undo();
        let begun = match self.engine.refuse_poisoned() {
            Ok(()) => self.begin_again(),
            poisoned => poisoned,
        };
        if begun.is_err() {
            self.end_unusable();
        }
        begun
    }

    /// Commits, and begins to read exactly that state. If nothing changed, it is the state that the
    /// transaction began with.
    pub(crate) fn commit_and_read(mut self) -> Result<Reader> {
        self.refuse_broken()?;
        let durability = self.pages.limits.durability;
        let engine = Arc::clone(&self.engine);
        let base = self.base.transaction();
        let mut slot = ReservedSlot::take(&engine)?;
        self.status.stays = true;
        let span = self.timing.spans.enter_last_commit(durability);
        let written = self.write_to_stay();
        if let Ok(state) = &written {
            slot.pin(Arc::clone(state));
        }
        let note = self.timing.commit_note.take();
        drop(self);
        if written.is_err() {
            engine.committer.wake_all();
        }
        let transaction = engine.named(written)?.transaction();
        assert!(
            transaction == base || transaction == base.next(),
            "a commit makes the next state, or none if nothing changed"
        );
        // Readers must not see a state that a failure may take back.
        if !durability.is_seen_at_once() || transaction > engine.visible() {
            engine.named(engine.committer.wait(transaction))?;
        }
        engine.note_and_deliver_commit(note, transaction, durability);
        span.end(transaction > base);
        Ok(slot.begin())
    }

    /// Writes the commit with all pages of its state, including those that a later commit does not
    /// use.
    fn write_to_stay(&mut self) -> Result<Arc<Snapshot>> {
        let state = self.write()?;
        if state.transaction() == self.base.transaction() {
            // The unchanged state may have been deferred.
            self.engine.committer.write_deferred()?;
        }
        Ok(state)
    }
}

/// Ends a checkpoint that is left by a panic in code of the application. Only a part of the commit
/// may have been written.
struct EndedByPanic<'t>(&'t mut WriteTransaction);

impl Drop for EndedByPanic<'_> {
    fn drop(&mut self) {
        self.0.end_unusable();
    }
}
