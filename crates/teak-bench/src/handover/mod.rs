//! Processes that commit to one database at the same time, one record at a time, without waiting
//! for the disk.
//!
//! Each process is this program with a hidden subcommand, and opens the database itself; this
//! process does not have it open during the run. All processes get a time to begin at, commit for a
//! slice of time, and report in lines of JSON.
//!
//! - *Free*: the process that gets the engine's lock commits. Each process writes new values to its
//!   own keys, which lie between those of the others, and checks in the end that each has the last
//!   value it committed.
//! - *Strict*: a process commits only when it sees that it is its turn, by a lookup of a counter in
//!   the database, in a new read transaction each time, yielding between the lookups. The next
//!   process notices a lost commit.
//!
//! An engine that cannot do this shows its error, and the others continue.

mod figure;
mod message;
mod process;
mod report;
mod work;

pub(crate) use figure::HandoverFigure;
pub(crate) use report::{describe_run, table};
pub(crate) use work::run_process;

use crate::{
    arguments::{Handover, HandoverProcess},
    bench::{BenchContender, settle, turn_order},
    data::{DataSet, Key, Record, VALUE_LEN},
    engines::Insertion,
    workloads::load,
};
use anyhow::{Context, Result, ensure};
use figure::{HandoverCase, HandoverTally};
use std::path::Path;

/// The record that strict turns are counted in. It is before every other.
const COUNTER_KEY: Key = [0; 16];

/// Runs `handover` with databases below `directory`. Reports progress on standard error.
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

/// Runs one slice of one engine, and returns each process's part.
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

/// The record with the number of commits in strict mode.
fn counter_record(count: u64) -> Record {
    let mut value = [0; VALUE_LEN];
    value[..8].copy_from_slice(&count.to_be_bytes());
    Record {
        key: COUNTER_KEY,
        value,
    }
}

/// The number in a [`counter_record`].
fn count_of(value: &[u8]) -> Result<u64> {
    let count = value
        .first_chunk()
        .context("the counter is not as it was written")?;
    Ok(u64::from_be_bytes(*count))
}

#[cfg(test)]
mod tests;
