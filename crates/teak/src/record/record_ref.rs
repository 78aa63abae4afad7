//! References to commit records by their slot.

use crate::{
    PageNumber, TransactionId,
    record::{Record, SLOT_COUNT},
};

/// A commit whose record was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordRef {
    pub(crate) transaction: TransactionId,
    pub(crate) slot: u8,
    pub(crate) sequence: u64,
}

impl RecordRef {
    pub(crate) fn of(record: &Record) -> Self {
        debug_assert!(
            record.slot < SLOT_COUNT,
            "a record that counts is in one of the slots"
        );
        Self {
            transaction: record.transaction,
            slot: record.slot,
            sequence: record.sequence,
        }
    }
}

/// The page of a record slot, for messages.
pub(crate) fn slot_page(slot: u8) -> PageNumber {
    PageNumber(u32::from(slot))
}
