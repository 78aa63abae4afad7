//! Damaged encrypted files: opening and reading one gives its records, an older state, or an error.
//! No key and no checksum is repaired except that of a record, so other data are a violation.
//!
//! An attacker without the key can move authentic pages and records, and put back older ones. The
//! older state of the whole file, or one that is still whole in it, is the only thing that may be
//! read then.

mod cases;
mod kinds;

use super::{
    MutateArguments,
    arguments::VIOLATIONS_PRINTED_MAX,
    child::{Watchdog, limit_memory},
    classes::ReadClass,
    processes::{self, FileLine},
};
use crate::{
    Failure, Result,
    campaign::{panics, parallel, scratch, violations},
    names::Named,
};
use cases::{ALL_KINDS_FROM, EncryptedCase, EncryptedCases};
use clap::ValueEnum;
use kinds::EncryptedKind;
use std::{collections::BTreeMap, env, fs, ops::Range, path::Path, process::Command, sync::Mutex};
use teak::{Options, Verification, testing};

/// Files for each process.
const CHUNK: u64 = 10_000;
/// All operations are performed on one file in this many.
const EXERCISED_SHARE: u64 = 64;

/// The counts of the files so far.
#[derive(Default)]
struct EncryptedTally {
    files: u64,
    violations: u64,
    counts: BTreeMap<(EncryptedKind, ReadClass), u64>,
}

/// A file that was not handled safely.
struct EncryptedViolation {
    index: u64,
    text: String,
}

/// Opens all files, in several processes in parallel.
pub(super) fn run(arguments: &MutateArguments) -> Result {
    let cases = EncryptedCases::new(arguments.campaign.seed)?;
    // Keys are random, so the other processes need the files.
    let directory = scratch::directory(None)?;
    cases.save(directory.path())?;
    let run = arguments.campaign.begin("mutate, encrypted");
    let tally = Mutex::new(EncryptedTally::default());
    let all_kinds = ALL_KINDS_FROM..ALL_KINDS_FROM + arguments.encrypted;
    let ranges = match arguments.encrypted_index {
        Some(index) => [index..index + 1, 0..0],
        None => [0..arguments.flips, all_kinds],
    };
    for range in ranges {
        parallel::parts(range, CHUNK, |files| {
            let mut own = EncryptedTally::default();
            let seed = arguments.campaign.seed;
            let found = open_in_child(&cases, seed, files, directory.path(), &mut own)?;
            let mut tally = tally.lock()?;
            tally.add(&own);
            for violation in found {
                tally.violations += 1;
                if tally.violations <= VIOLATIONS_PRINTED_MAX {
                    report(arguments, &cases, &violation)?;
                }
            }
            Ok(())
        })?;
    }
    let tally = tally.into_inner()?;
    tally.print();
    run.print_rate("", tally.files, "files");
    run.finish(
        (tally.files, "files"),
        tally.violations,
        &tally.counters(),
        "a damaged encrypted file was not handled safely",
    )
}

/// Lets a child process open the files of a range, and counts them.
fn open_in_child(
    cases: &EncryptedCases,
    seed: u64,
    files: Range<u64>,
    directory: &Path,
    tally: &mut EncryptedTally,
) -> Result<Vec<EncryptedViolation>> {
    let mut violations = Vec::new();
    let to = files.end;
    let command = |from: u64| {
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["mutate", "--child-of-encrypted"])
            .arg(directory)
            .args(["--seed", &seed.to_string()])
            .args(["--child-from", &from.to_string()])
            .args(["--child-to", &to.to_string()]);
        Ok(command)
    };
    processes::open(files, command, |line| {
        let FileLine { word, index, text } = line;
        let text = match word {
            "end" => {
                let class = ReadClass::from_str(text, false);
                let class = class.map_err(|text| failure!("{text}"))?;
                tally.files += 1;
                *tally.counts.entry((cases.kind(index), class)).or_default() += 1;
                if class != ReadClass::Wrong {
                    return Ok(());
                }
                "wrong data were read without an error".to_owned()
            }
            "panic" | "died" => {
                tally.files += 1;
                text.to_owned()
            }
            _ => return Ok(()),
        };
        violations.push(EncryptedViolation { index, text });
        Ok(())
    })?;
    Ok(violations)
}

/// Opens the files with the indexes of a range: the process that a file may kill.
pub(super) fn child(seed: u64, from: u64, to: u64, directory: &Path) -> Result {
    limit_memory()?;
    let mut cases = EncryptedCases::new(seed)?;
    cases.load(directory)?;
    let watchdog = Watchdog::start();
    for index in from..to {
        println!("begin {index}");
        let case = cases.case(index);
        watchdog.watch(index, case.image.len());
        let result = panics::catch(|| Ok(read(&case, index)));
        watchdog.rest();
        match result {
            Ok(class) => println!("end {index} {}", class.name()),
            Err(Failure(panic)) => println!("panic {index} {}", panic.replace('\n', " ")),
        }
    }
    Ok(())
}

fn read(case: &EncryptedCase<'_>, index: u64) -> ReadClass {
    let options = case.seed.encoding.apply(Options::new());
    if index.is_multiple_of(EXERCISED_SHARE) {
        testing::exercise_with(&case.image, &options);
    }
    let options = match case.kind.is_replay() || index % 4 < 2 {
        true => options,
        false => options.verification(Verification::Off),
    };
    ReadClass::with(
        &case.image,
        &case.seed.seed,
        index.is_multiple_of(2),
        options,
    )
}

/// Prints a violation, and saves its file.
fn report(
    arguments: &MutateArguments,
    cases: &EncryptedCases,
    violation: &EncryptedViolation,
) -> Result {
    let EncryptedViolation { index, text } = violation;
    let seed = arguments.campaign.seed;
    let case = cases.case(*index);
    let path = arguments.kept_file(&format!("{seed}-encrypted-{index}.teak"))?;
    fs::write(&path, &case.image)?;
    let (name, encoding) = (case.seed.seed.name, case.seed.encoding);
    violations::print(
        format_args!("{name}, {encoding:?}, {}: {text}", case.kind),
        format_args!("mutate --seed {seed} --encrypted-index {index}"),
    );
    println!("  the file: {}", path.display());
    Ok(())
}

impl EncryptedTally {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.violations += other.violations;
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
    }

    fn count_of(&self, class: ReadClass, kind: Option<EncryptedKind>) -> u64 {
        let is_counted = |of: EncryptedKind| kind.is_none_or(|kind| kind == of);
        let counts = self.counts.iter();
        let counts = counts.filter(|((of, other), _)| *other == class && is_counted(*of));
        counts.map(|(_, count)| count).sum()
    }

    fn print(&self) {
        let classes = ReadClass::value_variants();
        print!("{:<20}", "damage");
        classes
            .iter()
            .for_each(|class| print!(" {:>11}", class.name()));
        println!();
        for kind in EncryptedKind::all() {
            print!("{:<20}", kind.to_string());
            for &class in classes {
                print!(" {:>11}", self.count_of(class, Some(kind)));
            }
            println!();
        }
    }

    /// Counters for the file of results.
    fn counters(&self) -> Vec<(String, u64)> {
        let classes = ReadClass::value_variants().iter();
        classes
            .map(|class| (class.name(), self.count_of(*class, None)))
            .collect()
    }
}
