//! The target of a flush: what it makes durable.

use crate::TransactionId;
use crate::{
    commit::journal::changes::JournalInput, read::snapshot::Snapshot, record::record_ref::RecordRef,
};
use std::sync::Arc;

/// What a running flush makes durable.
#[derive(Clone, Debug)]
pub(crate) struct FlushTarget {
    pub(crate) commit: RecordRef,
    /// The state, if readers did not see it when the flush began.
    pub(crate) unpublished: Option<Arc<Snapshot>>,
    /// The last durable commit when the flush began, and (below) the last flushed one.
    pub(crate) durable: TransactionId,
    pub(crate) flushed: RecordRef,
    /// The changes since the last durable commit, if they are known. Only the flush leader's copy
    /// has them.
    pub(crate) changes: Option<JournalInput>,
    pub(crate) may_be_entry: bool,
}
