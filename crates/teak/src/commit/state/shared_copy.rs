//! The copy of the known records in shared memory: loaded when the commit state is locked, stored
//! when it is unlocked.
//!
//! One process at a time holds the lock in shared memory. Numbers that another process, or another
//! program, left there are checked. If they contradict each other, this process keeps its own
//! records, and all processes fail: its records may be older than the commits of others, so they
//! are not stored.

use super::{CommitState, records::NotedRecords};
use crate::{
    record::{SLOT_COUNT, record_ref::RecordRef},
    share::{LockOutcome, StateWords, attachment::Shared},
};
use std::io;

impl CommitState {
    /// Locks the copy in shared memory and loads it. Returns whether it is to be stored again with
    /// [`Self::unlock_shared`].
    pub(crate) fn lock_shared(&mut self) -> bool {
        let Some(shared) = self.copy.shared.take() else {
            return false;
        };
        let is_locked = self.load_from(&shared);
        self.copy.shared = Some(shared);
        is_locked
    }

    /// Stores the copy in shared memory, unless it is there already, and unlocks it.
    pub(crate) fn unlock_shared(&mut self) {
        if let Some(shared) = self.copy.shared.take() {
            self.store_to(&shared);
            self.copy.shared = Some(shared);
        }
    }

    /// Takes over what the processes share.
    pub(crate) fn join(&mut self, shared: &Shared) {
        if self.load_from(shared) {
            self.store_to(shared);
        }
    }

    /// Stops sharing with other processes.
    pub(crate) fn leave(&mut self) {
        self.copy.shared = None;
    }

    pub(crate) fn to_words(&self) -> StateWords {
        self.records.to_words()
    }

    /// Locks and loads. Returns `false`, with nothing locked, in a forked child.
    fn load_from(&mut self, shared: &Shared) -> bool {
        if shared.is_inherited() {
            return false;
        }
        let taken = shared.take(&shared.region.state);
        if shared.is_stale_or_evicted() {
            self.records.forget_foreign_target();
            match shared.why_lost() {
                Some(error) => self.fail("writing", &error),
                None => self.fail_elsewhere(),
            }
            self.copy.is_current = false;
            return true;
        }
        if !(self.copy.is_current && taken == LockOutcome::Unchanged) {
            self.adopt_words(&shared.region.load_state());
            self.copy.is_current = true;
            if self.copy.is_refused {
                shared.set_failed();
            }
        }
        if taken == LockOutcome::Abandoned {
            self.refresh_if_newer(shared);
            self.copy.is_current = false;
        }
        if shared.region.has_failed() {
            self.fail_elsewhere();
        }
        true
    }

    fn store_to(&mut self, shared: &Shared) {
        if !self.copy.is_current && !self.copy.is_refused && !shared.is_stale_or_evicted() {
            let words = self.records.to_words();
            debug_assert!(
                NotedRecords::from_words(&words).is_of(&self.records),
                "other processes read the records that this one has: {:?}",
                self.records
            );
            shared.region.store_state(&words);
            self.copy.is_current = true;
        }
        shared.release(|region| &region.state);
    }

    /// Takes over what other processes did.
    pub(super) fn adopt_words(&mut self, words: &StateWords) {
        let noted = NotedRecords::from_words(words);
        self.copy.is_refused = !noted.is_consistent();
        if self.copy.is_refused {
            self.records.forget_foreign_target();
            let text = "the commit state in the lock file is inconsistent; another program has modified that file";
            let error = io::Error::new(io::ErrorKind::InvalidData, text);
            return self.fail("reading the state of commits", &error);
        }
        self.records.adopt(noted);
        self.forget_published();
        if self.records.durable.transaction >= self.records.newest.transaction {
            self.requests.forget_lazy();
        }
    }

    /// Looks in the file for a commit that is newer than the newest known one. The process that
    /// wrote its record may have died before it could note it.
    pub(crate) fn refresh_if_newer(&mut self, shared: &Shared) {
        for slot in 0..SLOT_COUNT {
            if let Ok(Some(record)) = shared.record_in(slot)
                && record.sequence > self.records.newest.sequence
                && record.transaction >= self.records.durable.transaction
            {
                self.records.note_written(RecordRef::of(&record));
            }
        }
    }
}
