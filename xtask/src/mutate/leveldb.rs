//! Damaged directories of LevelDB: reading one gives its records or an error, in bounded time and
//! memory. Some of them are also converted by the library with LevelDB's interface, which must find
//! the same.

mod bytes;
mod cases;
mod conversion;
mod log;
mod table;

use super::{
    MutateArguments,
    arguments::VIOLATIONS_PRINTED_MAX,
    child::{Watchdog, limit_memory},
    processes::{self, FileLine},
};
use crate::{
    Failure, Result,
    campaign::{panics, parallel, scratch, violations},
};
use cases::{DirectoryCases, DirectoryDamage, DirectoryViolation, write};
use clap::ValueEnum;
use conversion::LibraryConversions;
use std::{collections::BTreeMap, env, ops::Range, path::Path, process::Command, sync::Mutex};
use teak_foreign::leveldb::LevelDb;

/// Directories for each process.
const CHUNK: u64 = 1000;

/// The result of reading a damaged directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
enum DirectoryClass {
    /// The records of the undamaged one.
    Right,
    Error,
    /// Other records: a log may have lost its end, and forged records are records.
    Other,
}

/// The counts of the directories so far.
#[derive(Default)]
struct DirectoryTally {
    directories: u64,
    converted: u64,
    violations: u64,
    counts: BTreeMap<(DirectoryDamage, DirectoryClass), u64>,
}

