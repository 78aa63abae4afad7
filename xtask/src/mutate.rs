//! Opens damaged and forged files and does all with them that can be done.
//!
//! The files are opened by processes of their own, so that one that dies, hangs or wants all memory
//! is counted, and its file kept. Each file follows from a seed and an index.
//!
//! There are two kinds. Damaged ones are many, and a reader's answers are compared with what was there. In forged ones any field may
//! have any number, and any tree may be none, with all checksums right; everything is done with these, also by the program `teak`, by
//! processes that were built with the engine's assertions (`crates/forged-files`).

mod cases;
mod child;
mod classes;
mod forged;
mod kinds;
mod parent;
mod seeds;
mod tally;

#[cfg(test)]
mod tests;

use crate::{Failure, results, scratch, threads};
use cases::MutationCases;
use parent::MutationViolation;
use std::{
    fs,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};
use tally::MutationTally;

/// Files that a process is given at once.
const CHUNK: u64 = 4000;
/// Violations that are told in full and whose files are kept; later ones are only counted.
const VIOLATIONS_TOLD_MAX: u64 = 20;

/// Opens damaged and forged files, and does with them all that can be done.
#[derive(clap::Args)]
pub(crate) struct MutateArguments {
    /// How many files
    #[arg(long, default_value_t = 50_000)]
    files: u64,
    /// Everything that is random follows from this number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Open the file of this index alone
    #[arg(long)]
    index: Option<u64>,
    /// How many forged files behind them
    #[arg(long, default_value_t = 5_000)]
    forged: u64,
    /// Open the forged file of this index alone
    #[arg(long, conflicts_with = "index")]
    forged_index: Option<u64>,
    /// The directory of the programs `forged-files` and `teak`; they are built if it is not given
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Where files are kept that were not survived
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Append a line with what came of it to this file
    #[arg(long)]
    results: Option<PathBuf>,
    #[arg(long, hide = true, requires = "child_to")]
    child_from: Option<u64>,
    #[arg(long, hide = true)]
    child_to: Option<u64>,
}

/// Opens all files. `planted` is the error that is planted in the engine, if any.
pub(crate) fn run(arguments: &MutateArguments, planted: Option<&str>) -> Result<(), Failure> {
    if let (Some(from), Some(to)) = (arguments.child_from, arguments.child_to) {
        return child::run(arguments.seed, from, to);
    }
    let is_damaged_wanted = arguments.forged_index.is_none() && arguments.files > 0;
    let damaged = if is_damaged_wanted {
        open_damaged(arguments)
    } else {
        Ok(())
    };
    let is_forged_wanted = arguments.index.is_none() && arguments.forged > 0;
    if is_forged_wanted {
        forged::run(arguments, planted)?;
    }
    damaged
}

/// Opens the damaged files, in several processes at once.
fn open_damaged(arguments: &MutateArguments) -> Result<(), Failure> {
    let cases = MutationCases::new(arguments.seed)?;
    let (first, end) = match arguments.index {
        Some(index) => (index, index + 1),
        None => (0, arguments.files),
    };
    let next = AtomicU64::new(first);
    let tally = Mutex::new(MutationTally::new(cases.kinds()));
    let open_all = || -> Result<(), Failure> {
        loop {
            let from = next.fetch_add(CHUNK, Ordering::Relaxed);
            if from >= end {
                return Ok(());
            }
            let mut own = MutationTally::new(cases.kinds());
            let violations = parent::run(arguments.seed, from, end.min(from + CHUNK), &mut own)?;
            let mut tally = tally.lock()?;
            tally.add(&own);
            for violation in violations {
                tally.violations += 1;
                if tally.violations <= VIOLATIONS_TOLD_MAX {
                    report_violation(arguments, &cases, &violation)?;
                }
            }
        }
    };
    let begin = Instant::now();
    threads::share(open_all)?;
    finish(arguments, &tally.into_inner()?, begin)
}

fn finish(
    arguments: &MutateArguments,
    tally: &MutationTally,
    begin: Instant,
) -> Result<(), Failure> {
    let seconds = begin.elapsed().as_secs_f64();
    tally.print();
    let files = tally.files;
    println!(
        "seed {}: {seconds:.1} s, {:.0} files/s",
        arguments.seed,
        files as f64 / seconds
    );
    let violations = tally.violations;
    results::append(
        arguments.results.as_deref(),
        &results::ResultLine {
            command: "mutate",
            seed: arguments.seed,
            count: files,
            violations,
            counters: tally.counters(),
            commit: results::commit(),
        },
    )?;
    println!("{files} files, {violations} violations");
    if violations == 0 {
        Ok(())
    } else {
        Err(Failure("a damaged file was not survived".to_owned()))
    }
}

/// Tells of a violation, and keeps its file.
fn report_violation(
    arguments: &MutateArguments,
    cases: &MutationCases,
    violation: &MutationViolation,
) -> Result<(), Failure> {
    let MutationViolation { index, text } = violation;
    let case = cases.case(*index);
    let directory = match &arguments.keep {
        Some(directory) => directory.clone(),
        None => scratch::workspace().join("target/mutated"),
    };
    fs::create_dir_all(&directory)?;
    let path = directory.join(format!("{}-{index}.teak", arguments.seed));
    fs::write(&path, case.image.unwrap_or_default())?;
    println!(
        "violation: {}, {}: {text}\n  repeat it with: cargo xtask mutate --seed {} --index {index}\n  the file: {}",
        case.seed.name,
        case.kind,
        arguments.seed,
        path.display()
    );
    Ok(())
}
