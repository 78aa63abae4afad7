//! Handling of commits after a failed write or flush.

use super::{Flusher, LockedCommitState, refuse_nonsense};
use crate::record::{ERASED_LEN, Record, record_ref::RecordRef};
use std::{
    io::{self, IoSlice},
    sync::atomic::Ordering,
    thread::Thread,
};

impl Flusher {
    /// Notes a failure. If a flush is under way and succeeds, its target becomes durable. Failed
    /// commits are taken back after that flush.
    pub(super) fn fail(
        &self,
        state: &mut LockedCommitState,
        operation: &'static str,
        error: &io::Error,
    ) {
        self.note_failure(state, operation, error);
        if state.is_flushing() {
            return;
        }
        if state.is_flushed_elsewhere() {
            // The flushing process takes back the failed commits when its flush is over.
            let wakers = state.give_up();
            self.wakers().extend(wakers);
        } else {
            self.take_back(state);
        }
        let woken = self.commit_state.notify_flushed(state);
        woken.iter().for_each(Thread::unpark);
    }

    pub(super) fn note_failure(
        &self,
        state: &mut LockedCommitState,
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
        self.published.newest_here().checked.distrust();
    }

    /// Gives up all commits that are not durable. As far as the disk allows, makes the state that
    /// readers see the one that the next open finds. Errors in here are ignored: the earlier error
    /// is the one reported.
    pub(crate) fn take_back(&self, state: &mut LockedCommitState) {
        // If only this process gives up because it closes, the others continue with the commits
        // they have.
        let is_for_all = match &self.shared {
            Some(shared) => shared.region.has_failed() && !shared.is_ousted(),
            None => true,
        };
        if is_for_all {
            self.write_what_is_seen(state);
        }
        let wakers = state.give_up();
        self.wakers().extend(wakers);
    }

    fn write_what_is_seen(&self, state: &LockedCommitState) {
        let Ok(Some(seen)) = self.published.newest_at_once() else {
            return;
        };
        let is_unseen =
            |written: &&RecordRef| written.sequence > 0 && written.transaction > seen.transaction();
        if is_unseen(&&state.newest) {
            let record = Record {
                slot: state.newest.slot,
                sequence: state.newest.sequence + 1,
                ..seen.record.clone()
            };
            // Until the new record is written, the others may be the only records that lead to the
            // state that readers see.
            if refuse_nonsense(&record).is_ok() && self.write_record(&record).is_ok() {
                let unseen = state.slots.iter().filter(is_unseen);
                let others = unseen.filter(|written| written.slot != record.slot);
                others.for_each(|written| self.erase(written.slot));
            }
        }
    }

    /// Makes the record in a slot unreadable, as far as the disk allows. Errors are ignored: the
    /// earlier error is the one reported.
    pub(super) fn erase(&self, slot: u8) {
        let offset = u64::from(slot) * self.page_size as u64;
        let _ = self
            .storage
            .write(offset, &[IoSlice::new(&[0; ERASED_LEN])]);
    }
}
