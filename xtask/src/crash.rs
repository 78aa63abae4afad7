//! Crashes: what a power cut or a kill could have left of a workload is built, opened and compared.
//!
//! An episode performs a workload on the simulated disk, beside a history of every state that was
//! committed. Then images are built: of each block of the disk one of the states that it may be in
//! (see the simulated disk), in blocks of several lengths. Each image must open, hold exactly a
//! state that was committed, no older than the last one acknowledged as durable, say truly what
//! recovery did, check clean, take another commit, and close and open again. Of some images the
//! recovery is crashed again, and the same asked of what that leaves.

mod context;
mod during_flush;
mod episode;
mod history;
mod images;
mod process_pool;
mod process_steps;
mod records;
mod settings;
mod stage;
mod tally;
mod verify;
mod workload;

#[cfg(test)]
mod tests;

use crate::{
    Failure,
    campaign::{
        parallel,
        results::{Campaign, CampaignCounts},
        violations,
    },
};
use episode::{CrashPlan, CrashViolation};
use std::{ops::ControlFlow, path::PathBuf, sync::Mutex};
use tally::{CrashTally, SeenImages};
use workload::Workload;

/// Violations after which the campaign ends.
const VIOLATIONS_MAX: u64 = 1000;

/// Builds what crashes could have left of random workloads, and checks it.
#[derive(clap::Args)]
pub(crate) struct CrashArguments {
    /// How many different images to inspect
    #[arg(long, default_value_t = 300_000)]
    images: u64,
    /// The seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play this episode alone
    #[arg(long)]
    episode: Option<u64>,
    /// Inspect this image of the episode alone, and second crashes of it
    #[arg(long, requires = "episode")]
    image: Option<u64>,
    /// Play this kind of workload only
    #[arg(long, value_enum)]
    workload: Option<Workload>,
    /// Append a line of results to this file
    #[arg(long)]
    results: Option<PathBuf>,
}

/// Plays episodes in parallel until there are enough images.
pub(crate) fn run(arguments: &CrashArguments) -> Result<(), Failure> {
    let run = Campaign::begin("crash", arguments.seed, arguments.results.as_deref());
    let tally = match arguments.episode {
        Some(episode) => run_one(arguments, episode),
        None => run_many(arguments)?,
    };
    let seconds = run.seconds();
    println!(
        "seed {}: {seconds:.1} s, {:.0} images/s",
        arguments.seed,
        tally.images as f64 / seconds
    );
    for (name, count) in tally.counters() {
        println!("  {name:<14} {count:>10}");
    }
    let counts = CampaignCounts {
        count: tally.distinct,
        unit: "images",
        violations: tally.violations,
        counters: tally.counters(),
    };
    run.finish(&counts, "a crash left something wrong")
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
    let (sum, seen) = (Mutex::new(CrashTally::default()), SeenImages::new());
    parallel::numbers(|episode| {
        let plan = plan(arguments, episode);
        let mut tally = CrashTally::default();
        let outcome = episode::run_episode(&plan, &seen, &mut tally);
        let mut sum = sum.lock()?;
        sum.add(&tally);
        if let Err(violation) = outcome
            && sum.violations <= violations::PRINTED_MAX
        {
            report_violation(&plan, &violation);
        }
        let is_done = sum.distinct >= arguments.images || sum.violations >= VIOLATIONS_MAX;
        Ok(match is_done {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(sum.into_inner()?)
}

fn report_violation(plan: &CrashPlan, violation: &CrashViolation) {
    let CrashViolation {
        workload,
        image,
        text,
        script,
        settings,
    } = violation;
    let mut command = format!("crash --seed {} --episode {}", plan.seed, plan.episode);
    if let Some(workload) = plan.workload {
        command += &format!(" --workload {}", workload.name());
    }
    if let Some(image) = image {
        command += &format!(" --image {image}");
    }
    violations::print(
        format_args!("workload {}: {text}", workload.name()),
        command,
    );
    println!("  {settings:?}");
    println!("  {script:?}");
}
