//! Closing: the last process that has the database open records a clean close.
//!
//! With [`ClosePolicy::LeaveLazy`], lazy commits may stay in the system's cache instead. Nothing is
//! written then, so the file is as after a process that was killed, and the next opening recovers
//! it. The lock file plays no part in that: the last process to leave removes it.
//!
//! With [`ClosePolicy::Discard`] the file ends with the database, and nothing is written to it.

use crate::{Error, Result, record::Record};
use crate::{
    instance::{
        engine::Engine, held_writer_lock::HeldWriterLock, policies::ClosePolicy,
        writer::WriterState, writer_permit::WriterPermit,
    },
    io::{FILE_MODE, LockMode},
    maintain::truncate::cut_all_free,
    observe::events::Event,
    process::writer_lock::Acquisition,
    share::{
        attachment::{Shared, UnusedLockFile},
        lock_file_errors::lock_file_error,
    },
};
use std::{sync::Arc, time::Duration};

/// How long closing waits for the end of a write transaction.
const WRITER_WAIT_MAX: Duration = match cfg!(test) {
    true => Duration::from_secs(2),
    false => Duration::from_secs(30),
};

impl Engine {
    /// Flushes, truncates the free end of the file, and records a clean close, unless lazy commits
    /// may be left in the system's cache. No operation can begin afterwards. Returns `false` and
    /// does nothing if a write transaction did not end in time: the caller may be inside it.
    pub(crate) fn close(self: &Arc<Self>) -> Result<bool> {
        let Some(permit) = self.permit_to_close()? else {
            return Ok(false);
        };
        // No commit can be added while this thread has the permit.
        if !self.openings.is_closed() {
            self.show_memtable()?;
        }
        self.close_in(permit).map(|()| true)
    }

    /// Like [`Self::close`], without merging the memtable: it is empty, or its log is left to the
    /// next opening.
    pub(crate) fn close_merged(&self) -> Result<()> {
        match self.permit_to_close()? {
            Some(permit) => self.close_in(permit),
            None => Ok(()),
        }
    }

    /// The writer lock; the inner `None` if there is nothing to write. `None` if a transaction
    /// did not end in time.
    fn permit_to_close(&self) -> Result<Option<Option<WriterPermit>>> {
        self.refuse_forked()?;
        if self.is_read_only() || self.openings.is_closed() {
            return Ok(Some(None));
        }
        self.refuse_unwritable()?;
        let guard = self.permit_lock.take(Some(WRITER_WAIT_MAX));
        Ok(guard.map(|guard| Some(self.permit(guard))))
    }

    fn close_in(&self, permit: Option<WriterPermit>) -> Result<()> {
        let Some(permit) = permit else {
            self.openings.set_closed();
            self.openings.note_close_ended();
            return Ok(());
        };
        let writer = self.writer_of(permit)?;
        self.refuse_unwritable()?;
        self.openings.set_closed();
        let closed = self.named(self.write_last(writer));
        self.openings.note_close_ended();
        if closed.is_ok() {
            self.memtable.lock().remove_log();
            let file_bytes = self.file.storage.len();
            self.committer.events.note(|| Event::Closed { file_bytes });
        }
        self.committer.wake_all();
        closed
    }

    /// Closes as the last process, or makes all commits durable. `writer` does not hold the
    /// cross-process writer lock yet: if others have the database open, closing does not wait for
    /// their writers.
    fn write_last(&self, writer: HeldWriterLock) -> Result<()> {
        let Some(shared) = &self.committer.shared else {
            return self.close_alone(writer);
        };
        let gate = shared.lock_file.pass_gate().map_err(lock_file_error)?;
        if !shared.lock_file.has_others().map_err(lock_file_error)? {
            return self.close_alone(writer);
        }
        drop((gate, writer));
        if self.try_leave_lazy() {
            return Ok(());
        }
        self.committer.wait_without_waking(self.committer.newest())
    }

    /// If the policy allows it, and every commit that is not durable is lazy, leaves them as a
    /// killed process would. Returns whether it did.
    fn try_leave_lazy(&self) -> bool {
        self.policies.on_close == ClosePolicy::LeaveLazy && self.committer.leave_lazy()
    }

    /// Makes all commits durable when one of several openings in this process is closed, unless
    /// lazy commits may be left.
    pub(crate) fn sync_for_close(self: &Arc<Self>) -> Result<()> {
        match self.policies.on_close {
            ClosePolicy::LeaveLazy if self.committer.has_only_lazy() => Ok(()),
            _ => self.sync(),
        }
    }

