//! How long a write transaction and the steps of its commit take.

use super::{events::CommitNote, latency::Stopwatch};
use crate::store::uptime_ms;

/// The clocks of a write transaction.
#[derive(Debug)]
pub(super) struct TransactionTiming {
    /// Absent where nobody wants to know how long the steps of the commit take.
    pub(super) stopwatch: Option<Stopwatch>,
    /// Absent where nobody wants to know of commits.
    pub(super) commit_note: Option<CommitNote>,
    /// When it got its turn, as [`uptime_ms`] has it.
    pub(super) began_ms: u64,
}

impl TransactionTiming {
    /// Begins now.
    pub(super) fn started() -> Self {
        Self {
            stopwatch: None,
            commit_note: None,
            began_ms: uptime_ms(),
        }
    }
}
