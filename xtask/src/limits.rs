//! Runs the program `teak` under limits that are too small, and looks at what it leaves behind: every run ends with success, or with an exit code
//! of its own and a sentence; none by a signal, and none hangs. Nothing that was committed may be lost, and what a run that failed leaves
//! is what was there before, or what it was to make.
//!
//! The limits are those of the system for one process (length of files, address space, memory, open files), and file systems in images
//! with next to no free blocks ([`directory`]). What is run is chosen at random ([`step`]).

mod directory;
mod step;
#[cfg(test)]
mod tests;

use crate::{Failure, built, results, scratch};
use directory::DatabaseDirectory;
use fastrand::Rng;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};
use step::{LeftoverFiles, ProgramStep};
use teak::{Database, Transaction, codec::Bytes};

/// Runs the program under small limits of the system and on full disks, and checks how it ends and what it leaves
#[derive(clap::Args)]
pub(crate) struct LimitsArguments {
    /// How many rounds: each has a new database, and some runs of the program
    #[arg(long, default_value_t = 300)]
    count: u64,
    /// Everything that is random follows from this number and that of the round
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The round to begin with, to repeat one
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Where the databases and the images of file systems are put; in memory where the machine has a place for that
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The program `teak`; built if it is not given
    #[arg(long)]
    program: Option<PathBuf>,
    /// Appends a line of what was counted to this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

/// The table that all is about.
const TABLE: &str = "main";
/// Runs of a round.
const STEPS: usize = 6;
/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// The highest exit code that `docs/program.md` lists, and the one that says that a database is damaged, which none is.
const EXIT_CODE_MAX: i32 = 6;
const DAMAGED: i32 = 3;

/// What is in the table.
type ExpectedRecords = BTreeMap<Vec<u8>, Vec<u8>>;

/// What came of the runs so far.
#[derive(Default)]
struct LimitsTally {
    runs: u64,
    succeeded: u64,
    /// The system could not even start the program.
    unstarted: u64,
    /// The language's runtime said that there is no memory, and ended the program: it has no other way.
    exhausted: u64,
    violations: u64,
}

/// Runs, and looks, as often as asked.
pub(crate) fn run(arguments: &LimitsArguments) -> Result<(), Failure> {
    let scratch = scratch::directory(arguments.dir.as_deref())?;
    let commit = results::commit();
    let program = built::program(arguments.program.as_deref(), "teak-cli", "teak")?;
    let directories = DatabaseDirectory::all(scratch.path())?;
    let mut tally = LimitsTally::default();
    for round in arguments.first..arguments.first.saturating_add(arguments.count) {
        // Neighbouring seeds have nothing to do with each other.
        let mut rng = Rng::with_seed(arguments.seed);
        let mut rng = Rng::with_seed(rng.u64(..) ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let database_directory = &directories[rng.usize(..directories.len())];
        if let Err(Failure(text)) = run_round(&program, database_directory, &mut rng, &mut tally) {
            tally.violations += 1;
            println!(
                "VIOLATION in round {round}, {}: {text}\n  repeat: cargo xtask limits --seed {} --first {round} --count 1",
                database_directory.name(),
                arguments.seed
            );
        }
    }
    let LimitsTally {
        runs,
        succeeded,
        unstarted,
        exhausted,
        violations,
    } = tally;
    let failed = runs - succeeded - unstarted - exhausted;
    results::append(
        arguments.results.as_deref(),
        &results::ResultLine {
            command: "limits",
            seed: arguments.seed,
            count: runs,
            violations,
            counters: results::named([
                ("succeeded", succeeded),
                ("failed", failed),
                ("exhausted", exhausted),
            ]),
            commit,
        },
    )?;
    println!(
        "{runs} runs: {succeeded} succeeded, {failed} ended with an error, {exhausted} for lack of memory, {unstarted} could not be started; {violations} violations"
    );
    match violations {
        0 => Ok(()),
        _ => Err(Failure(
            "a limit was met with something else than an error".to_owned(),
        )),
    }
}

/// A round: a new database, and runs of the program on it.
fn run_round(
    program: &Path,
    database_directory: &DatabaseDirectory,
    rng: &mut Rng,
    tally: &mut LimitsTally,
) -> Result<(), Failure> {
    let directory = database_directory.directory()?;
    let database = directory.path().join("limited.teak");
    let mut records = step::base(rng);
    make(&database, &records)?;
    for _ in 0..STEPS {
        let step = ProgramStep::random(rng, &records);
        let limit = database_directory.limit(rng);
        let label = format!("`{}` under {}", step.command_line(), limit.describe());
        step.prepare(directory.path())?;
        let filler = database_directory.fill(&limit)?;
        let mut command = limit.command(program);
        command.args(step.arguments());
        let ended = end_of(command.current_dir(directory.path()))?;
        drop(filler);
        tally.runs += 1;
        if ended.was_not_started() {
            tally.unstarted += 1;
            continue;
        }
        tally.succeeded += u64::from(ended.status.success());
        tally.exhausted += u64::from(ended.was_exhausted());
        let is_success = (ended.verdict()).map_err(|text| Failure(format!("{label}: {text}")))?;
        let left = match ended.was_exhausted() {
            true => LeftoverFiles::Anything,
            false => LeftoverFiles::Nothing,
        };
        step.check_output(directory.path(), &records, is_success, left)
            .map_err(|Failure(text)| Failure(format!("{label}: {text}")))?;
        let found = read(&database).map_err(|Failure(text)| Failure(format!("{label}: {text}")))?;
        let after = step.after(&records);
        compare(&found, &records, &after, is_success)
            .map_err(|text| Failure(format!("{label}, exit {}: {text}", ended.status)))?;
        records = found;
    }
    Ok(())
}

fn make(path: &Path, records: &ExpectedRecords) -> Result<(), Failure> {
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<Bytes, Bytes>(TABLE)?;
    for (key, value) in records {
        table.insert(&mut txn, key, value)?;
    }
    txn.commit()?;
    database.close()?;
    Ok(())
}

/// All records of a database that has to be sound.
fn read(path: &Path) -> Result<ExpectedRecords, Failure> {
    let database = Database::open(path)
        .map_err(|error| Failure(format!("{} cannot be opened: {error}", path.display())))?;
    let report = database.check(&mut |_| {})?;
    if let Some(damage) = report.damages.first() {
        return Err(Failure(format!(
            "{} is damaged: {damage:?}",
            path.display()
        )));
    }
    let txn = database.begin_read()?;
    let table = txn.open_table::<Bytes, Bytes>(TABLE)?;
    let mut records = ExpectedRecords::new();
    for record in table.iter(&txn)? {
        let (key, value) = record?;
        records.insert(key.to_vec(), value.to_vec());
    }
    drop(txn);
    database.close()?;
    Ok(records)
}

/// What is found has to be what was there after a run that succeeded; after another one each record is as it was before, or as it was to become.
fn compare(
    found: &ExpectedRecords,
    before: &ExpectedRecords,
    after: &ExpectedRecords,
    is_success: bool,
) -> Result<(), String> {
    if is_success {
        return match found == after {
            true => Ok(()),
            false => Err("it succeeded, and what it was to do was not done".to_owned()),
        };
    }
    let keys = found.keys().chain(before.keys()).chain(after.keys());
    for key in keys {
        let value = found.get(key);
        if value != before.get(key) && value != after.get(key) {
            return Err(format!("the record of key {key:02x?} is another, or lost"));
        }
    }
    Ok(())
}

/// How a run ended.
struct RunEnd {
    status: ExitStatus,
    errors: String,
    has_hung: bool,
}

impl RunEnd {
    /// Whether the system had not enough for the program itself.
    fn was_not_started(&self) -> bool {
        const MARKS: [&str; 3] = [
            "error while loading shared libraries",
            "prlimit: failed to execute",
            "cannot allocate memory in static TLS block",
        ];
        let is_loaders = MARKS.iter().any(|mark| self.errors.contains(mark));
        // What has no address space for its program is killed by the system before that begins.
        let is_early = self.status.code().is_none() && self.errors.is_empty() && !self.has_hung;
        is_loaders || is_early && matches!(signal(self.status), Some(KILL | SEGV))
    }

    /// Whether it ended since an allocation failed.
    fn was_exhausted(&self) -> bool {
        signal(self.status) == Some(ABORT) && self.errors.starts_with("memory allocation of ")
    }

    /// Whether it succeeded, if it ended as it should.
    fn verdict(&self) -> Result<bool, String> {
        let errors = self.errors.trim();
        if self.has_hung {
            return Err(format!("it ran for {} s and more", PATIENCE.as_secs()));
        }
        match self.status.code() {
            Some(0) => Ok(true),
            None if self.was_exhausted() => Ok(false),
            Some(DAMAGED) => Err(format!("it calls a sound database damaged: {errors}")),
            Some(code) if code <= EXIT_CODE_MAX && errors.starts_with("teak: ") => Ok(false),
            _ => Err(format!("it ended with {}: {errors}", self.status)),
        }
    }
}

const ABORT: i32 = 6;
const KILL: i32 = 9;
const SEGV: i32 = 11;

fn signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.signal()
}

fn end_of(command: &mut Command) -> Result<RunEnd, Failure> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut errors = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(errors) = &mut errors {
            let _ = std::io::Read::read_to_end(errors, &mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let end = Instant::now() + PATIENCE;
    let mut has_hung = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > end {
            has_hung = true;
            child.kill()?;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Ok(RunEnd {
        status,
        errors: reader.join().unwrap_or_default(),
        has_hung,
    })
}