/// Reads all directories, in several processes in parallel.
pub(super) fn run(arguments: &MutateArguments) -> Result {
    let seed = arguments.campaign.seed;
    let cases = DirectoryCases::new(seed)?;
    let scratch = scratch::directory(None)?;
    let conversions = LibraryConversions::new(arguments.library.as_deref(), scratch.path())?;
    let (first, end) = match arguments.leveldb_index {
        Some(index) => (index, index + 1),
        None => (0, arguments.leveldb),
    };
    let run = arguments.campaign.begin("mutate-leveldb");
    let tally = Mutex::new(DirectoryTally::default());
    parallel::parts(first..end, CHUNK, |directories| {
        let mut own = DirectoryTally::default();
        let mut found = read_in_child(&cases, seed, directories.clone(), &mut own)?;
        found.extend(conversions.run(&cases, directories, &mut own.converted)?);
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
    let tally = tally.into_inner()?;
    tally.print();
    run.print_rate("", tally.directories, "directories");
    run.finish(
        (tally.directories, "directories"),
        tally.violations,
        &tally.counters(),
        "a damaged directory of LevelDB was not handled safely",
    )
}

/// Lets a child process read the directories of a range, and counts them.
fn read_in_child(
    cases: &DirectoryCases,
    seed: u64,
    directories: Range<u64>,
    tally: &mut DirectoryTally,
) -> Result<Vec<DirectoryViolation>> {
    let mut violations = Vec::new();
    let to = directories.end;
    let command = |from: u64| {
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["mutate", "--child-of-leveldb"])
            .args(["--seed", &seed.to_string()])
            .args(["--child-from", &from.to_string()])
            .args(["--child-to", &to.to_string()]);
        Ok(command)
    };
    processes::open(directories, command, |line| {
        let FileLine { word, index, text } = line;
        let text = match word {
            "end" => {
                let class = DirectoryClass::from_str(text, false);
                let class = class.map_err(|text| failure!("{text}"))?;
                let damage = cases.case(index).damage;
                tally.directories += 1;
                *tally.counts.entry((damage, class)).or_default() += 1;
                if !(damage.is_noticed() && class == DirectoryClass::Other) {
                    return Ok(());
                }
                "damaged tables were read without an error".to_owned()
            }
            "panic" | "died" => {
                tally.directories += 1;
                text.to_owned()
            }
            _ => return Ok(()),
        };
        violations.push(DirectoryViolation { index, text });
        Ok(())
    })?;
    Ok(violations)
}

/// Reads the directories with the indexes of a range: the process that a directory may kill.
pub(super) fn child(seed: u64, from: u64, to: u64) -> Result {
    limit_memory()?;
    let cases = DirectoryCases::new(seed)?;
    let scratch = scratch::directory(None)?;
    let path = scratch.path().join("damaged");
    let mut right = BTreeMap::new();
    for (name, files) in cases.undamaged() {
        for is_unordered in [false, true] {
            write(files, &path)?;
            let digest = digest(&path, scratch.path(), is_unordered);
            right.insert((name, is_unordered), digest.ok());
        }
    }
    let watchdog = Watchdog::start();
    for index in from..to {
        println!("begin {index}");
        let case = cases.case(index);
        let Some(files) = &case.files else {
            println!("none {index}");
            continue;
        };
        write(files, &path)?;
        let len: usize = files.values().map(Vec::len).sum();
        watchdog.watch(index, len);
        let is_unordered = index % 4 == 1;
        let read = panics::catch(|| Ok(digest(&path, scratch.path(), is_unordered)));
        watchdog.rest();
        let class = match read {
            Err(Failure(panic)) => {
                println!("panic {index} {}", panic.replace('\n', " "));
                continue;
            }
            Ok(Err(_)) => DirectoryClass::Error,
            Ok(Ok(digest)) if right[&(case.name, is_unordered)] == Some(digest) => {
                DirectoryClass::Right
            }
            Ok(Ok(_)) => DirectoryClass::Other,
        };
        let class = class.to_possible_value();
        println!(
            "end {index} {}",
            class.as_ref().map_or("", |it| it.get_name())
        );
    }
    Ok(())
}

/// The number of records, and a hash of all of them.
fn digest(
    directory: &Path,
    temporary: &Path,
    is_unordered: bool,
) -> teak_foreign::Result<(u64, u64)> {
    let source = LevelDb::open(directory)?;
    let mut records = source.records(temporary, is_unordered)?;
    let (mut count, mut hash) = (0, 0);
    while let Some((key, value)) = records.next_record()? {
        count += 1;
        hash = xxhash_rust::xxh3::xxh3_64_with_seed(&key, hash);
        hash = xxhash_rust::xxh3::xxh3_64_with_seed(&value, hash);
    }
    source.refuse_changed()?;
    Ok((count, hash))
}

/// Prints a violation, and saves its directory.
fn report(
    arguments: &MutateArguments,
    cases: &DirectoryCases,
    violation: &DirectoryViolation,
) -> Result {
    let DirectoryViolation { index, text } = violation;
    let seed = arguments.campaign.seed;
    let case = cases.case(*index);
    let path = arguments.kept_file(&format!("{seed}-leveldb-{index}"))?;
    write(&case.files.unwrap_or_default(), &path)?;
    violations::print(
        format_args!("{}, {:?}: {text}", case.name, case.damage),
        format_args!("mutate --seed {seed} --leveldb-index {index}"),
    );
    println!("  the directory: {}", path.display());
    Ok(())
}

impl DirectoryTally {
    fn add(&mut self, other: &Self) {
        self.directories += other.directories;
        self.converted += other.converted;
        self.violations += other.violations;
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
    }

    fn count_of(&self, class: DirectoryClass, damage: Option<DirectoryDamage>) -> u64 {
        let counts = self.counts.iter().filter(|((of, other), _)| {
            *other == class && damage.is_none_or(|damage| damage == *of)
        });
        counts.map(|(_, count)| count).sum()
    }

    fn print(&self) {
        println!(
            "{:<12} {:>9} {:>9} {:>9}",
            "damage", "right", "error", "other"
        );
        for damage in DirectoryDamage::value_variants() {
            print!("{:<12}", format!("{damage:?}"));
            for class in DirectoryClass::value_variants() {
                print!(" {:>9}", self.count_of(*class, Some(*damage)));
            }
            println!();
        }
        println!("{} of them converted by the library", self.converted);
    }

    /// Counters for the file of results.
    fn counters(&self) -> Vec<(String, u64)> {
        let classes = DirectoryClass::value_variants().iter();
        let counters = classes.map(|class| {
            let name = format!("{class:?}").to_lowercase();
            (name, self.count_of(*class, None))
        });
        let converted = ("converted".to_owned(), self.converted);
        counters.chain([converted]).collect()
    }
}
