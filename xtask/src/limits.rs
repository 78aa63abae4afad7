//! Runs the program `teak` under limits that are too small. Every run must succeed, or end with one
//! of its exit codes and a message. No run may hang or die of a signal. No committed record may be
//! lost. After a failed run, each record has its value from before or after the run.
//!
//! The limits are the system's limits for one process (file length, address space, memory, open
//! files), and file systems in images with almost no free blocks ([`directory`]). The runs are
//! random ([`step`]).

mod directory;
mod records;
mod step;
#[cfg(test)]
mod tests;

use crate::{
    Context, Failure, Result, built,
    campaign::{CampaignArguments, ScratchArguments, child::ChildProgram, draw, named, violations},
};
use directory::DatabaseDirectory;
use fastrand::Rng;
use records::{compare, make, read};
use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};
use step::{LeftoverFiles, ProgramStep};

/// Runs the program under small system limits and on full disks, and checks its exit codes and
/// databases
#[derive(clap::Args)]
pub(crate) struct LimitsArguments {
    /// Number of rounds; each has a new database and several runs of the program
    #[arg(long, default_value_t = 300)]
    count: u64,
    #[command(flatten)]
    campaign: CampaignArguments,
    /// The first round, to repeat it
    #[arg(long, default_value_t = 0)]
    first: u64,
    #[command(flatten)]
    scratch: ScratchArguments,
    /// The program `teak`; built if it is not given
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Runs of a round.
const STEPS: usize = 6;
/// A longer run counts as a hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// The highest exit code that `docs/program.md` lists, and the code for a damaged database, which
/// must not occur.
const EXIT_CODE_MAX: i32 = 6;
const DAMAGED: i32 = 3;

/// The counts of the runs so far.
#[derive(Default)]
struct LimitsTally {
    runs: u64,
    succeeded: u64,
    /// Runs in which the system could not even start the program.
    unstarted: u64,
    /// Runs in which Rust's runtime ended the program after a failed allocation, which the program
    /// cannot avoid.
    exhausted: u64,
    violations: u64,
}

/// Runs and inspects as often as requested.
pub(crate) fn run(arguments: &LimitsArguments) -> Result {
    let run = arguments.campaign.begin("limits");
    let scratch = arguments.scratch.directory()?;
    let program = built::program(arguments.program.as_deref(), "teak-cli", "teak")?;
    let directories = DatabaseDirectory::all(scratch.path())?;
    let mut tally = LimitsTally::default();
    for round in arguments.first..arguments.first.saturating_add(arguments.count) {
        let mut rng = draw::episode(arguments.campaign.seed, round);
        let database_directory = &directories[rng.usize(..directories.len())];
        if let Err(Failure(text)) = run_round(&program, database_directory, &mut rng, &mut tally) {
            tally.violations += 1;
            violations::print(
                format_args!("round {round}, {}: {text}", database_directory.name()),
                format_args!(
                    "limits --seed {} --first {round} --count 1",
                    arguments.campaign.seed
                ),
            );
        }
    }
    let failed = tally.runs - tally.succeeded - tally.unstarted - tally.exhausted;
    let counters = named([
        ("succeeded", tally.succeeded),
        ("failed", failed),
        ("exhausted", tally.exhausted),
        ("unstarted", tally.unstarted),
    ]);
    run.print_counters(&counters);
    let failure = "a limit was not handled correctly";
    run.finish((tally.runs, "runs"), tally.violations, &counters, failure)
}

/// A round: a new database, and runs of the program on it.
fn run_round(
    program: &Path,
    database_directory: &DatabaseDirectory,
    rng: &mut Rng,
    tally: &mut LimitsTally,
) -> Result {
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
        let is_success = ended.verdict().context(&label)?;
        let left = match ended.was_exhausted() {
            true => LeftoverFiles::Anything,
            false => LeftoverFiles::Nothing,
        };
        step.check_output(directory.path(), &records, is_success, left)
            .context(&label)?;
        let found = read(&database).context(&label)?;
        let after = step.after(&records);
        compare(&found, &records, &after, is_success)
            .context(format_args!("{label}, exit {}", ended.status))?;
        records = found;
    }
    Ok(())
}

/// The result of a run.
struct RunEnd {
    status: ExitStatus,
    errors: String,
    has_hung: bool,
}

impl RunEnd {
    /// Whether the system lacked resources to start the program.
    fn was_not_started(&self) -> bool {
        const MARKS: [&str; 3] = [
            "error while loading shared libraries",
            "prlimit: failed to execute",
            "cannot allocate memory in static TLS block",
        ];
        let is_loaders = MARKS.iter().any(|mark| self.errors.contains(mark));
        // The system kills a program early if its address space is too small.
        let is_early = self.status.code().is_none() && self.errors.is_empty() && !self.has_hung;
        is_loaders || is_early && matches!(signal(self.status), Some(KILL | SEGV))
    }

    /// Whether the program ended because an allocation failed.
    fn was_exhausted(&self) -> bool {
        signal(self.status) == Some(ABORT) && self.errors.starts_with("memory allocation of ")
    }

    /// Whether the run succeeded; an error if it ended incorrectly.
    fn verdict(&self) -> Result<bool> {
        let errors = self.errors.trim();
        if self.has_hung {
            bail!("it ran for more than {} s", PATIENCE.as_secs());
        }
        match self.status.code() {
            Some(0) => Ok(true),
            None if self.was_exhausted() => Ok(false),
            Some(DAMAGED) => Err(failure!(
                "it reports an intact database as damaged: {errors}"
            )),
            Some(code) if code <= EXIT_CODE_MAX && errors.starts_with("teak: ") => Ok(false),
            _ => Err(failure!("it ended with {}: {errors}", self.status)),
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

fn end_of(command: &mut Command) -> Result<RunEnd> {
    let begin = Instant::now();
    let ended = ChildProgram::spawn(command)?.wait_until(begin + PATIENCE)?;
    Ok(RunEnd {
        status: ended.status,
        errors: ended.errors,
        has_hung: begin.elapsed() > PATIENCE,
    })
}
