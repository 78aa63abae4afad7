//! One line of the result: an engine's figures with one number of threads.

use super::runner::{self, CommitsRunner, CommitsTally};
use crate::{
    arguments::Commits,
    engines::{Durability, EngineKind},
    statistics::Spread,
};
use serde::Serialize;

/// The rate and times of commits.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CommitsFigure {
    pub(crate) work: &'static str,
    pub(crate) engine: EngineKind,
    pub(crate) mode: Durability,
    pub(crate) threads: usize,
    /// Records that were loaded.
    pub(crate) records: u64,
    /// Commits in a round, of all threads together.
    pub(crate) operations: u64,
    /// The median over the rounds.
    pub(crate) commits_per_second: f64,
    /// The slowest and the fastest round.
    pub(crate) spread: Spread,
    /// Rounds.
    pub(crate) repeats: usize,
    /// The median time of a call, over all rounds.
    pub(crate) p50_ns: u64,
    /// The 99th percentile of the time of a call, over all rounds.
    pub(crate) p99_ns: u64,
}

impl CommitsFigure {
    /// The figure of a runner's rounds; `None` if there were none.
    pub(super) fn new(
        commits: &Commits,
        threads: usize,
        runner: &CommitsRunner,
        tally: &CommitsTally,
    ) -> Option<Self> {
        Some(Self {
            work: "commits",
            engine: runner.contender.kind,
            mode: runner.mode,
            threads,
            records: commits.records,
            operations: u64::from(commits.commits),
            commits_per_second: tally.commits_per_second.median()?,
            spread: tally.commits_per_second.spread()?,
            repeats: tally.commits_per_second.len(),
            p50_ns: tally.latencies.percentile_ns(50.0),
            p99_ns: tally.latencies.percentile_ns(99.0),
        })
    }

    /// The name of its line.
    pub(super) fn name(&self) -> String {
        runner::name(self.engine, self.mode)
    }
}
