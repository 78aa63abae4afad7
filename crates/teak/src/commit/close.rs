//! The records of a clean close, and closing without them. No commit happens meanwhile.

use crate::{
    Error, Result,
    commit::{
        committer::Committer,
        disk::{FailedWrite, refuse_inconsistent},
        state::CommitState,
    },
    planted::planted,
    record::{Record, record_ref::RecordRef},
};

impl Committer {
    /// Flushes the newest commit if only a journal entry makes it durable.
    pub(crate) fn flush_journaled(&self) -> Result<()> {
        let mut state = self.commit_state.lock();
        if state.flushed().transaction == state.newest().transaction {
            return Ok(());
        }
        if let Err(failed) = self.flush_disk() {
            self.fail(&mut state, failed.operation, &failed.error);
            return Err(failed.into_error());
        }
        state.flush_journaled();
        Ok(())
    }

    /// Leaves commits that are not durable in the system's cache, if all of them are lazy. Returns
    /// whether it did. No thread or ticket waits for them.
    pub(crate) fn leave_lazy(&self) -> bool {
        let mut state = self.commit_state.lock();
        let is_left = state.has_only_lazy(self.published.visible());
        if is_left {
            state.leave_lazy();
        }
        is_left
    }

    /// Whether some commits are not durable, and all of them are lazy.
    pub(crate) fn has_only_lazy(&self) -> bool {
        let state = self.commit_state.lock();
        state.has_only_lazy(self.published.visible())
    }

    /// Whether closing has left lazy commits that are still not durable.
    pub(crate) fn has_left_lazy(&self) -> bool {
        self.commit_state.lock().has_left_lazy()
    }

    /// Writes and flushes the records of a clean close. No record follows them, and the next open
    /// takes them for durable.
    pub(crate) fn write_close(&self, records: &[Record]) -> Result<()> {
        let mut state = self.commit_state.lock();
        assert!(
            self.shared.is_some() || state.flushed().transaction == state.newest().transaction,
            "a clean close follows a flush of everything"
        );
        assert!(
            records.iter().all(|record| {
                record.clean_close && record.flushed_transaction == record.transaction
            }),
            "the records of a clean close count as durable"
        );
        for record in records {
            refuse_inconsistent(record)?;
            let written = RecordRef::of(record);
            if !state.may_write(written) {
                return Err(Error::poisoned());
            }
            if let Err(failed) = self.disk.write_record(record) {
                return self.fail_close(&mut state, records, failed);
            }
            state.note_written(written);
        }
        planted!(CloseWithoutFlush => return Ok(()));
        match self.flush_disk() {
            Ok(()) => Ok(()),
            Err(failed) => self.fail_close(&mut state, records, failed),
        }
    }

    /// Handles a failure while closing. No commit is involved, so only these records are taken
    /// back.
    fn fail_close(
        &self,
        state: &mut CommitState,
        records: &[Record],
        failed: FailedWrite,
    ) -> Result<()> {
        self.fail(state, failed.operation, &failed.error);
        records
            .iter()
            .for_each(|record| self.disk.erase(record.slot));
        Err(failed.into_error())
    }
}
