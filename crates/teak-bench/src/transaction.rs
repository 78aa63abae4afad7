//! One transaction of many records in random order: its time and the bytes that it writes, with
//! little memory and with enough.
//!
//! Teak has a run per memory budget and durability, the others one per durability, since they have
//! no budget. Each run has a new database, and all engines take turns in each round.

use crate::{
    arguments::TransactionArguments,
    bench::{BenchContender, settle, turn_order},
    data::{DataSet, KEY_LEN, Record, VALUE_LEN},
    engines::{Durability, EngineKind, Insertion, OpenSettings, Space},
    process::Traffic,
    report::{align_right, plain_table},
    statistics::{Samples, Spread},
    workloads::load,
};
use anyhow::{Context, Result};
use comfy_table::Table;
use serde::Serialize;
use std::{fs, path::Path, time::Instant};

/// The figures of one engine in one mode.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TransactionFigure {
    work: &'static str,
    engine: EngineKind,
    durability: Durability,
    /// The memory budget, of an engine that has one.
    write_mib: Option<u64>,
    records: u64,
    /// The median of the rounds.
    seconds: f64,
    seconds_spread: Spread,
    /// Bytes that were given to calls that write, in the last round.
    called_bytes: u64,
    /// Bytes of pages that became dirty, in the last round.
    dirtied_bytes: u64,
    #[serde(flatten)]
    space: Space,
}

/// An engine in one mode.
struct TransactionRunner {
    contender: BenchContender,
    durability: Durability,
    write_mib: Option<u64>,
    samples: Samples,
    last: Option<(Traffic, Space)>,
}

/// Runs `transaction` with databases below `directory`.
pub(crate) fn run(
    arguments: &TransactionArguments,
    directory: &Path,
) -> Result<Vec<TransactionFigure>> {
    let data = DataSet::new(usize::try_from(arguments.records)?);
    let records: Vec<_> = data.keys.iter().map(|key| Record::new(*key, 0)).collect();
    let mut runners = runners(arguments, directory);
    for round in 0..arguments.repeat as usize {
        for index in turn_order(runners.len(), round) {
            let runner = &mut runners[index];
            let ran = runner.run(&data, &records);
            ran.with_context(|| format!("{} failed", runner.contender.kind))?;
            settle(directory)?;
        }
    }
    let figures = runners.iter().filter_map(|runner| runner.figure(arguments));
    Ok(figures.collect())
}

fn runners(arguments: &TransactionArguments, directory: &Path) -> Vec<TransactionRunner> {
    let mut runners = Vec::new();
    for &kind in &arguments.engines {
        let budgets: Vec<_> = match kind.has_write_budget() {
            true => arguments.write_mib.iter().copied().map(Some).collect(),
            false => vec![None],
        };
        for write_mib in budgets {
            for durability in [Durability::Durable, Durability::Lazy] {
                let name = format!("{}-{}", kind.name(), runners.len());
                runners.push(TransactionRunner {
                    contender: BenchContender::new(kind, directory.join(name)),
                    durability,
                    write_mib,
                    samples: Samples::default(),
                    last: None,
                });
            }
        }
    }
    runners
}

impl TransactionRunner {
    fn run(&mut self, data: &DataSet, records: &[Record]) -> Result<()> {
        fs::create_dir_all(self.contender.directory())?;
        let mut opening = OpenSettings::usual(self.durability, data.bytes());
        opening.write_bytes = self.write_mib.map(|mib| mib << 20);
        self.contender.reopen_for(&opening)?;
        let engine = self.contender.engine()?;
        let (before, start) = (Traffic::now(), Instant::now());
        engine.write(records, Insertion::Single)?;
        self.samples.push(start.elapsed().as_secs_f64());
        self.last = Some((Traffic::now().since(before), engine.space()?));
        load::check(&mut self.contender, &data.keys)?;
        self.contender.discard()
    }

    /// `None` if nothing was done.
    fn figure(&self, arguments: &TransactionArguments) -> Option<TransactionFigure> {
        let (traffic, space) = self.last?;
        Some(TransactionFigure {
            work: "transaction",
            engine: self.contender.kind,
            durability: self.durability,
            write_mib: self.write_mib,
            records: arguments.records,
            seconds: self.samples.median()?,
            seconds_spread: self.samples.spread()?,
            called_bytes: traffic.written_by_calls_bytes(),
            dirtied_bytes: traffic.written_bytes(),
            space,
        })
    }
}

/// A line that describes the run.
pub(crate) fn describe_run(arguments: &TransactionArguments) -> String {
    format!(
        "{} records ({KEY_LEN}-byte keys, {VALUE_LEN}-byte values) in random order in one transaction\n",
        arguments.records
    )
}

/// A line for each engine and mode.
pub(crate) fn table(figures: &[TransactionFigure]) -> Table {
    let header = [
        "engine",
        "commit",
        "memory MiB",
        "seconds",
        "fastest",
        "slowest",
        "MB to calls",
        "MB dirtied",
        "file MB",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        let megabytes = |bytes: u64| format!("{:.0}", bytes as f64 / 1e6);
        let commit = match figure.durability {
            Durability::Durable => "durable",
            _ => "lazy",
        };
        let seconds = |seconds: f64| format!("{seconds:.2}");
        table.add_row([
            figure.engine.to_string(),
            commit.to_owned(),
            figure
                .write_mib
                .map_or("-".to_owned(), |mib| mib.to_string()),
            seconds(figure.seconds),
            seconds(figure.seconds_spread.min),
            seconds(figure.seconds_spread.max),
            megabytes(figure.called_bytes),
            megabytes(figure.dirtied_bytes),
            megabytes(figure.space.file_bytes),
        ]);
    }
    align_right(table, 2)
}
