//! One line of the result: an engine's figures with a number of processes, or its error.

use super::message::ProcessShare;
use crate::{
    arguments::{CommitOrdering, Handover},
    engines::EngineKind,
    statistics::{Samples, Spread},
};
use anyhow::Result;
use serde::Serialize;

/// A case that is measured with each engine.
#[derive(Clone, Copy)]
pub(super) struct HandoverCase {
    pub(super) turns: CommitOrdering,
    pub(super) processes: u32,
}

impl HandoverCase {
    pub(super) fn describe(self) -> String {
        let Self { turns, processes } = self;
        format!("{turns}, processes: {processes}")
    }
}

/// The commit rate of the processes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HandoverFigure {
    pub(crate) work: &'static str,
    pub(crate) mode: CommitOrdering,
    pub(crate) engine: EngineKind,
    pub(crate) processes: u32,
    /// Records that were loaded.
    pub(crate) records: u64,
    #[serde(flatten)]
    pub(crate) outcome: HandoverOutcome,
}

/// The outcome of a case.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum HandoverOutcome {
    Rates(CommitRates),
    Error { error: String },
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct CommitRates {
    /// The rate of all processes together, the median over the rounds.
    pub(crate) commits_per_second: f64,
    /// The slowest and the fastest round.
    pub(crate) spread: Spread,
    /// Rounds.
    pub(crate) repeats: usize,
    /// Each process's share of the commits, as medians over the rounds.
    pub(crate) shares: Vec<f64>,
    /// The share of the process with the fewest commits in a round, as the median over the rounds.
    pub(crate) share_min: f64,
    /// The longest wait for a turn in a round, as the median over the rounds.
    pub(crate) wait_max_ns: f64,
    /// The longest wait for a turn in all rounds.
    pub(crate) wait_longest_ns: f64,
}

/// The results of one case with one engine. After an error there are no more.
#[derive(Default)]
pub(super) struct HandoverTally {
    commits_per_second: Samples,
    shares: Vec<Samples>,
    share_min: Samples,
    wait_max_ns: Samples,
    error: Option<String>,
}

impl HandoverTally {
    /// Runs a slice and adds its result, unless an earlier one has failed.
    pub(super) fn add(&mut self, slice: impl FnOnce() -> Result<Vec<ProcessShare>>) {
        if self.error.is_some() {
            return;
        }
        match slice() {
            Ok(shares) => self.add_shares(&shares),
            Err(error) => self.error = Some(format!("{error:#}")),
        }
    }

    fn add_shares(&mut self, shares: &[ProcessShare]) {
        let commits: u64 = shares.iter().map(|share| share.commits).sum();
        let seconds = shares.iter().map(|share| share.seconds).fold(0.0, f64::max);
        self.commits_per_second.push(commits as f64 / seconds);
        self.shares.resize_with(shares.len(), Samples::default);
        let mut least = 1.0_f64;
        for (samples, share) in self.shares.iter_mut().zip(shares) {
            let part = share.commits as f64 / commits.max(1) as f64;
            samples.push(part);
            least = least.min(part);
        }
        self.share_min.push(least);
        let wait = shares.iter().map(|share| share.wait_max_ns).max();
        self.wait_max_ns.push(wait.unwrap_or_default() as f64);
    }

    /// The outcome of the rounds; `None` if there were none.
    fn outcome(&self) -> Option<HandoverOutcome> {
        if let Some(error) = self.error.clone() {
            return Some(HandoverOutcome::Error { error });
        }
        Some(HandoverOutcome::Rates(CommitRates {
            commits_per_second: self.commits_per_second.median()?,
            spread: self.commits_per_second.spread()?,
            repeats: self.commits_per_second.len(),
            shares: self.shares.iter().filter_map(Samples::median).collect(),
            share_min: self.share_min.median()?,
            wait_max_ns: self.wait_max_ns.median()?,
            wait_longest_ns: self.wait_max_ns.spread()?.max,
        }))
    }
}

impl HandoverFigure {
    /// The figure of a case with an engine; `None` if there were no rounds.
    pub(super) fn new(
        handover: &Handover,
        case: HandoverCase,
        engine: EngineKind,
        tally: &HandoverTally,
    ) -> Option<Self> {
        Some(Self {
            work: "handover",
            mode: case.turns,
            engine,
            processes: case.processes,
            records: handover.records,
            outcome: tally.outcome()?,
        })
    }

    /// Whether it belongs to the same case.
    pub(super) fn is_same_case(&self, other: &Self) -> bool {
        (self.mode, self.processes) == (other.mode, other.processes)
    }
}

#[cfg(test)]
#[path = "figure_tests.rs"]
mod tests;
