//! Timing of a write transaction and of the steps of its commit.

use crate::io::uptime_ms;
use crate::observe::{events::CommitNote, latency::Stopwatch, trace::WriteSpans};

/// The clocks of a write transaction.
#[derive(Debug)]
pub(crate) struct TransactionTiming {
    /// `None` if the durations of the commit's steps are not wanted.
    pub(crate) stopwatch: Option<Stopwatch>,
    /// `None` if nobody wants commit events.
    pub(crate) commit_note: Option<CommitNote>,
    /// When it acquired the writer lock, in units of [`uptime_ms`].
    pub(crate) began_ms: u64,
    pub(crate) spans: WriteSpans,
}

impl TransactionTiming {
    /// Starts the clock now.
    pub(crate) fn started() -> Self {
        Self {
            stopwatch: None,
            commit_note: None,
            began_ms: uptime_ms(),
            spans: WriteSpans::default(),
        }
    }
}
