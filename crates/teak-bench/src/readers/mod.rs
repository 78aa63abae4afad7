//! The cost of beginning and ending a read transaction: alone, with other threads, and with many
//! other open ones.
//!
//! The engines take turns in slices of a fixed time, in which all threads look up the same keys,
//! each from its own starting point. The results are checked by a sum. The table fits the
//! processor's caches, so that the lookup hides little of the transaction. LMDB and libmdbx are
//! opened twice: with slots of transactions, of which a thread can have many, and with slots of
//! threads. With slots of threads, renewing a transaction costs as much as with a slot of its own,
//! and one thread cannot hold many open: neither has a line. All open transactions have the same
//! snapshot, since nothing is written.
//!
//! A thread's time includes the time when it does not run. Where there are more threads than free
//! processors, `lookup` shows by how much.

mod figure;
mod report;
mod runner;
mod slice;

pub(crate) use figure::ReadersFigure;
pub(crate) use report::{describe_run, table};

use crate::{
    arguments::Readers,
    bench::{BenchContender, settle, turn_order},
    data::DataSet,
    engines::{Durability, Held, OpenSettings, ReadStart, ReadStep, SlotOwner},
    workloads::load,
};
use anyhow::{Context, Result};
use runner::{ReadersRow, ReadersRunner, ReadersSetting};
use slice::KeyBatches;
use std::{path::Path, time::Duration};

/// Additional slots for readers.
const SLOTS_SPARE: u32 = 16;
/// The factor by which the slice that is not counted is shorter than others.
const WARM_UP_PART: u32 = 10;

/// Runs `readers` with databases below `directory`. Reports progress on standard error.
pub(crate) fn run(readers: &Readers, directory: &Path) -> Result<Vec<ReadersFigure>> {
    let data = DataSet::new(usize::try_from(readers.records)?);
    let mut runners = runners(readers, directory);
    for runner in &mut runners {
        eprintln!("loading {}, not measured", runner.contender.kind);
        load::fill(&mut runner.contender, &data)?;
        runner.contender.reopen_for(&OpenSettings {
            slots: runner.slots,
            ..OpenSettings::usual(Durability::Lazy, data.bytes())
        })?;
    }
    settle(directory)?;
    let lookups = KeyBatches::new(&data);
    let mut figures = Vec::new();
    for &open in &readers.open {
        let _held = hold(&runners, open)?;
        for &threads in &readers.threads {
            eprintln!("threads: {threads}; open: {open}");
            let setting = ReadersSetting { open, threads };
            figures.extend(run_setting(readers, setting, &runners, &lookups)?);
        }
    }
    for runner in &mut runners {
        runner.contender.discard()?;
    }
    Ok(figures)
}

/// Each engine, and those that can tie slots to threads a second time, in that mode.
fn runners(readers: &Readers, directory: &Path) -> Vec<ReadersRunner> {
    let most = |counts: &[u32]| counts.iter().copied().max().unwrap_or_default();
    let max = most(&readers.open) + most(&readers.threads) + SLOTS_SPARE;
    let mut runners: Vec<ReadersRunner> = Vec::new();
    for &kind in &readers.engines {
        if runners.iter().any(|known| known.contender.kind == kind) {
            continue;
        }
        runners.push(ReadersRunner {
            contender: BenchContender::new(kind, directory.join(kind.name())),
            slots: SlotOwner::Transactions { max },
        });
        if kind.knows_slots() {
            let run_directory = directory.join(format!("{kind}-slots-of-threads"));
            runners.push(ReadersRunner {
                contender: BenchContender::new(kind, run_directory),
                slots: SlotOwner::Threads,
            });
        }
    }
    runners
}

/// Begins `open` transactions of every runner that a thread can begin many of.
fn hold(runners: &[ReadersRunner], open: u32) -> Result<Vec<Box<dyn Held + '_>>> {
    let able = runners
        .iter()
        .filter(|runner| runner.slots != SlotOwner::Threads);
    able.map(|runner| {
        let held = runner.contender.reader()?.hold(open);
        held.with_context(|| format!("{} cannot hold {open} readers", runner.contender.kind))
    })
    .collect()
}

/// Measures every line of one setting.
fn run_setting(
    readers: &Readers,
    setting: ReadersSetting,
    runners: &[ReadersRunner],
    lookups: &KeyBatches,
) -> Result<Vec<ReadersFigure>> {
    let length = Duration::from_millis(readers.slice_ms);
    let mut rows = rows(setting, runners);
    for row in &rows {
        row.run(setting, lookups, length / WARM_UP_PART)?;
    }
    for round in 0..usize::try_from(readers.repeat)? {
        for index in turn_order(rows.len(), round) {
            let row = &mut rows[index];
            let outcome = row.run(setting, lookups, length)?;
            row.samples.push(outcome.ns_per_operation());
            row.operations += outcome.operations;
        }
    }
    Ok(rows
        .iter()
        .filter_map(|row| ReadersFigure::new(readers, setting, row))
        .collect())
}

/// The lines of a setting. Lines to be compared are adjacent, and run together.
fn rows(setting: ReadersSetting, runners: &[ReadersRunner]) -> Vec<ReadersRow<'_>> {
    let with_transaction: [fn(ReadStart) -> ReadStep; 2] =
        [ReadStep::Transaction, ReadStep::TransactionWithLookup];
    let mut rows = Vec::new();
    for step in with_transaction {
        for runner in runners {
            let readings = runner.readings(setting).iter();
            rows.extend(readings.map(|reading| ReadersRow::new(runner, step(*reading))));
        }
    }
    let once = runners
        .iter()
        .filter(|runner| runner.slots != SlotOwner::Threads);
    rows.extend(once.map(|runner| ReadersRow::new(runner, ReadStep::Lookup)));
    rows
}

#[cfg(test)]
mod tests;
