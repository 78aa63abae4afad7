//! The status and the kind of a write transaction.

use crate::Checksum;

/// The operations that a write transaction still allows, and how it commits.
///
/// Invariant: once `is_broken` is set, only a rollback is possible.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TransactionStatus {
    /// Whether it commits even without changes, and truncates all free pages at the end of the
    /// file.
    pub(crate) is_compacting: bool,
    /// Whether it merges the memtable, whose commits need a record even if they cancel each other.
    pub(crate) is_merging: bool,
    /// The checksum of the last entry of the write-ahead log that it merges, or zero.
    pub(crate) log_end: Checksum,
    /// Whether a reader begins at the state of this commit when the writer lock is released.
    pub(crate) stays: bool,
    /// Whether its state is prepared, and its commit keeps the tables of the state before.
    pub(crate) is_preparing: bool,
    /// Whether the prepared state has tables of kinds that a record notes.
    pub(crate) has_special: bool,
    /// Whether it decides about the prepared transaction.
    pub(crate) is_deciding: bool,
    /// Whether a change failed halfway.
    pub(crate) is_broken: bool,
    pub(crate) is_ended: bool,
}
