//! Processes that commit to one database at the same time, one record at a time, and no commit waits for the disk.
//!
//! Each process is this program again, with a hidden subcommand, and opens the database by itself; this one does not have it open
//! meanwhile. They are told a moment to begin at, commit for a slice of time, and report in lines of JSON.
//!
//! - *Free*: who gets the engine's lock commits. Each process puts new values to keys of its own, which lie between those of the
//!   others, and looks in the end whether each of them has the last value that it committed.
//! - *Strict*: each commits only when it has seen that it is its turn, by a lookup of a counter in the database itself, in a read
//!   transaction of its own each time, giving way to others between them. A commit that got lost is noticed by the next.
//!
//! An engine that cannot do this shows its error, and the others run on.

mod figure;
mod message;
mod process;
mod report;
mod work;

pub(crate) use figure::HandoverFigure;
pub(crate) use report::{describe_run, table};
pub(crate) use work::run_process;

use crate::{
    arguments::{CommitOrdering, Handover, HandoverProcess},
    bench::{BenchContender, settle, turn_order},
    data::{DataSet, Key, Record, VALUE_LEN},
    engines::Insertion,
    workloads::load,
};
use anyhow::{Context, Result, ensure};
use figure::HandoverTally;
use std::path::Path;

/// The record that strict turns are counted in. It is before every other.
const COUNTER_KEY: Key = [0; 16];

/// What is measured of each engine.
#[derive(Clone, Copy)]
struct HandoverCase {
    turns: CommitOrdering,
    processes: u32,
}

/// Runs what `handover` asks for, with databases below `directory`, and says on standard error where it is.
pub(crate) fn run(handover: &Handover, directory: &Path) -> Result<Vec<HandoverFigure>> {
    let most = handover.processes.iter().copied().max().unwrap_or(1);
    ensure!(
        u64::from(most) <= handover.records,
        "{most} processes need a key each; give more --records"
    );
    let mut contenders = contenders(handover, directory)?;
    let cases = cases(handover);
    let mut tallies: Vec<Vec<HandoverTally>> = cases
        .iter()
        .map(|_| {
            contenders
                .iter()
                .map(|_| HandoverTally::default())
                .collect()
        })
        .collect();
    for round in 0..usize::try_from(handover.repeat)? {
        for (index, case) in cases.iter().enumerate() {
            eprintln!("round {}: {}", round + 1, case.describe());
            for turn in turn_order(contenders.len(), round + index) {
                settle(directory)?;
                tallies[index][turn].add(|| run_slice(handover, *case, &contenders[turn]));
            }
        }
    }
    let mut figures = Vec::new();
    for (case, tallies) in cases.iter().zip(&tallies) {
        for (contender, tally) in contenders.iter().zip(tallies) {
            figures.extend(HandoverFigure::new(handover, *case, contender.kind, tally));
        }
    }
    for contender in &mut contenders {
        contender.discard()?;
    }
    Ok(figures)
}

/// Each engine, with its database loaded and closed.
fn contenders(handover: &Handover, directory: &Path) -> Result<Vec<BenchContender>> {
    let data = DataSet::new(usize::try_from(handover.records)?);
    let mut contenders: Vec<BenchContender> = Vec::new();
    for &kind in &handover.engines {
        if contenders.iter().any(|known| known.kind == kind) {
            continue;
        }
        eprintln!("loading {kind}, not measured");
        let mut contender = BenchContender::new(kind, directory.join(kind.name()));
        load::fill(&mut contender, &data)?;
        let engine = contender.engine()?;
        engine.write(&[counter_record(0)], Insertion::Single)?;
        contender.close()?;
        contenders.push(contender);
    }
    Ok(contenders)
}

fn cases(handover: &Handover) -> Vec<HandoverCase> {
    let of_turns = |&turns| {
        let counts = handover.processes.iter();
        counts.map(move |&processes| HandoverCase { turns, processes })
    };
    handover.mode.iter().flat_map(of_turns).collect()
}

/// One slice of one engine: what each process did.
fn run_slice(
    handover: &Handover,
    case: HandoverCase,
    contender: &BenchContender,
) -> Result<Vec<message::ProcessShare>> {
    let tasks = (0..case.processes).map(|number| HandoverProcess {
        engine: contender.kind,
        directory: contender.directory().to_owned(),
        records: handover.records,
        turns: case.turns,
        number,
        processes: case.processes,
        slice_ms: handover.slice_ms,
    });
    process::run_together(&tasks.collect::<Vec<_>>())
}

/// The record that says how many commits have taken their turn.
fn counter_record(count: u64) -> Record {
    let mut value = [0; VALUE_LEN];
    value[..8].copy_from_slice(&count.to_be_bytes());
    Record {
        key: COUNTER_KEY,
        value,
    }
}

/// What [`counter_record`] says.
fn count_of(value: &[u8]) -> Result<u64> {
    let count = value
        .first_chunk()
        .context("the counter is not as it was written")?;
    Ok(u64::from_be_bytes(*count))
}

impl HandoverCase {
    fn describe(self) -> String {
        let Self { turns, processes } = self;
        format!("{turns}, processes: {processes}")
    }
}

#[cfg(test)]
mod tests;
