//! Several programs work on one database at the same time, and are killed and stopped. No commit
//! that returned may be lost, every snapshot must be consistent, and no thread may wait for ever.
//!
//! The parent starts this program for each worker ([`worker`]), kills and stops workers, and
//! watches that each thread makes progress ([`process_pool`]). The promises to workers are in a
//! file that all workers append to ([`journal`]), so every later transaction knows what it must see
//! ([`invariants`]). After a round of some seconds ([`round`]), a separate process inspects the
//! database ([`inspect`]), so the parent does not use the code under test.

mod arguments;
mod context;
mod fork;
mod inspect;
mod invariants;
mod journal;
mod meddle;
mod misbehaviour;
mod positions;
mod process_pool;
mod progress;
mod round;
mod tables;
mod work;
pub(crate) mod worker;
mod writes;

#[cfg(test)]
mod tests;

use crate::{
    Result,
    campaign::{CampaignArguments, ScratchArguments, named},
};
use fastrand::Rng;
use misbehaviour::Misbehaviour;
use process_pool::WorkerPlan;
use std::{
    path::{Path, PathBuf},
    str::FromStr,
    time::{Duration, Instant},
};

/// The maximum length of a round.
const ROUND_SECONDS: f64 = 4.0;

/// Violations after which the campaign ends.
const VIOLATIONS_MAX: u64 = 20;

/// Runs several programs on one database, kills and stops them, and checks everything that they see
/// and leave
#[derive(clap::Args)]
pub(crate) struct StormArguments {
    /// Duration in seconds
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    #[command(flatten)]
    campaign: CampaignArguments,
    /// Number of programs at a time, or a range from which each round draws
    #[arg(long, default_value = "4..8")]
    processes: ProcessCounts,
    #[command(flatten)]
    scratch: ScratchArguments,
    /// Workers fork, and their children use inherited handles
    #[arg(long)]
    fork: bool,
    /// Workers open, copy, hash, link, lock and rename the files of the database, as other programs
    /// do
    #[arg(long)]
    meddle: bool,
    /// A misbehaviour of the workers, which must be found
    #[arg(long = "break", hide = true)]
    misbehaviour: Option<Misbehaviour>,
    /// Time in seconds after which a thread without progress is stuck
    #[arg(long, hide = true, default_value_t = 20)]
    patience: u64,
    /// The program of the workers, which is this one if it is not given
    #[arg(long, hide = true)]
    worker: Option<PathBuf>,
    /// Milliseconds that a killed worker may keep its locks, if another process has them for it
    #[arg(long, hide = true, default_value_t = 0)]
    settle_ms: u64,
    /// How many times longer than usual rounds last and workers live, if they start slowly
    #[arg(long, hide = true, default_value_t = 1)]
    slowness: u32,
}

/// The minimum and maximum number of processes of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ProcessCounts {
    min: usize,
    max: usize,
}

impl FromStr for ProcessCounts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is not a number of processes such as 4 or 4..8");
        let (min, max) = text.split_once("..").unwrap_or((text, text));
        let [min, max] = [min, max].map(str::parse);
        match (min, max) {
            (Ok(min @ 1..), Ok(max)) if min <= max => Ok(Self { min, max }),
            _ => Err(wrong()),
        }
    }
}

/// The counts of the rounds so far.
#[derive(Clone, Copy, Default, Debug)]
struct StormTally {
    rounds: u64,
    starts: u64,
    kills: u64,
    stops: u64,
    commits: u64,
    violations: u64,
}

/// Plays rounds until the time is over.
pub(crate) fn run(arguments: &StormArguments) -> Result {
    let run = arguments.campaign.begin("storm");
    let scratch = arguments.scratch.directory()?;
    let begin = Instant::now();
    let mut rng = Rng::with_seed(arguments.campaign.seed);
    let mut tally = StormTally::default();
    let violations_max = match arguments.misbehaviour {
        None => VIOLATIONS_MAX,
        Some(_) => 1,
    };
    loop {
        let spent = begin.elapsed();
        let rest = Duration::from_secs(arguments.seconds).saturating_sub(spent);
        if rest.is_zero() || tally.violations >= violations_max {
            break;
        }
        tally.rounds += 1;
        run_round(arguments, scratch.path(), rng.fork(), rest, &mut tally)?;
    }
    let counters = named([
        ("rounds", tally.rounds),
        ("starts", tally.starts),
        ("stops", tally.stops),
        ("commits", tally.commits),
    ]);
    run.print_rate("", tally.kills, "kills");
    run.print_counters(&counters);
    let failure = "a promise of a shared database was violated";
    run.finish((tally.kills, "kills"), tally.violations, &counters, failure)
}

/// Plays a round, and adds its counts.
fn run_round(
    arguments: &StormArguments,
    scratch: &Path,
    mut rng: Rng,
    rest: Duration,
    tally: &mut StormTally,
) -> Result {
    let directory = tempfile::tempdir_in(scratch)?;
    let ProcessCounts { min, max } = arguments.processes;
    let process_count = rng.usize(min..=max);
    let plan = WorkerPlan {
        directory: directory.path().to_owned(),
        page_size: [4096, 4096, 8192, 65536][rng.usize(0..4)],
        fork: arguments.fork,
        meddle: arguments.meddle,
        misbehaviour: arguments.misbehaviour,
        patience: Duration::from_secs(arguments.patience),
        worker: arguments.worker.clone(),
        settle: Duration::from_millis(arguments.settle_ms),
        slowness: arguments.slowness,
    };
    let length = Duration::from_secs_f64(ROUND_SECONDS * (0.3 + 0.7 * rng.f64()));
    let length = length * arguments.slowness;
    let name = format!("storm-{}-{}", arguments.campaign.seed, tally.rounds);
    let outcome = round::run_round(plan, rng, process_count, length.min(rest), &name)?;
    tally.starts += outcome.events.starts;
    tally.kills += outcome.events.kills;
    tally.stops += outcome.events.stops;
    tally.commits += outcome.commits;
    tally.violations += outcome.violations.len() as u64;
    for violation in outcome.violations {
        println!(
            "violation in round {} of seed {}, with {process_count} processes: {violation}",
            tally.rounds, arguments.campaign.seed
        );
    }
    if let Some(kept) = outcome.kept {
        println!("  its files: {}", kept.display());
    }
    Ok(())
}
