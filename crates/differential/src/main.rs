//! Runs the same random script of operations on Teak and on LMDB, and compares the results of each
//! operation.

#![deny(unsafe_code)]

mod deviations;
mod engine;
mod kind;
mod lmdb;
mod operation;
mod runner;
mod script;
mod side;
mod translate;

#[cfg(test)]
mod tests;

use anyhow::Result;
use clap::Parser;
use comparison::{abbreviate::abbreviate, scratch, shrink};
use engine::{Setup, Teak};
use lmdb::Lmdb;
use operation::Operation;
use runner::{Difference, Runner, SIDE_READER_COUNT, SLOT_COUNT, Tally};
use script::Script;
use std::{path::Path, process::ExitCode, time::Instant};

/// The number of operations of an episode, which has its own databases.
const EPISODE_LEN: u64 = 5000;
/// The number of last operations to show.
const SHOWN_COUNT: usize = 20;

/// Performs the same random operations on Teak and on LMDB, and compares the results
#[derive(Parser)]
struct Arguments {
    /// Number of operations to perform
    #[arg(long, default_value_t = 100_000)]
    ops: u64,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with this episode; the report of a difference names the episode
    #[arg(long, default_value_t = 0)]
    episode: u64,
    /// Print every operation before it is performed, to find the last one if an engine ends the
    /// process
    #[arg(long)]
    verbose: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("differential: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all results were equal.
fn run(arguments: &Arguments) -> Result<bool> {
    let (seed, begin) = (arguments.seed, Instant::now());
    println!("seed {seed}");
    let (mut left, mut episode) = (arguments.ops, arguments.episode);
    let mut tally = Tally::default();
    while left > 0 {
        let count = left.min(EPISODE_LEN);
        match run_episode(seed, episode, count, arguments.verbose)? {
            Ok(of_episode) => tally.add(of_episode),
            Err(found) => {
                report(seed, episode, &found)?;
                return Ok(false);
            }
        }
        left -= count;
        episode += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{} operations, no difference, {seconds:.1} s",
        arguments.ops
    );
    println!(
        "{} performed, {} skipped as invalid; {} records compared, {} in the largest table",
        tally.performed, tally.left_out, tally.records, tally.records_max
    );
    print!("known deviations that occurred:\n{}", deviations::summary());
    Ok(true)
}

/// A difference, and the operations before it.
struct FoundDifference {
    setup: Setup,
    operations: Vec<Operation>,
    difference: Difference,
}

/// The counts of an episode, or its first difference.
fn run_episode(
    seed: u64,
    episode: u64,
    count: u64,
    is_verbose: bool,
) -> Result<Result<Tally, FoundDifference>> {
    let (mut script, setup) = Script::new(seed, episode);
    let scratch = scratch()?;
    let mut runner = both(scratch.path(), setup)?;
    let mut operations = Vec::new();
    let mut performed = Ok(());
    for _ in 0..count {
        let operation = script.next();
        if is_verbose {
            eprintln!("{}", abbreviate(&operation));
        }
        performed = runner.perform(&operation);
        operations.push(operation);
        if performed.is_err() {
            break;
        }
    }
    Ok(match performed.and_then(|()| runner.finish()) {
        Ok(()) => Ok(runner.tally()),
        Err(difference) => Err(FoundDifference {
            setup,
            operations,
            difference,
        }),
    })
}

/// Performs a written script.
fn replay(setup: Setup, operations: &[Operation]) -> Result<Option<Difference>> {
    let scratch = scratch()?;
    let mut runner = both(scratch.path(), setup)?;
    for operation in operations {
        if let Err(difference) = runner.perform(operation) {
            return Ok(Some(difference));
        }
    }
    Ok(runner.finish().err())
}

fn both(directory: &Path, setup: Setup) -> Result<Runner<Teak, Lmdb>> {
    let teak = Teak::create(
        &directory.join("teak"),
        setup,
        SLOT_COUNT,
        SIDE_READER_COUNT,
    )?;
    let lmdb = Lmdb::create(&directory.join("lmdb"), SLOT_COUNT, SIDE_READER_COUNT)?;
    Ok(Runner::new(teak, lmdb))
}

fn report(seed: u64, episode: u64, found: &FoundDifference) -> Result<()> {
    let count = found.operations.len();
    println!(
        "DIFFERENCE in episode {episode}, operation {count}, {:?}",
        found.setup
    );
    println!("{}", found.difference);
    println!("the last operations:");
    for operation in &found.operations[count.saturating_sub(SHOWN_COUNT)..] {
        println!("  {}", abbreviate(operation));
    }
    println!("repeat: cargo xtask differential --seed {seed} --episode {episode} --ops {count}");
    let smallest = shrink::smallest(&found.operations, |operations| {
        Ok(replay(found.setup, operations)?.is_some())
    })?;
    println!(
        "a script of {} operations that shows a difference:",
        smallest.len()
    );
    for operation in &smallest {
        println!("  {}", abbreviate(operation));
    }
    if let Some(difference) = replay(found.setup, &smallest)? {
        println!("{difference}");
    }
    Ok(())
}
