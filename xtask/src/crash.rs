//! Simulated crashes: builds the images that a power cut or a kill may leave, opens and checks
//! them.
//!
//! An episode performs a workload on the simulated disk and records the history of all committed
//! states. Then it builds images: each block of the disk gets one of the contents that it may have
//! (see the simulated disk), with several block lengths. Each image must open and hold exactly one
//! committed state, which is no older than the last one acknowledged as durable. Recovery must
//! report truthfully, a check must find no damage, and the database must take another commit, close
//! and open again. For some images recovery is crashed too, with the same requirements for the
//! result.

mod context;
mod during_flush;
mod episode;
mod expiring;
mod expiring_changes;
mod history;
mod images;
mod prepared;
mod process_pool;
mod process_steps;
mod records;
mod settings;
mod stage;
mod step;
mod step_weights;
mod tally;
mod verify;
mod workload;

#[cfg(test)]
mod tests;

use crate::{
    Result,
    campaign::{CampaignArguments, EncodingArguments, panics, parallel, violations},
    names::Named,
};
use episode::{CrashPlan, CrashViolation};
use std::{ops::ControlFlow, sync::Mutex};
use tally::{CrashTally, SeenImages};
use workload::Workload;

/// Violations after which the campaign ends.
const VIOLATIONS_MAX: u64 = 1000;

/// Builds images that crashes may leave of random workloads, and checks them.
#[derive(clap::Args)]
pub(crate) struct CrashArguments {
    /// Number of different images to inspect
    #[arg(long, default_value_t = 300_000)]
    images: u64,
    #[command(flatten)]
    campaign: CampaignArguments,
    /// Play only this episode
    #[arg(long)]
    episode: Option<u64>,
    /// Inspect only this image of the episode, and second crashes of it
    #[arg(long, requires = "episode")]
    image: Option<u64>,
    /// Play only this kind of workload
    #[arg(long, value_enum)]
    workload: Option<Workload>,
    #[command(flatten)]
    encoding: EncodingArguments,
}

/// Plays episodes in parallel until there are enough images.
pub(crate) fn run(arguments: &CrashArguments) -> Result {
    panics::record();
    let name = arguments
        .encoding
        .name(["crash", "crash, encrypted", "crash, compressed"]);
    let run = arguments.campaign.begin(name);
    let tally = match arguments.episode {
        Some(episode) => run_one(arguments, episode),
        None => run_many(arguments)?,
    };
    run.print_rate("", tally.images, "images");
    run.print_counters(&tally.counters());
    run.finish(
        (tally.distinct, "images"),
        tally.violations,
        &tally.counters(),
        "a crash violated a promise",
    )
}

fn plan(arguments: &CrashArguments, episode: u64) -> CrashPlan {
    CrashPlan {
        seed: arguments.campaign.seed,
        episode,
        workload: arguments.workload,
        image: arguments.image,
        encoding: arguments.encoding.of_episode(episode),
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

fn run_many(arguments: &CrashArguments) -> Result<CrashTally> {
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
    command += plan.encoding.in_command();
    violations::print(
        format_args!("workload {}: {text}", workload.name()),
        command,
    );
    println!("  {settings:?}");
    println!("  {script:?}");
}
