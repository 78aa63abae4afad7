//! Several programs that work on one database at the same time, and are killed and stopped while
//! they do: nothing that returned may be lost, every snapshot must be whole, and no thread may wait
//! for ever.
//!
//! The parent starts this program for each worker ([`worker`]), kills workers, stops them, and
//! watches that each thread makes progress ([`process_pool`]). The promises to a worker are in a
//! file that all workers append to ([`journal`]), so that every later transaction knows what it
//! must see ([`invariants`]). After a round of some seconds ([`round`]) a separate process inspects
//! the database ([`inspect`]), so the parent depends on nothing that it tests.

mod arguments;
mod context;
mod fork;
mod inspect;
mod invariants;
mod journal;
mod meddle;
mod misbehaviour;
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
    Failure,
    campaign::{
        results::{Campaign, CampaignCounts, named},
        scratch,
    },
};
use fastrand::Rng;
use misbehaviour::Misbehaviour;
use process_pool::WorkerPlan;
use std::{
    path::{Path, PathBuf},
    str::FromStr,
    time::{Duration, Instant},
};

/// A round has at most so many seconds.
const ROUND_SECONDS: f64 = 4.0;

/// Violations after which the storm ends.
const VIOLATIONS_MAX: u64 = 20;

/// Has several programs work on one database, kills and stops them, and checks all they see and
/// leave
#[derive(clap::Args)]
pub(crate) struct StormArguments {
    /// How long
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// The seed of all random choices; the timing of the machine differs between runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs at a time; of several numbers each round has one
    #[arg(long, default_value = "4..8")]
    processes: ProcessCounts,
    /// The directory for databases; by default in memory if the machine has a file system there
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Workers fork too, and their children use what they have inherited
    #[arg(long)]
    fork: bool,
    /// Workers open, copy, hash, link, lock and rename the files of the database, as other programs
    /// do
    #[arg(long)]
    meddle: bool,
    /// Append a line of results to this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Workers do this wrong, and it must be found
    #[arg(long = "break", hide = true)]
    misbehaviour: Option<Misbehaviour>,
    /// For how many seconds a thread may stand still
    #[arg(long, hide = true, default_value_t = 20)]
    patience: u64,
}

/// The fewest and the most processes of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ProcessCounts {
    min: usize,
    max: usize,
}

impl FromStr for ProcessCounts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is not a number of processes; one is 4, or 4..8");
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
pub(crate) fn run(arguments: &StormArguments) -> Result<(), Failure> {
    let run = Campaign::begin("storm", arguments.seed, arguments.results.as_deref());
    let scratch = scratch::directory(arguments.dir.as_deref())?;
    let begin = Instant::now();
    let mut rng = Rng::with_seed(arguments.seed);
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
    println!(
        "seed {}: {} rounds, {} programs started, {} stopped for a while, {} commits acknowledged, \
         {:.1} kills/s",
        arguments.seed,
        tally.rounds,
        tally.starts,
        tally.stops,
        tally.commits,
        tally.kills as f64 / run.seconds()
    );
    let counts = CampaignCounts {
        count: tally.kills,
        unit: "kills",
        violations: tally.violations,
        counters: named([
            ("rounds", tally.rounds),
            ("starts", tally.starts),
            ("stops", tally.stops),
            ("commits", tally.commits),
        ]),
    };
    run.finish(&counts, "several programs did not share a database well")
}

/// Plays a round, and adds what came of it.
fn run_round(
    arguments: &StormArguments,
    scratch: &Path,
    mut rng: Rng,
    rest: Duration,
    tally: &mut StormTally,
) -> Result<(), Failure> {
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
    };
    let length = Duration::from_secs_f64(ROUND_SECONDS * (0.3 + 0.7 * rng.f64()));
    let name = format!("storm-{}-{}", arguments.seed, tally.rounds);
    let outcome = round::run_round(plan, rng, process_count, length.min(rest), &name)?;
    tally.starts += outcome.events.starts;
    tally.kills += outcome.events.kills;
    tally.stops += outcome.events.stops;
    tally.commits += outcome.commits;
    tally.violations += outcome.violations.len() as u64;
    for violation in outcome.violations {
        println!(
            "violation in round {} of seed {}, with {process_count} processes: {violation}",
            tally.rounds, arguments.seed
        );
    }
    if let Some(kept) = outcome.kept {
        println!("  its files: {}", kept.display());
    }
    Ok(())
}
