//! How long the steps of a commit take, for who asks.

use std::time::{Duration, Instant};

/// How long a commit took, step by step; see [`WriteTxn::commit_measured`](crate::WriteTxn::commit_measured). The steps are those of
/// `ARCHITECTURE.md`, "The life of a commit".
///
/// A small durable commit that comes while another one is being flushed is written together with others: it writes nothing itself, and all
/// of that is in `wait`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CommitLatency {
    /// Releasing some of what was dropped, and moving pages from the end of the file, where far more is free than in use.
    pub tail: Duration,
    /// Finding checksums, and writing the roots of tables to the catalog.
    pub roots: Duration,
    /// Noting which pages were taken and which died.
    pub space: Duration,
    /// Writing pages, and making the file longer.
    pub write: Duration,
    /// Writing the commit record.
    pub record: Duration,
    /// Waiting for the disk, while others may write.
    pub wait: Duration,
    /// All of it.
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

/// Measures steps that follow each other.
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

    /// The step is over, and with it what was not noted before.
    pub(crate) fn note(&mut self, step: CommitStep) {
        let now = Instant::now();
        let latency = &mut self.latency;
        let place = match step {
            CommitStep::Tail => &mut latency.tail,
            CommitStep::Roots => &mut latency.roots,
            CommitStep::Space => &mut latency.space,
            CommitStep::Write => &mut latency.write,
            CommitStep::Record => &mut latency.record,
            CommitStep::Wait => &mut latency.wait,
        };
        *place += now - self.lap;
        self.lap = now;
    }

    /// All is over.
    pub(crate) fn stop(mut self) -> CommitLatency {
        self.latency.whole = self.began.elapsed();
        self.latency
    }
}
