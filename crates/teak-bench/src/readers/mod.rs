//! What it costs to begin a read transaction and to end it: alone, beside another thread, and beside many that stay open.
//!
//! The engines take turns in slices of a fixed time, in which all threads look up the same keys, each from a place of its own. What
//! they find is checked by a sum. The table is small enough for the processor's caches, so that the lookup hides little of the
//! transaction. LMDB and libmdbx are opened twice: with slots of transactions, which can be many to a thread, and with slots of
//! threads. With slots of threads a transaction that is taken up again does what one with a slot of its own does, and many cannot be
//! held open by one thread: both have no line. All that stay open have the same snapshot, since nothing is written meanwhile.
//!
//! A thread's time goes on while it does not run: where there are more threads than free processors, `lookup` shows by how much.

mod figure;
mod report;
mod slice;

pub(crate) use figure::ReadersFigure;
pub(crate) use report::{describe_run, table};

use crate::{
    arguments::Readers,
    bench::{BenchContender, settle, turn_order},
    data::DataSet,
    engines::{Durability, Held, OpenSettings, ReadStart, ReadStep, SlotOwner},
    statistics::Samples,
    workloads::load,
};
use anyhow::{Context, Result};
use slice::KeyBatches;
use std::{path::Path, time::Duration};

/// Slots for readers that nobody needs.
const SLOTS_SPARE: u32 = 16;
/// How much shorter than others the slice is that is not counted.
const WARM_UP_PART: u32 = 10;

/// An engine with its database, opened in one way.
struct ReadersRunner {
    contender: BenchContender,
    slots: SlotOwner,
}

/// How many threads read beside how many transactions that stay open.
#[derive(Clone, Copy)]
struct ReadersSetting {
    open: u32,
    threads: u32,
}

/// One line of the result, as it grows.
struct ReadersRow<'r> {
    runner: &'r ReadersRunner,
    step: ReadStep,
    samples: Samples,
    operations: u64,
}

/// Runs what `readers` asks for, with databases below `directory`, and says on standard error where it is.
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

/// Each engine, and each that ties slots to threads by itself once more, so.
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

/// The lines of a setting: what is compared with each other stands, and runs, together.
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

impl ReadersRunner {
    /// The ways of beginning and ending that it has a line for.
    fn readings(&self, setting: ReadersSetting) -> &'static [ReadStart] {
        match self.slots {
            SlotOwner::Threads if setting.open > 0 => &[],
            SlotOwner::Transactions { .. } if self.contender.kind.knows_slots() => {
                &[ReadStart::Begin, ReadStart::Renew]
            }
            _ => &[ReadStart::Begin],
        }
    }
}

impl<'r> ReadersRow<'r> {
    fn new(runner: &'r ReadersRunner, step: ReadStep) -> Self {
        Self {
            runner,
            step,
            samples: Samples::default(),
            operations: 0,
        }
    }

    fn run(
        &self,
        setting: ReadersSetting,
        lookups: &KeyBatches,
        length: Duration,
    ) -> Result<slice::ReadersOutcome> {
        let contender = &self.runner.contender;
        slice::run(
            contender.reader()?,
            self.step,
            lookups,
            setting.threads,
            length,
        )
        .with_context(|| format!("{} failed", contender.kind))
    }
}

#[cfg(test)]
mod tests;
