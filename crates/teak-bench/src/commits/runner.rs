//! An engine in one mode, and the results of its rounds.

use super::slice;
use crate::{
    bench::BenchContender,
    data::{Digest, Record},
    engines::{Durability, EngineKind},
    latencies::Latencies,
    statistics::Samples,
};
use anyhow::{Context, Result, ensure};

/// An engine in one mode, with its database.
pub(super) struct CommitsRunner {
    pub(super) contender: BenchContender,
    pub(super) mode: Durability,
}

/// The results of one runner's rounds with one number of threads.
pub(super) struct CommitsTally {
    pub(super) commits_per_second: Samples,
    pub(super) latencies: Latencies,
}

impl CommitsRunner {
    pub(super) fn name(&self) -> String {
        name(self.contender.kind, self.mode)
    }

    /// Commits `records`, one transaction each, from `threads` threads.
    pub(super) fn commit(
        &mut self,
        records: &[Record],
        threads: usize,
    ) -> Result<slice::CommitsOutcome> {
        let name = self.name();
        let committer = self.contender.engine()?.committer();
        let outcome = slice::run(committer, records, threads)
            .with_context(|| format!("{name} failed with {threads} threads"))?;
        ensure!(
            outcome.latencies.count() == records.len() as u64,
            "{name} did not commit every record"
        );
        if self.mode == Durability::Lazy {
            committer.settle()?;
        }
        Ok(outcome)
    }

    /// Compares the records of a round, and the sum over all.
    pub(super) fn check(&mut self, records: &[Record], expected: Digest) -> Result<()> {
        let engine = self.contender.engine()?;
        for record in records {
            let value = engine.value(&record.key)?;
            ensure!(
                value.as_deref() == Some(&record.value[..]),
                "key {:02x?} does not have the value that was committed",
                record.key
            );
        }
        let found = engine.scan()?;
        ensure!(
            found == expected,
            "the whole database comes to {found:?} instead of {expected:?}"
        );
        Ok(())
    }
}

impl CommitsTally {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            commits_per_second: Samples::default(),
            latencies: Latencies::new()?,
        })
    }
}

/// The name of an engine in one mode.
pub(super) fn name(engine: EngineKind, mode: Durability) -> String {
    match mode {
        Durability::Durable => engine.to_string(),
        Durability::Async => format!("{engine} async"),
        Durability::Lazy | Durability::Careless => format!("{engine} lazy"),
    }
}
