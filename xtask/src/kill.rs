//! Kills programs, and inspects their databases: no commit that returned may be lost, in any mode,
//! and the database must have no damage.
//!
//! Programs are killed in three ways: at every system call of a committing program ([`calls`]), at
//! random times of the same program ([`random_kills`]), and at random times of `teak load`
//! ([`load`]).

mod calls;
mod load;
mod loader;
mod random_kills;
mod scenario;

#[cfg(test)]
mod tests;

use crate::{
    Result, built,
    campaign::{CampaignArguments, ScratchArguments, named},
};
use calls::{KillPoint, SyscallKills};
use fastrand::Rng;
use scenario::KillCount;
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

/// Kills writing programs at every system call and at random times, and checks the databases
#[derive(clap::Args)]
pub(crate) struct KillArguments {
    /// Number of kills at random times; kills at system calls are additional
    #[arg(long, default_value_t = 100)]
    count: u64,
    #[command(flatten)]
    campaign: CampaignArguments,
    #[command(flatten)]
    scratch: ScratchArguments,
    /// The program `teak`; built if it is not given
    #[arg(long)]
    program: Option<PathBuf>,
    /// Milliseconds that a killed load may keep its locks, if another process has them for it
    #[arg(long, hide = true, default_value_t = 0)]
    settle_ms: u64,
    /// Only kill at random times
    #[arg(long)]
    random_only: bool,
    /// Only kill at this system call, such as new:plain:pwrite64:7
    #[arg(long, value_name = "POINT")]
    only: Option<KillPoint>,
    /// Number of commits of a program that is killed at its system calls
    #[arg(long, default_value_t = 10)]
    commits: u64,
}

/// Kills and inspects as often as requested.
pub(crate) fn run(arguments: &KillArguments) -> Result {
    let run = arguments.campaign.begin("kill");
    let scratch = arguments.scratch.directory()?;
    let calls = SyscallKills {
        directory: scratch.path(),
        seed: arguments.campaign.seed,
        commits: arguments.commits,
    };
    if let Some(point) = &arguments.only {
        return calls.run_one(point);
    }
    let mut at_calls = KillCount::default();
    if !arguments.random_only {
        match calls::why_not() {
            None => at_calls = calls.run_all()?,
            Some(reason) => {
                println!("NOT DONE: kills at every system call: {reason}. Random kills only.")
            }
        }
    }
    let random = run_random(arguments, scratch.path())?;
    println!(
        "{} at system calls, {} at random times",
        at_calls.kills, random.kills
    );
    run.finish(
        (at_calls.kills + random.kills, "kills"),
        at_calls.violations + random.violations,
        &named([("calls", at_calls.kills), ("random", random.kills)]),
        "a kill violated a promise",
    )
}

/// Half of the random kills hit a load, half a committing program.
fn run_random(arguments: &KillArguments, directory: &std::path::Path) -> Result<KillCount> {
    if arguments.count == 0 {
        return Ok(KillCount::default());
    }
    let begin = Instant::now();
    let mut rng = Rng::with_seed(arguments.campaign.seed);
    let program = built::program(arguments.program.as_deref(), "teak-cli", "teak")?;
    let records = load::records(&mut rng)?;
    let settle = Duration::from_millis(arguments.settle_ms);
    let loads = load::LoadKills::begin(directory, program, &records, settle)?;
    let half = arguments.count / 2;
    let mut tally = load::LoadKillTally::default();
    while tally.kills < half {
        loads.run_episode(&mut rng, half, &mut tally)?;
    }
    println!(
        "seed {}: {} loads, {} of them interrupted, {} of them before the first record, \
         {} continued from where they were",
        arguments.campaign.seed, tally.kills, tally.interrupted, tally.early, tally.continued
    );
    let commits = random_kills::run(directory, &mut rng, arguments.count - half)?;
    let violations = tally.violations + commits.violations;
    if violations > 0 {
        println!(
            "  about the same times, depending on the machine's timing: \
             cargo xtask kill --random-only --count {} --seed {}",
            arguments.count, arguments.campaign.seed
        );
    }
    let count = KillCount {
        kills: tally.kills + commits.kills,
        violations,
    };
    let rate = count.kills as f64 / begin.elapsed().as_secs_f64();
    println!("random times: {rate:.0} kills/s");
    Ok(count)
}
