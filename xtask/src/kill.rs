//! Kills programs, and inspects their databases: no commit that returned may be lost, in any mode,
//! and everything must be whole.
//!
//! Three ways: at every call to the system that a program of commits makes ([`calls`]), at random
//! moments of the same program ([`random_kills`]), and at random moments of `teak load` ([`load`]).

mod calls;
mod count;
mod load;
mod loader;
mod random_kills;

#[cfg(test)]
mod tests;

use crate::{
    Failure, built,
    campaign::{
        results::{Campaign, CampaignCounts, named},
        scratch,
    },
};
use calls::{KillPoint, SyscallKills};
use count::KillCount;
use fastrand::Rng;
use std::{path::PathBuf, time::Instant};

/// Kills programs that write, at every call to the system and at random moments, and checks what
/// they leave
#[derive(clap::Args)]
pub(crate) struct KillArguments {
    /// How often to kill at random moments; the calls to the system come on top
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// The seed of all random choices; the timing of the machine differs between runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The directory for databases; by default in memory if the machine has a file system there
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The program `teak`; built if it is not given
    #[arg(long)]
    program: Option<PathBuf>,
    /// Kills at random moments only
    #[arg(long)]
    random_only: bool,
    /// Kills at one call to the system only, such as new:plain:pwrite64:7
    #[arg(long, value_name = "POINT")]
    only: Option<KillPoint>,
    /// How many commits a program makes that is killed at its calls
    #[arg(long, default_value_t = 10)]
    commits: u64,
    /// Append a line of results to this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

/// Kills and inspects as often as requested.
pub(crate) fn run(arguments: &KillArguments) -> Result<(), Failure> {
    let run = Campaign::begin("kill", arguments.seed, arguments.results.as_deref());
    let scratch = scratch::directory(arguments.dir.as_deref())?;
    let calls = SyscallKills {
        directory: scratch.path(),
        seed: arguments.seed,
        commits: arguments.commits,
    };
    if let Some(point) = &arguments.only {
        return calls.run_one(point);
    }
    let mut at_calls = KillCount::default();
    if !arguments.random_only {
        match calls::why_not() {
            None => at_calls = calls.run_all()?,
            Some(reason) => println!(
                "NOT DONE: kills at every call to the system: {reason}. Random kills only."
            ),
        }
    }
    let random = run_random(arguments, scratch.path())?;
    println!(
        "{} at calls to the system, {} at random moments",
        at_calls.kills, random.kills
    );
    let counts = CampaignCounts {
        count: at_calls.kills + random.kills,
        unit: "kills",
        violations: at_calls.violations + random.violations,
        counters: named([("calls", at_calls.kills), ("random", random.kills)]),
    };
    run.finish(&counts, "a killed program left something wrong")
}

/// Half of the random kills hit a load, half the program of commits.
fn run_random(
    arguments: &KillArguments,
    directory: &std::path::Path,
) -> Result<KillCount, Failure> {
    if arguments.count == 0 {
        return Ok(KillCount::default());
    }
    let begin = Instant::now();
    let mut rng = Rng::with_seed(arguments.seed);
    let program = built::program(arguments.program.as_deref(), "teak-cli", "teak")?;
    let records = load::records(&mut rng)?;
    let loads = load::LoadKills::begin(directory, program, &records)?;
    let half = arguments.count / 2;
    let mut tally = load::LoadKillTally::default();
    while tally.kills < half {
        loads.run_episode(&mut rng, half, &mut tally)?;
    }
    println!(
        "seed {}: {} loads, {} of them cut short, {} of them before there was a record, \
         {} continued from where they were",
        arguments.seed, tally.kills, tally.interrupted, tally.early, tally.continued
    );
    let commits = random_kills::run(directory, &mut rng, arguments.count - half)?;
    let violations = tally.violations + commits.violations;
    if violations > 0 {
        println!(
            "  the same moments, as far as the machine's timing goes: \
             cargo xtask kill --random-only --count {} --seed {}",
            arguments.count, arguments.seed
        );
    }
    let count = KillCount {
        kills: tally.kills + commits.kills,
        violations,
    };
    let rate = count.kills as f64 / begin.elapsed().as_secs_f64();
    println!("random moments: {rate:.0} kills/s");
    Ok(count)
}
