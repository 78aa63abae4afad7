//! What a flush makes durable.

use crate::TransactionId;
use crate::{
    commit::journal::changes::JournalInput, read::snapshot::Snapshot, record::record_ref::RecordRef,
};
use std::sync::Arc;

/// What a flush under way makes durable.
#[derive(Clone, Debug)]
pub(crate) struct FlushTarget {
    pub(crate) commit: RecordRef,
    /// The state, if readers did not see it when the flush began.
    pub(crate) unpublished: Option<Arc<Snapshot>>,
    /// The last durable commit when it began, and the last flushed one.
    pub(crate) durable: TransactionId,
    pub(crate) flushed: RecordRef,
    /// What it has that the durable one has not, if that is known; only whoever makes it durable has that.
    pub(crate) changes: Option<JournalInput>,
    pub(crate) may_be_entry: bool,
}
