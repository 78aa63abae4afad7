//! Opens damaged and forged files, and performs all operations on them.
//!
//! The files are opened by separate processes, so that a process that dies, hangs or exhausts
//! memory is counted, and its file kept. Each file depends only on a seed and an index.
//!
//! There are two kinds of files. Damaged files are numerous, and the answers of reads are compared
//! with the original contents. In forged files, any field may have any value and any tree may have
//! any shape, with correct checksums. All operations of the engine and of the program `teak` are
//! performed on these, by processes built with the engine's assertions (`crates/forged-files`).
//!
//! Encrypted files are damaged too, and attacked as by somebody without the key. Damaged and forged
//! directories of LevelDB are read and converted.

mod arguments;
mod cases;
mod child;
mod classes;
mod encrypted;
mod forged;
mod kinds;
mod leveldb;
mod parent;
mod processes;
pub(crate) mod seeds;
mod tally;

#[cfg(test)]
mod tests;

use crate::{
    Result,
    campaign::{panics, parallel, violations},
};
use arguments::VIOLATIONS_PRINTED_MAX;
use cases::MutationCases;
use parent::MutationViolation;
use std::{fs, sync::Mutex};
use tally::MutationTally;

pub(crate) use arguments::MutateArguments;

/// Files for each process.
const CHUNK: u64 = 4000;

/// Opens all files. `planted` is the error that is planted in the engine, if any.
pub(crate) fn run(arguments: &MutateArguments, planted: Option<&str>) -> Result {
    panics::record();
    if let (Some(from), Some(to)) = (arguments.child_from, arguments.child_to) {
        if arguments.child_of_leveldb {
            return leveldb::child(arguments.campaign.seed, from, to);
        }
        if let Some(directory) = &arguments.child_of_encrypted {
            return encrypted::child(arguments.campaign.seed, from, to, directory);
        }
        return child::run(arguments.campaign.seed, from, to);
    }
    if arguments.encrypted_index.is_some() {
        return encrypted::run(arguments);
    }
    if arguments.leveldb_index.is_some() {
        return leveldb::run(arguments);
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
    let is_all = arguments.index.is_none() && arguments.forged_index.is_none();
    if is_all && arguments.flips + arguments.encrypted > 0 {
        encrypted::run(arguments)?;
    }
    if is_all && arguments.leveldb > 0 {
        leveldb::run(arguments)?;
    }
    damaged
}

/// Opens the damaged files, in several processes in parallel.
fn open_damaged(arguments: &MutateArguments) -> Result {
    let cases = MutationCases::new(arguments.campaign.seed)?;
    let (first, end) = match arguments.index {
        Some(index) => (index, index + 1),
        None => (0, arguments.files),
    };
    let run = arguments.campaign.begin("mutate");
    let tally = Mutex::new(MutationTally::new(cases.kinds()));
    parallel::parts(first..end, CHUNK, |files| {
        let mut own = MutationTally::new(cases.kinds());
        let violations = parent::run(arguments.campaign.seed, files, &mut own)?;
        let mut tally = tally.lock()?;
        tally.add(&own);
        for violation in violations {
            tally.violations += 1;
            if tally.violations <= VIOLATIONS_PRINTED_MAX {
                report_violation(arguments, &cases, &violation)?;
            }
        }
        Ok(())
    })?;
    let tally = tally.into_inner()?;
    tally.print();
    run.print_rate("", tally.files, "files");
    run.finish(
        (tally.files, "files"),
        tally.violations,
        &tally.counters(),
        "a damaged file was not handled safely",
    )
}

/// Prints a violation, and saves its file.
fn report_violation(
    arguments: &MutateArguments,
    cases: &MutationCases,
    violation: &MutationViolation,
) -> Result {
    let MutationViolation { index, text } = violation;
    let case = cases.case(*index);
    let path = arguments.kept_file(&format!("{}-{index}.teak", arguments.campaign.seed))?;
    fs::write(&path, case.image.unwrap_or_default())?;
    violations::print(
        format_args!("{}, {}: {text}", case.seed.name, case.kind),
        format_args!("mutate --seed {} --index {index}", arguments.campaign.seed),
    );
    println!("  the file: {}", path.display());
    Ok(())
}
