//! The records of a clean close. No commit happens meanwhile.

use crate::{
    Error, Result,
    commit::{
        disk::{FailedWrite, refuse_nonsense},
        flusher::Flusher,
        state::LockedCommitState,
    },
    planted::planted,
    record::{Record, record_ref::RecordRef},
};

impl Flusher {
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
                record.clean_close && record.durable_transaction == record.transaction
            }),
            "the records of a clean close count as durable"
        );
        for record in records {
            refuse_nonsense(record)?;
            let written = RecordRef::of(record);
            if !state.may_write(written) {
                return Err(Error::Poisoned);
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
        state: &mut LockedCommitState,
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
