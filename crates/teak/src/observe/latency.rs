//! Timing of the steps of a commit.

use std::time::{Duration, Instant};

/// The duration of each step of a commit. See
/// [`WriteTxn::commit_measured`](crate::WriteTxn::commit_measured). The steps are described in
/// `ARCHITECTURE.md`, "The life of a commit".
///
/// A small durable commit that arrives during another flush is written together with others. It
/// writes nothing itself, and the time for that is in `wait`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CommitLatency {
    /// Step *Tidy*: releasing parts of dropped trees, and moving pages from the end of the file if
    /// much more is free than in use.
    pub tail: Duration,
    /// Computing checksums, and writing the roots of tables to the catalog.
    pub roots: Duration,
    /// Recording which pages were taken and which died.
    pub space: Duration,
    /// Writing pages, and growing the file.
    pub write: Duration,
    /// Writing the commit record.
    pub record: Duration,
    /// Waiting for the disk, while others may write.
    pub wait: Duration,
    /// The total duration.
    pub whole: Duration,
}

/// A step of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CommitStep {
    Tail,
    Roots,
    Space,
    Write,
    Record,
    Wait,
}

/// Measures consecutive steps.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    began: Instant,
    lap: Instant,
    latency: CommitLatency,
}

impl Stopwatch {
    pub(crate) fn started() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            lap: now,
            latency: CommitLatency::default(),
        }
    }

    /// Notes the end of a step, which includes the time since the previous note.
    pub(crate) fn note(&mut self, step: CommitStep) {
        let now = Instant::now();
        let latency = &mut self.latency;
        let total = match step {
            CommitStep::Tail => &mut latency.tail,
            CommitStep::Roots => &mut latency.roots,
            CommitStep::Space => &mut latency.space,
            CommitStep::Write => &mut latency.write,
            CommitStep::Record => &mut latency.record,
            CommitStep::Wait => &mut latency.wait,
        };
        *total += now - self.lap;
        self.lap = now;
    }

    /// Ends the measurement.
    pub(crate) fn stop(mut self) -> CommitLatency {
        self.latency.whole = self.began.elapsed();
        self.latency
    }
}
