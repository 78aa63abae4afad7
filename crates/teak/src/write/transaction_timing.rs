//! How long a write transaction and the steps of its commit take.

use crate::io::uptime_ms;
use crate::observe::{events::CommitNote, latency::Stopwatch};

/// The clocks of a write transaction.
#[derive(Debug)]
pub(crate) struct TransactionTiming {
    /// Absent where nobody wants to know how long the steps of the commit take.
    pub(crate) stopwatch: Option<Stopwatch>,
    /// Absent where nobody wants to know of commits.
    pub(crate) commit_note: Option<CommitNote>,
    /// When it got its turn, as [`uptime_ms`] has it.
    pub(crate) began_ms: u64,
}

impl TransactionTiming {
    /// Begins now.
    pub(crate) fn started() -> Self {
        Self {
            stopwatch: None,
            commit_note: None,
            began_ms: uptime_ms(),
        }
    }
}
