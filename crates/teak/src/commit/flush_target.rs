//! The target of a flush: what it makes durable.

use crate::{
    TransactionId, commit::journal::changes::JournalInput, read::snapshot::Snapshot,
    record::record_ref::RecordRef,
};
use std::sync::Arc;

/// The target of a running flush, for its leader. Other threads see only `commit`.
#[derive(Debug)]
pub(crate) struct FlushTarget {
    pub(crate) commit: RecordRef,
    /// The state, if readers did not see it when the flush began.
    pub(crate) unpublished: Option<Arc<Snapshot>>,
    /// The last durable commit when the flush began, and (below) the last flushed one.
    pub(crate) durable: TransactionId,
    pub(crate) flushed: RecordRef,
    /// Whether a journal entry may take the place of the flush.
    pub(crate) may_be_entry: bool,
    /// The changes since the last durable commit, if they are known.
    pub(crate) changes: Option<JournalInput>,
}