    /// Records a clean close, since no other process has the database open. If other processes are
    /// possible, the caller holds the gate.
    fn close_alone(&self, mut writer: HeldWriterLock) -> Result<()> {
        let shared = &self.committer.shared;
        if shared.is_some() {
            match self.committer.process_writer_lock.acquire(None) {
                Acquisition::Acquired(taken) => self.follow(&mut writer, taken)?,
                Acquisition::StillHeld => {}
                Acquisition::TimedOut => return Err(Error::poisoned()),
            }
        }
        if self.policies.on_close == ClosePolicy::Discard {
            return self
                .committer
                .wait_without_waking(writer.newest.transaction);
        }
        if self.try_leave_lazy() {
            // The file may have grown ahead of time.
            return self.cut_to(self.file.storage.len());
        }
        if writer.is_changed {
            self.note_clean_close(&mut writer)?;
        } else {
            // The file may have grown for a transaction that was aborted.
            self.cut_to(self.file.storage.len())?;
        }
        if let Some(shared) = shared {
            shared.region.set_closed();
        }
        Ok(())
    }

    /// Sets the length of the file, which may be longer than is known.
    fn cut_to(&self, bytes: u64) -> Result<()> {
        let cut = self.file.storage.set_len(bytes);
        cut.map_err(Error::io("truncating the file"))
    }

    /// Leaves the other processes. If several processes close at the same time, the last one finds
    /// out only now that it is the last.
    pub(crate) fn leave(&self, shared: &Shared) {
        let gate = shared.lock_file.pass_gate().ok();
        if let Some(writer_lock) = self.writer_lock.as_ref().filter(|_| gate.is_some())
            && shared.region.is_ready()
            && !shared.has_failed()
            && !self.committer.has_left_lazy()
            && matches!(shared.lock_file.has_others(), Ok(false))
            && let Some(guard) = writer_lock.take(None)
        {
            let closed = self.close_alone(self.held_writer_lock(guard));
            if closed.is_ok() {
                self.memtable.lock().remove_log();
            }
        }
        self.committer.stop();
        self.file.storage.grow_ahead(0);
        let unused = self.policies.unused_lock_file;
        if unused == UnusedLockFile::Leave && gate.is_some() {
            let mode = LockMode::for_database(&self.file.path, FILE_MODE);
            shared.lock_file.follow_permissions(mode);
        }
        (self.committer.commit_state).leave(|| shared.leave(gate, unused));
    }

    fn note_clean_close(&self, writer: &mut WriterState) -> Result<()> {
        self.committer
            .wait_without_waking(writer.newest.transaction)?;
        self.committer.flush_journaled()?;
        // Pages that the last durable commit used and this one does not are free now.
        writer.space.reclaim(&self.committer.pins(&writer.named)?);
        if writer.named.prepared.is_empty() {
            cut_all_free(writer, writer.newest.geometry);
        }
        let page_count = writer.space.page_count();
        // Two records, so that one may be damaged: the earlier records may refer to a longer file.
        let ([one, other], sequence) = {
            let state = self.committer.commit_state.lock();
            let spare = state.spare_slots().ok_or_else(Error::poisoned)?;
            (spare, state.newest().sequence)
        };
        let last = |slot, count| Record {
            slot,
            sequence: sequence + count,
            flushed_transaction: writer.newest.transaction,
            clean_close: true,
            page_count,
            written: Some(Vec::new()),
            ..writer.newest.clone()
        };
        self.committer
            .write_close(&[last(one, 1), last(other, 2)])?;
        let (old_bytes, bytes) = (
            self.file.storage.len(),
            page_count * self.file.page_size as u64,
        );
        self.cut_to(bytes)?;
        if bytes < old_bytes {
            self.committer.events.note(|| Event::Shrunk {
                old_bytes,
                file_bytes: bytes,
            });
        }
        Ok(())
    }
}

impl Engine {
    /// Removes the lock file if the database file has no link left. Processes that have the
    /// database open keep both files. No other process can open it, and another database may take
    /// the names.
    pub(crate) fn give_lock_name_up(&self) {
        let is_gone = || {
            // This call updates the link count.
            let _ = self.file.storage.refuse_cut();
            self.file
                .storage
                .lost_name()
                .is_some_and(|lost| lost.is_gone)
        };
        if self.refuse_forked().is_ok()
            && let Some(shared) = self.shared()
            && is_gone()
            && let Ok(_gate) = shared.lock_file.pass_gate()
        {
            shared.lock_file.remove();
        }
    }
}

#[cfg(test)]
#[path = "close_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "lazy_close_tests.rs"]
mod lazy_tests;
