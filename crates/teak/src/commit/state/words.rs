//! The form of the known records in shared memory.
//!
//! A lock file may contain anything. Numbers are brought into their ranges when they are decoded;
//! whether they fit together is checked by [`NotedRecords::is_consistent`].

use super::records::{KnownRecords, NotedRecords};
use crate::{
    TransactionId,
    record::{LAST_NUMBER, SLOT_COUNT, record_ref::RecordRef},
    share::{STATE_LEN, StateWords},
};

/// Number of words of a [`RecordRef`].
const RECORD_REF_LEN: usize = 3;
/// Newest, durable, flushed, target, and the slots; before them whether there is a target.
const _: () = assert!((4 + SLOT_COUNT as usize) * RECORD_REF_LEN < STATE_LEN);

fn to_words(record: RecordRef) -> [u64; RECORD_REF_LEN] {
    [record.transaction.0, record.slot.into(), record.sequence]
}

fn from_words(words: &[u64]) -> RecordRef {
    // The clamp keeps the next number from overflowing.
    let number = |index: usize| words[index].min(LAST_NUMBER - 1);
    RecordRef {
        transaction: TransactionId(number(0)),
        slot: words[1] as u8 % SLOT_COUNT,
        sequence: number(2),
    }
}

impl KnownRecords {
    /// The words: whether there is a target; newest, durable, flushed, and target; and the slots.
    pub(super) fn to_words(&self) -> StateWords {
        let target = self.target();
        let head = [
            self.newest,
            self.durable,
            self.flushed,
            target.unwrap_or(self.durable),
        ];
        let all = head.into_iter().chain(self.slots);
        let mut words = [0; STATE_LEN];
        words[0] = target.is_some().into();
        for (slot_words, record) in words[1..].chunks_exact_mut(RECORD_REF_LEN).zip(all) {
            slot_words.copy_from_slice(&to_words(record));
        }
        words
    }
}

impl NotedRecords {
    pub(super) fn from_words(words: &StateWords) -> Self {
        let mut all = words[1..].chunks_exact(RECORD_REF_LEN).map(from_words);
        let mut next = || all.next().expect("the words have room for all");
        let (newest, durable, flushed, target) = (next(), next(), next(), next());
        Self {
            newest,
            durable,
            flushed,
            target: (words[0] != 0).then_some(target),
            slots: std::array::from_fn(|slot| RecordRef {
                // Keeps the slots distinct.
                slot: slot as u8,
                ..next()
            }),
        }
    }
}
