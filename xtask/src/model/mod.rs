//! Plays random operations on the engine and on a model of it, and compares them at every step.

mod changes;
mod counting;
mod cursors;
mod draw;
mod episode;
mod key_range;
mod multi;
mod operation;
mod oracle;
mod other_thread;
mod points;
mod reading;
mod reads;
mod settings;
mod shape;
mod violation;

#[cfg(test)]
mod tests;

use crate::{
    Failure, Result,
    campaign::{
        CampaignArguments, ScratchArguments, draw::episode as rng, named, panics, parallel,
        violations,
    },
};
use episode::OperationLog;
use settings::ModelSettings;
use std::{path::Path, sync::Mutex};
use violation::{ModelResult, ModelViolation};

/// Plays random operations against the engine and a model of it.
#[derive(clap::Args)]
pub(crate) struct ModelArguments {
    /// Number of operations to play
    #[arg(long, default_value_t = 1_000_000)]
    ops: u64,
    #[command(flatten)]
    campaign: CampaignArguments,
    /// Play only this episode, from start to end
    #[arg(long)]
    episode: Option<u64>,
    #[command(flatten)]
    scratch: ScratchArguments,
}

/// An episode to play.
struct ModelPlan {
    episode: u64,
    operations_max: u64,
}

/// The counts of the episodes so far.
#[derive(Default)]
struct ModelTally {
    operations: u64,
    violations: u64,
}

/// Plays episodes in parallel until all operations are done.
pub(crate) fn run(arguments: &ModelArguments) -> Result {
    panics::record();
    let directory = arguments.scratch.directory()?;
    let plans = plan(arguments);
    let tally = Mutex::new(ModelTally::default());
    let run = arguments.campaign.begin("model");
    parallel::each(&plans, |plan| {
        let mut history = OperationLog::default();
        let outcome = run_episode(
            arguments.campaign.seed,
            plan,
            directory.path(),
            &mut history,
        )?;
        let mut tally = tally.lock()?;
        tally.operations += history.operation_count;
        if let Err(violation) = outcome {
            tally.violations += 1;
            if tally.violations <= violations::PRINTED_MAX {
                report_violation(arguments.campaign.seed, plan.episode, &history, &violation);
            }
        }
        Ok(())
    })?;
    let ModelTally {
        operations,
        violations,
    } = tally.into_inner()?;
    run.print_rate(
        format_args!(", {} episodes", plans.len()),
        operations,
        "operations",
    );
    run.finish(
        (operations, "operations"),
        violations,
        &named([("episodes", plans.len() as u64)]),
        "the engine and the model differ",
    )
}

/// The episodes that make up the requested number of operations. Only the last may be shorter.
fn plan(arguments: &ModelArguments) -> Vec<ModelPlan> {
    let operations_max =
        |episode| ModelSettings::draw(&mut rng(arguments.campaign.seed, episode)).operations_max;
    if let Some(episode) = arguments.episode {
        return vec![ModelPlan {
            episode,
            operations_max: operations_max(episode),
        }];
    }
    let mut plans = Vec::new();
    let mut rest = arguments.ops;
    for episode in 0.. {
        if rest == 0 {
            break;
        }
        let operations_max = operations_max(episode).min(rest);
        plans.push(ModelPlan {
            episode,
            operations_max,
        });
        rest -= operations_max;
    }
    plans
}

/// Plays one episode in a directory of its own. A panic is a violation too.
fn run_episode(
    seed: u64,
    plan: &ModelPlan,
    scratch: &Path,
    history: &mut OperationLog,
) -> Result<ModelResult> {
    let directory = tempfile::tempdir_in(scratch)?;
    let rng = rng(seed, plan.episode);
    let play = || episode::run_episode(rng, directory.path(), plan.operations_max, history);
    let played = panics::catch(|| Ok(play()));
    Ok(played.unwrap_or_else(|Failure(text)| Err(ModelViolation::Other(text))))
}

fn report_violation(seed: u64, episode: u64, history: &OperationLog, violation: &ModelViolation) {
    let count = history.operation_count;
    violations::print(
        format_args!("seed {seed}, episode {episode}, operation {count}: {violation}"),
        format_args!("model --seed {seed} --episode {episode}"),
    );
    if let Some(settings) = &history.settings {
        println!("  {settings:?}");
    }
    println!("  the last operations, ending with the failed one:");
    for (number, operation) in (count + 1 - history.recent.len() as u64..).zip(&history.recent) {
        println!("  {number:>6} {operation}");
    }
}
