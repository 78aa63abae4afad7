//! Commits after a failed write or flush.
//!
//! It is then unknown what reached the disk. The system may have discarded pages that it did not
//! write, so a later successful flush proves nothing about them. From then on only records that
//! take back the failed commits are written: the state that readers see gets the newest record, and
//! the records of commits that no reader saw are erased. A process that opens the database during
//! this boot of the machine then finds the state that readers saw.

use crate::{
    commit::{
        committer::Committer,
        disk::{FLUSHING, refuse_inconsistent},
        state::CommitState,
    },
    record::{Record, record_ref::RecordRef},
};
use std::{io, sync::atomic::Ordering, thread::Thread};

impl Committer {
    /// Stops accepting writes because of an internal failure.
    pub(crate) fn poison(&self, operation: &'static str) {
        let error = io::Error::other("the in-memory state could not be updated");
        self.fail(&mut self.commit_state.lock(), operation, &error);
    }

    /// Stops accepting writes because the log of the memtable could not be flushed.
    pub(crate) fn fail_log(&self, operation: &'static str, error: &io::Error) {
        self.fail(&mut self.commit_state.lock(), operation, error);
    }

    /// Notes a failure. If a flush is under way and succeeds, its target becomes durable. Failed
    /// commits are taken back after that flush.
    pub(super) fn fail(&self, state: &mut CommitState, operation: &'static str, error: &io::Error) {
        self.note_failure(state, operation, error);
        if state.is_flushing() {
            return;
        }
        if state.is_flushed_elsewhere() {
            // The flushing process takes back the failed commits when its flush is over.
            self.wakers.add(state.give_up());
        } else {
            self.take_back(state);
        }
        let woken = self.commit_state.notify_flushed(state);
        woken.iter().for_each(Thread::unpark);
    }

    pub(super) fn note_failure(
        &self,
        state: &mut CommitState,
        operation: &'static str,
        error: &io::Error,
    ) {
        if !self.is_poisoned.swap(true, Ordering::AcqRel) {
            self.events.note_poisoned(operation, error);
        }
        if let Some(shared) = &self.shared {
            shared.set_failed();
        }
        state.fail(operation, error);
        self.published.newest_here().verified.distrust();
    }

    /// Gives up commits that are not durable, because this process closes. If other processes have
    /// the database open, or lazy commits were left on purpose, they may still become durable.
    pub(super) fn give_up(&self, state: &mut CommitState, error: &io::Error) {
        if self.shared.is_none() && !state.has_left_lazy() {
            return self.fail(state, FLUSHING, error);
        }
        self.is_poisoned.store(true, Ordering::Release);
        state.fail(FLUSHING, error);
        self.wakers.add(state.give_up());
        let woken = self.commit_state.notify_flushed(state);
        woken.iter().for_each(Thread::unpark);
    }

    /// Gives up all commits that are not durable. As far as the disk allows, makes the state that
    /// readers see the one that the next open finds. Errors in here are ignored: the earlier error
    /// is the one reported.
    pub(crate) fn take_back(&self, state: &mut CommitState) {
        // If only this process gives up because it closes, the others continue with the commits
        // they have.
        assert!(
            state.own_target().is_none(),
            "commits are taken back when no flush of this process can make them durable"
        );
        let is_for_all = match &self.shared {
            Some(shared) => shared.region.has_failed() && !shared.is_stale_or_evicted(),
            None => true,
        };
        if is_for_all {
            self.write_visible_again(state);
        }
        self.wakers.add(state.give_up());
    }

    /// Writes the record of the visible commit as the newest one, then erases those of hidden ones.
    fn write_visible_again(&self, state: &CommitState) {
        let Ok(Some(visible)) = self.published.newest_at_once() else {
            return;
        };
        let is_hidden = |written: &&RecordRef| {
            written.sequence > 0 && written.transaction > visible.transaction()
        };
        let newest = state.newest();
        if !is_hidden(&&newest) {
            return;
        }
        assert!(
            self.shows_durable(state),
            "a durable commit is not taken back: readers see it"
        );
        let record = Record {
            slot: newest.slot,
            sequence: newest.sequence + 1,
            ..visible.record.clone()
        };
        // Until this record is written, the others may be the only ones that lead to the state that
        // readers see.
        if refuse_inconsistent(&record).is_ok() && self.disk.write_record(&record).is_ok() {
            self.erase_hidden(state.slots().iter().filter(is_hidden), record.slot);
        }
    }

    fn erase_hidden<'s>(&self, hidden: impl Iterator<Item = &'s RecordRef>, kept: u8) {
        let others = hidden.filter(|written| written.slot != kept);
        others.for_each(|written| self.disk.erase(written.slot));
    }
}
