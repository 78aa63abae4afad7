//! What a flush makes durable.

use super::{journal::changes::JournalInput, record_ref::RecordRef, snapshot::Snapshot};
use crate::TransactionId;
use std::sync::Arc;

/// What a flush under way makes durable.
#[derive(Clone, Debug)]
pub(super) struct FlushTarget {
    pub(super) commit: RecordRef,
    /// The state, if readers did not see it when the flush began.
    pub(super) unpublished: Option<Arc<Snapshot>>,
    /// The last durable commit when it began, and the last flushed one.
    pub(super) durable: TransactionId,
    pub(super) flushed: RecordRef,
    /// What it has that the durable one has not, if that is known; only whoever makes it durable has that.
    pub(super) changes: Option<JournalInput>,
    pub(super) may_be_entry: bool,
}
