//! Commit records by the slot that holds them.

use crate::{PageNumber, TransactionId, commit::record::Record};

/// A commit whose record was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RecordRef {
    pub(super) transaction: TransactionId,
    pub(super) slot: u8,
    pub(super) sequence: u64,
}

impl RecordRef {
    pub(super) fn of(record: &Record) -> Self {
        Self {
            transaction: record.transaction,
            slot: record.slot,
            sequence: record.sequence,
        }
    }
}

/// The page in which a record stands, for messages.
pub(super) fn slot_page(slot: u8) -> PageNumber {
    PageNumber(u32::from(slot))
}
