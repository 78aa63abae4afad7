//! The part of the state that is in the memory that processes share.

use super::{State, Waiting};
use crate::txn::record_ref::Written;
use crate::{
    TransactionId,
    commit::record::{LAST_NUMBER, SLOT_COUNT},
    share::{STATE_LEN, StateWords},
    txn::snapshot::Snapshot,
};
use std::sync::Arc;

/// Words of a [`Written`].
const WRITTEN_LEN: usize = 3;

impl Written {
    fn to_words(self) -> [u64; WRITTEN_LEN] {
        [self.transaction.0, self.slot.into(), self.sequence]
    }

    fn from_words(words: &[u64]) -> Self {
        // Anything may have been written to the lock file; there is a next number all the same.
        let number = |index: usize| words[index].min(LAST_NUMBER - 1);
        Self {
            transaction: TransactionId(number(0)),
            slot: words[1] as u8 % SLOT_COUNT,
            sequence: number(2),
        }
    }
}

/// What processes share of the state: newest, durable, flushed, whether there is a target and which, and the slots.
impl State {
    pub(in crate::txn) fn to_words(&self) -> StateWords {
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

    /// Takes over what other processes did meanwhile. Says whether more is durable than was known.
    pub(in crate::txn) fn take_words(&mut self, words: &StateWords) -> bool {
        let mut all = words[1..]
            .chunks_exact(WRITTEN_LEN)
            .map(Written::from_words);
        let mut next = || all.next().expect("the state has room for all");
        let durable_before = self.durable.transaction;
        (self.newest, self.durable, self.flushed) = (next(), next(), next());
        let target = next();
        self.foreign_target = (words[0] != 0 && self.target.is_none()).then_some(target);
        self.slots = std::array::from_fn(|slot| Written {
            // Whatever stands there: no two are the same.
            slot: slot as u8,
            ..next()
        });
        let (newest, durable) = (self.newest.transaction, self.durable.transaction);
        let is_past = |snapshot: &mut Arc<Snapshot>| {
            snapshot.transaction() <= durable || snapshot.transaction() < newest
        };
        self.unpublished.take_if(is_past);
        if durable >= newest {
            self.waiting = Waiting::default();
        }
        durable > durable_before
    }
}
