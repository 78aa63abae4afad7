//! Writing commits: the record of a commit whose pages are written, and deferred commits.
//!
//! Records are written while the commit state is locked, so that no thread takes back a failed
//! commit meanwhile. Pages are written before, with nothing locked but the writer locks or the
//! deferred-write lock.

use crate::{
    Result, TransactionId,
    commit::{
        committer::Committer,
        deferred::{DeferredCommits, TakenDeferred},
        disk::{FailedWrite, WRITING_RECORD, WriteOutcome, refuse_inconsistent},
        journal::changes::CommitChanges,
        state_lock::CommitStateGuard,
    },
    io::WritableMapping,
    planted::planted,
    read::snapshot::Snapshot,
    record::{durability::Durability, record_ref::RecordRef},
};
use std::{io, sync::Arc};

/// A commit whose pages are written, before its record is.
pub(crate) struct Commit {
    /// The state after this commit.
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) durability: Durability,
    /// Bytes of pages that the commit wrote.
    pub(crate) bytes: u64,
    /// The file's mapping, if pages were built in it.
    pub(crate) mapped: Option<Arc<WritableMapping>>,
    pub(crate) changes: CommitChanges,
}

impl Committer {
    /// Writes the record of a commit, and notes it.
    ///
    /// # Errors
    ///
    /// - [`Error::Poisoned`](crate::Error::Poisoned) if an earlier operation failed: the commit has not happened.
    /// - The system's error if the record cannot be written.
    pub(crate) fn write_commit(&self, commit: Commit) -> Result<()> {
        let record = &commit.snapshot.record;
        refuse_inconsistent(record)?;
        let mut state = self.commit_state.lock();
        let written = RecordRef::of(record);
        if state.has_failed() || !(state.may_write(written) || planted!(SkipDeferred)) {
            return Err(self.refusal());
        }
        debug_assert!(
            !state.has_deferred() || planted!(SkipDeferred),
            "deferred commits are written before later ones"
        );
        debug_assert!(
            self.shared.is_some() || written.transaction > state.last(),
            "a commit is newer than all before it"
        );
        self.disk.note_bytes(commit.bytes);
        let bytes = record.encode(self.disk.page_size);
        let recorded = self.write_record_of(&commit, &bytes);
        // After an error the record, or a part of it, may have reached the file.
        state.note_written(written);
        if let Err(failed) = recorded {
            self.fail(&mut state, WRITING_RECORD, &failed.error);
            return Err(failed.into_error());
        }
        state.note_changes(written.transaction, &commit.changes);
        if commit.durability.is_seen_at_once() || planted!(PublishEarly) {
            state.note_published();
            self.published.publish_encoded(commit.snapshot, &bytes);
        } else {
            state.set_unpublished(commit.snapshot);
        }
        let wakes_flusher = match commit.durability {
            Durability::Durable => false,
            Durability::Async => {
                state.want(written.transaction);
                true
            }
            Durability::Lazy => state.note_lazy(commit.bytes, self.background.limits()),
        };
        if wakes_flusher {
            self.commit_state.notify_flusher(&state);
        }
        Ok(())
    }

    fn write_record_of(&self, commit: &Commit, bytes: &[u8]) -> WriteOutcome {
        let slot = commit.snapshot.record.slot;
        match commit.durability {
            Durability::Lazy if planted!(LazyUnrecorded) => Ok(()),
            Durability::Lazy => self.disk.store_encoded(commit.mapped.as_ref(), slot, bytes),
            _ => self.disk.write_encoded(slot, bytes),
        }
    }

    /// Applies the durability of an empty commit to the newest commit. The caller holds the
    /// in-process writer lock.
    pub(crate) fn write_nothing(&self, durability: Durability) {
        let mut state = self.commit_state.lock();
        if durability == Durability::Async {
            let last = state.last();
            state.want(last);
            self.commit_state.notify_flusher(&state);
        }
    }

    /// While a flush runs: the newest commit in the file. Pages written now are not part of that
    /// flush, so a small durable commit is better deferred and written together with others. `None`
    /// if no flush runs.
    pub(crate) fn written_under_flush(&self) -> Option<TransactionId> {
        let state = self.commit_state.lock();
        state.is_flushing().then_some(state.newest().transaction)
    }

    /// Notes a deferred commit. The next flush leader writes it.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`](crate::Error::Poisoned) if an earlier operation failed: the commit has not happened.
    pub(crate) fn defer(&self, deferred: DeferredCommits, changes: &CommitChanges) -> Result<()> {
        refuse_inconsistent(&deferred.snapshot.record)?;
        let mut state = self.commit_state.lock();
        if state.has_failed() {
            return Err(self.refusal());
        }
        state.note_changes(deferred.snapshot.transaction(), changes);
        state.defer(deferred);
        Ok(())
    }

    /// Writes all deferred commits. The caller holds the in-process writer lock, so none are added
    /// meanwhile.
    pub(crate) fn write_deferred(&self) -> Result<()> {
        let _deferred_write_guard = self.deferred_write_lock();
        let mut state = self.commit_state.lock();
        if state.has_failed() {
            return Err(self.refusal());
        }
        let Some(taken) = state.take_deferred() else {
            return Ok(());
        };
        drop(state);
        let (mut state, written) = self.write_taken(&taken);
        written.map_err(|failed| {
            self.fail(&mut state, failed.operation, &failed.error);
            failed.into_error()
        })
    }

    /// Writes the pages of deferred commits and the record of the last one. The caller holds the
    /// deferred-write lock.
    pub(super) fn write_taken(
        &self,
        taken: &TakenDeferred,
    ) -> (CommitStateGuard<'_>, WriteOutcome) {
        assert!(
            self.try_deferred_write_lock().is_none(),
            "one thread at a time writes deferred commits"
        );
        let written = self.disk.write_unwritten(taken.unwritten_pages());
        let record = taken.record();
        let mut state = self.commit_state.lock();
        if state.has_failed() {
            // Another process may have taken back what failed meanwhile.
            return (state, written.and(Err(failed_before())));
        }
        if !state.may_write_deferred(taken.written) || record.check().is_err() {
            return (state, written.and(Err(no_longer_next())));
        }
        let written = written.and_then(|()| self.disk.write_record(&record));
        // The record, or a part of it, may be in the file even after an error. No commit builds on
        // it then.
        state.note_deferred_written(taken.written);
        (state, written)
    }
}

/// The error if another program has written to the lock file since the slot and the sequence of a
/// record were chosen.
fn no_longer_next() -> FailedWrite {
    let text = "the lock file names a later record; somebody has written to that file";
    FailedWrite::new(WRITING_RECORD)(io::Error::new(io::ErrorKind::InvalidData, text))
}

/// The error if a write or flush has failed, in this process or another.
fn failed_before() -> FailedWrite {
    FailedWrite::new(WRITING_RECORD)(io::Error::other("an earlier write or flush failed"))
}
