//! Commits of one record each, from one thread and from many at the same time.
//!
//! All engines are given the same records. They take turns in slices; a slice is done by all threads together, which take
//! its records one after the other from one place, so that none is without work before the others. After each round the
//! round's records are compared whole, and the sum over the whole database with what it has to be.

mod changes;
mod figure;
mod report;
mod slice;

pub(crate) use figure::CommitsFigure;
pub(crate) use report::{describe_run, table};

use crate::{
    arguments::Commits,
    bench::{BenchContender, settle, turn_order},
    data::{DataSet, Digest, Record},
    engines::{Durability, EngineKind},
    latencies::Latencies,
    statistics::Samples,
    workloads::load,
};
use anyhow::{Context, Result, ensure};
use changes::ChangeSeries;
use std::path::Path;

/// What a thread does of a slice, on average: enough that beginning and end are lost in it.
const SLICE_COMMITS_PER_THREAD: usize = 64;

/// An engine in one mode, with its database.
struct CommitsRunner {
    contender: BenchContender,
    mode: Durability,
}

/// What the rounds of one runner came to, with one number of threads.
struct CommitsTally {
    commits_per_second: Samples,
    latencies: Latencies,
}

/// Runs what `commits` asks for, with databases below `directory`, and says on standard error where it is.
pub(crate) fn run(commits: &Commits, directory: &Path) -> Result<Vec<CommitsFigure>> {
    ensure!(
        u64::from(commits.commits) <= 2 * commits.records,
        "a round of {} commits changes some of {} records twice; give --commits at most twice --records",
        commits.commits,
        commits.records
    );
    let data = DataSet::new(usize::try_from(commits.records)?);
    let mut runners = runners(commits, directory);
    for runner in &mut runners {
        eprintln!("loading {}, not measured", runner.name());
        load::fill(&mut runner.contender, &data)?;
        runner.contender.reopen(runner.mode, &data)?;
    }
    settle(directory)?;
    let mut changes = ChangeSeries::new(&data);
    let mut figures = Vec::new();
    for &threads in &commits.threads {
        let done = run_threads(
            commits,
            usize::try_from(threads)?,
            &mut runners,
            &mut changes,
        )?;
        eprintln!("{}", report::line(threads, &done));
        figures.extend(done);
    }
    for runner in &mut runners {
        runner.contender.discard()?;
    }
    Ok(figures)
}

/// Each engine in durable mode, and Teak in those that were asked for.
fn runners(commits: &Commits, directory: &Path) -> Vec<CommitsRunner> {
    let durable = commits
        .engines
        .iter()
        .map(|kind| (*kind, Durability::Durable));
    let more = commits
        .mode
        .iter()
        .map(|mode| (EngineKind::Teak, mode.durability()));
    let mut runners: Vec<CommitsRunner> = Vec::new();
    for (kind, mode) in durable.chain(more) {
        if runners
            .iter()
            .any(|known| known.contender.kind == kind && known.mode == mode)
        {
            continue;
        }
        let run_directory = directory.join(figure::name(kind, mode).replace(' ', "-"));
        runners.push(CommitsRunner {
            contender: BenchContender::new(kind, run_directory),
            mode,
        });
    }
    runners
}

/// Measures every runner with one number of threads. One slice before the first round is not counted.
fn run_threads(
    commits: &Commits,
    threads: usize,
    runners: &mut [CommitsRunner],
    changes: &mut ChangeSeries<'_>,
) -> Result<Vec<CommitsFigure>> {
    let count = usize::try_from(commits.commits)?;
    let mut tallies = Vec::new();
    for _ in &*runners {
        tallies.push(CommitsTally::new()?);
    }
    let first = changes.take(slice_len(count, threads));
    for runner in &mut *runners {
        runner.commit(&first, threads)?;
    }
    for round in 0..usize::try_from(commits.repeat)? {
        let records = changes.take(count);
        run_round(round, threads, &records, runners, &mut tallies)?;
        for runner in &mut *runners {
            runner
                .check(&records, changes.expected())
                .with_context(|| format!("{} lost a commit", runner.name()))?;
        }
    }
    let figures = runners.iter().zip(&tallies);
    Ok(figures
        .filter_map(|(runner, tally)| CommitsFigure::new(commits, threads, runner, tally))
        .collect())
}

/// One round: every slice by every runner, in changing order.
fn run_round(
    round: usize,
    threads: usize,
    records: &[Record],
    runners: &mut [CommitsRunner],
    tallies: &mut [CommitsTally],
) -> Result<()> {
    let mut seconds = vec![0.0; runners.len()];
    let slices = records.chunks(slice_len(records.len(), threads));
    for (turn, slice) in slices.enumerate() {
        for index in turn_order(runners.len(), round + turn) {
            let outcome = runners[index].commit(slice, threads)?;
            seconds[index] += outcome.elapsed.as_secs_f64();
            tallies[index].latencies.add(&outcome.latencies)?;
        }
    }
    for (tally, seconds) in tallies.iter_mut().zip(seconds) {
        tally
            .commits_per_second
            .push(records.len() as f64 / seconds);
    }
    Ok(())
}

/// The commits of a slice: `count` in parts of about the same size.
fn slice_len(count: usize, threads: usize) -> usize {
    let wanted = SLICE_COMMITS_PER_THREAD * threads;
    let slices = (count / wanted).max(1);
    count.div_ceil(slices)
}

impl CommitsRunner {
    fn name(&self) -> String {
        figure::name(self.contender.kind, self.mode)
    }

    /// Commits `records`, a transaction each, by so many threads.
    fn commit(&mut self, records: &[Record], threads: usize) -> Result<slice::CommitsOutcome> {
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
    fn check(&mut self, records: &[Record], expected: Digest) -> Result<()> {
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
    fn new() -> Result<Self> {
        Ok(Self {
            commits_per_second: Samples::default(),
            latencies: Latencies::new()?,
        })
    }
}

#[cfg(test)]
mod tests;
