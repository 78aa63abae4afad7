//! Commits of one record each, from one thread and from many at the same time.
//!
//! All engines get the same records. They take turns in slices. All threads work on a slice
//! together and take its records from one shared list, so that none runs out of work early. After
//! each round all records of the round are compared, and the sum over the whole database.

mod changes;
mod figure;
mod report;
mod runner;
mod slice;

pub(crate) use figure::CommitsFigure;
pub(crate) use report::{describe_run, table};

use crate::{
    arguments::Commits,
    bench::{BenchContender, settle, turn_order},
    data::{DataSet, Record},
    engines::{Durability, EngineKind},
    workloads::load,
};
use anyhow::{Context, Result, ensure};
use changes::ChangeSeries;
use runner::{CommitsRunner, CommitsTally};
use std::path::Path;

/// The mean number of commits of a thread in a slice: enough that its beginning and end are
/// negligible.
const SLICE_COMMITS_PER_THREAD: usize = 64;

/// Runs `commits` with databases below `directory`. Reports progress on standard error.
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

/// Each engine in durable mode, and Teak in the requested other modes.
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
        let run_directory = directory.join(runner::name(kind, mode).replace(' ', "-"));
        runners.push(CommitsRunner {
            contender: BenchContender::new(kind, run_directory),
            mode,
        });
    }
    runners
}

/// Measures every runner with one number of threads. One slice before the first round is not
/// counted.
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

/// The length of a slice: `count` divided into parts of about equal size.
fn slice_len(count: usize, threads: usize) -> usize {
    let wanted = SLICE_COMMITS_PER_THREAD * threads;
    let slices = (count / wanted).max(1);
    count.div_ceil(slices)
}

#[cfg(test)]
mod tests;
