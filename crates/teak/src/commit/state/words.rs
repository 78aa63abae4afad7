//! The part of the commit state that lives in shared memory.

use super::{LockedCommitState, UnflushedLazyCommits};
use crate::record::record_ref::RecordRef;
use crate::{
    TransactionId,
    read::snapshot::Snapshot,
    record::{LAST_NUMBER, SLOT_COUNT},
    share::{LockOutcome, STATE_LEN, StateWords, attachment::Shared},
};
use std::sync::Arc;

/// Number of words of a [`RecordRef`].
const WRITTEN_LEN: usize = 3;

impl RecordRef {
    fn to_words(self) -> [u64; WRITTEN_LEN] {
        [self.transaction.0, self.slot.into(), self.sequence]
    }

    fn from_words(words: &[u64]) -> Self {
        // The lock file may contain anything. The clamp keeps the next number from overflowing.
        let number = |index: usize| words[index].min(LAST_NUMBER - 1);
        Self {
            transaction: TransactionId(number(0)),
            slot: words[1] as u8 % SLOT_COUNT,
            sequence: number(2),
        }
    }
}

/// The shared part of the state: whether there is a target; newest, durable, flushed, and target;
/// and the slots.
impl LockedCommitState {
    pub(crate) fn to_words(&self) -> StateWords {
        let target = self.targeted();
        let head = [
            self.newest,
            self.durable,
            self.flushed,
            target.unwrap_or(self.durable),
        ];
        let all = head.into_iter().chain(self.slots);
        let mut words = [0; STATE_LEN];
        words[0] = target.is_some().into();
        let places = words[1..].chunks_exact_mut(WRITTEN_LEN);
        for (place, written) in places.zip(all) {
            place.copy_from_slice(&written.to_words());
        }
        words
    }

    /// Takes over what other processes did. Returns whether more commits are durable than was
    /// known.
    pub(crate) fn take_words(&mut self, words: &StateWords) -> bool {
        let mut all = words[1..]
            .chunks_exact(WRITTEN_LEN)
            .map(RecordRef::from_words);
        let mut next = || all.next().expect("the state has room for all");
        let durable_before = self.durable.transaction;
        (self.newest, self.durable, self.flushed) = (next(), next(), next());
        let target = next();
        self.foreign_target = (words[0] != 0 && self.target.is_none()).then_some(target);
        self.slots = std::array::from_fn(|slot| RecordRef {
            // Keeps the slots distinct, whatever the shared memory contains.
            slot: slot as u8,
            ..next()
        });
        let (newest, durable) = (self.newest.transaction, self.durable.transaction);
        let is_past = |snapshot: &mut Arc<Snapshot>| {
            snapshot.transaction() <= durable || snapshot.transaction() < newest
        };
        self.unpublished.take_if(is_past);
        if durable >= newest {
            self.waiting = UnflushedLazyCommits::default();
        }
        durable > durable_before
    }
}

/// This process's use of the lock of the shared state.
impl Shared {
    /// Locks the shared state and loads it. Returns `false` if there is nothing to give back
    /// because this process is a forked child.
    pub(crate) fn take_state(&self, state: &mut LockedCommitState) -> bool {
        if self.is_inherited() {
            return false;
        }
        let taken = self.take(&self.region.state);
        if self.is_ousted() {
            state.forget_foreign_target();
            state.fail_elsewhere();
            state.is_given_back = false;
            return true;
        }
        if !(state.is_given_back && taken == LockOutcome::Unchanged) {
            state.take_words(&self.region.load_state());
            state.is_given_back = true;
        }
        if taken == LockOutcome::Abandoned {
            self.refresh_if_newer(state);
            state.is_given_back = false;
        }
        if self.region.has_failed() {
            state.fail_elsewhere();
        }
        true
    }

    /// Takes over the state that the processes share.
    pub(crate) fn join(&self, state: &mut LockedCommitState) {
        self.take_state(state);
        self.give_back(state);
    }

    /// Stores the state for the other processes and releases the lock.
    pub(crate) fn give_back(&self, state: &mut LockedCommitState) {
        if !state.is_given_back && !self.is_ousted() {
            self.region.store_state(&state.to_words());
            state.is_given_back = true;
        }
        self.release(|region| &region.state);
    }

    /// Looks in the file for a commit that is newer than the newest known one. The process that
    /// wrote its record may have died before it could note it.
    pub(crate) fn refresh_if_newer(&self, state: &mut LockedCommitState) {
        for slot in 0..crate::record::SLOT_COUNT {
            if let Ok(Some(record)) = self.record_in(slot)
                && record.sequence > state.newest.sequence
            {
                state.note_written(RecordRef::of(&record));
            }
        }
    }
}
