//! Crashes: what a power cut or a kill could have left of a workload is built, opened and compared.
//!
//! An episode performs a workload on the simulated disk, beside a history of every state that was
//! committed. Then images are built: of each block of the disk one of the states that it may be in
//! (see the simulated disk), in blocks of several lengths. Each image must open, hold exactly a state
//! that was committed, no older than the last one acknowledged as durable, say truly what recovery
//! did, check clean, take another commit, and close and open again. Of some images the recovery is
//! crashed again, and the same asked of what that leaves.

mod context;
mod during_flush;
mod episode;
mod history;
mod images;
mod process_pool;
mod records;
mod settings;
mod tally;
mod verify;
mod workload;

#[cfg(test)]
mod tests;

use crate::{Failure, results, threads};
use episode::{CrashPlan, CrashViolation};
use std::{
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};
use tally::{CrashTally, SeenImages};
use workload::Workload;

/// Violations that are told in full; later ones are only counted.
const VIOLATIONS_TOLD_MAX: u64 = 10;

/// After so many violations there is no point in going on.
const VIOLATIONS_MAX: u64 = 1000;

/// Builds what crashes could have left of random workloads, and checks it.
#[derive(clap::Args)]
pub(crate) struct CrashArguments {
    /// How many different images to look at
    #[arg(long, default_value_t = 300_000)]
    images: u64,
    /// Everything that is random follows from this number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play this episode alone
    #[arg(long)]
    episode: Option<u64>,
    /// Look at this image of the episode alone, and at second crashes of it
    #[arg(long, requires = "episode")]
    image: Option<u64>,
    /// Play this kind of workload only
    #[arg(long, value_enum)]
    workload: Option<Workload>,
    /// A file to append a line of counters to
    #[arg(long)]
    results: Option<PathBuf>,
}

/// Plays episodes until there were enough images, several at once.
pub(crate) fn run(arguments: &CrashArguments) -> Result<(), Failure> {
    let (begin, commit) = (Instant::now(), results::commit());
    let tally = match arguments.episode {
        Some(episode) => run_one(arguments, episode),
        None => run_many(arguments)?,
    };
    report(arguments, &tally, begin.elapsed().as_secs_f64());
    results::append(
        arguments.results.as_deref(),
        &results::ResultLine {
            command: "crash",
            seed: arguments.seed,
            count: tally.distinct,
            violations: tally.violations,
            counters: tally.counters(),
            commit,
        },
    )?;
    println!("{} images, {} violations", tally.distinct, tally.violations);
    if tally.violations == 0 {
        Ok(())
    } else {
        Err(Failure("a crash left something wrong".to_owned()))
    }
}

fn plan(arguments: &CrashArguments, episode: u64) -> CrashPlan {
    CrashPlan {
        seed: arguments.seed,
        episode,
        workload: arguments.workload,
        image: arguments.image,
    }
}

fn run_one(arguments: &CrashArguments, episode: u64) -> CrashTally {
    let plan = plan(arguments, episode);
    let mut tally = CrashTally::default();
    if let Err(violation) = episode::run_episode(&plan, &SeenImages::new(), &mut tally) {
        report_violation(&plan, &violation);
    }
    tally
}

fn run_many(arguments: &CrashArguments) -> Result<CrashTally, Failure> {
    let (next, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    let (sum, seen) = (Mutex::new(CrashTally::default()), SeenImages::new());
    let play = || -> Result<(), Failure> {
        while !is_done.load(Ordering::Relaxed) {
            let plan = plan(arguments, next.fetch_add(1, Ordering::Relaxed));
            let mut tally = CrashTally::default();
            let outcome = episode::run_episode(&plan, &seen, &mut tally);
            let mut sum = sum.lock()?;
            sum.add(&tally);
            if let Err(violation) = outcome
                && sum.violations <= VIOLATIONS_TOLD_MAX
            {
                report_violation(&plan, &violation);
            }
            if sum.distinct >= arguments.images || sum.violations >= VIOLATIONS_MAX {
                is_done.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    threads::share(play)?;
    Ok(sum.into_inner()?)
}

fn report(arguments: &CrashArguments, tally: &CrashTally, seconds: f64) {
    println!(
        "seed {}: {seconds:.1} s, {:.0} images/s",
        arguments.seed,
        tally.images as f64 / seconds
    );
    for (name, count) in tally.counters() {
        println!("  {name:<14} {count:>10}");
    }
}

fn report_violation(plan: &CrashPlan, violation: &CrashViolation) {
    let CrashViolation {
        workload,
        image,
        text,
        script,
        settings,
    } = violation;
    let mut command = format!(
        "cargo xtask crash --seed {} --episode {}",
        plan.seed, plan.episode
    );
    if let Some(workload) = plan.workload {
        command += &format!(" --workload {}", workload.name());
    }
    if let Some(image) = image {
        command += &format!(" --image {image}");
    }
    println!("violation, workload {}: {text}", workload.name());
    println!("  repeat it with: {command}");
    println!("  {settings:?}");
    println!("  {script:?}");
}
