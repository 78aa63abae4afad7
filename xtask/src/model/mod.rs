//! Plays random operations on the engine and on a model of it, and compares them at every step.

mod changes;
mod counting;
mod cursors;
mod draw;
mod episode;
mod expiring;
mod key_range;
mod multi;
mod operation;
mod operation_log;
mod oracle;
mod other_thread;
mod plan;
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
        CampaignArguments, EncodingArguments, ScratchArguments, draw::episode as rng, named,
        panics, parallel, violations,
    },
};
use operation_log::OperationLog;
use plan::{EpisodeKind, ModelPlan};
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
    /// Play episodes with expiring tables
    #[arg(long)]
    expiring: bool,
    #[command(flatten)]
    encoding: EncodingArguments,
    #[command(flatten)]
    scratch: ScratchArguments,
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
    let name = match arguments.expiring {
        false => arguments
            .encoding
            .name(["model", "model, encrypted", "model, compressed"]),
        true => (arguments.encoding).name([
            "model, expiring",
            "model, expiring, encrypted",
            "model, expiring, compressed",
        ]),
    };
    let run = arguments.campaign.begin(name);
    parallel::each(&plans, |plan| {
        let mut history = OperationLog::default();
        let outcome = run_episode(plan, directory.path(), &mut history)?;
        let mut tally = tally.lock()?;
        tally.operations += history.operation_count;
        if let Err(violation) = outcome {
            tally.violations += 1;
            if tally.violations <= violations::PRINTED_MAX {
                report_violation(plan, &history, &violation);
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
    let plan = |episode, operations_max| ModelPlan {
        seed: arguments.campaign.seed,
        episode,
        operations_max,
        kind: match arguments.expiring {
            false => EpisodeKind::Lasting,
            true => EpisodeKind::Expiring,
        },
        encoding: arguments.encoding.of_episode(episode),
    };
    if let Some(episode) = arguments.episode {
        return vec![plan(episode, operations_max(episode))];
    }
    let mut plans = Vec::new();
    let mut rest = arguments.ops;
    for episode in 0.. {
        if rest == 0 {
            break;
        }
        let operations_max = operations_max(episode).min(rest);
        plans.push(plan(episode, operations_max));
        rest -= operations_max;
    }
    plans
}

/// Plays one episode in a directory of its own. A panic is a violation too.
fn run_episode(
    plan: &ModelPlan,
    scratch: &Path,
    history: &mut OperationLog,
) -> Result<ModelResult> {
    let directory = tempfile::tempdir_in(scratch)?;
    let rng = rng(plan.seed, plan.episode);
    let play = || match plan.kind {
        EpisodeKind::Lasting => episode::run_episode(rng, plan, directory.path(), history),
        EpisodeKind::Expiring => expiring::run_episode(rng, plan, directory.path(), history),
    };
    let played = panics::catch(|| Ok(play()));
    Ok(played.unwrap_or_else(|Failure(text)| Err(ModelViolation::Other(text))))
}

fn report_violation(plan: &ModelPlan, history: &OperationLog, violation: &ModelViolation) {
    let ModelPlan { seed, episode, .. } = plan;
    let count = history.operation_count;
    let kind = match plan.kind {
        EpisodeKind::Lasting => "",
        EpisodeKind::Expiring => " --expiring",
    };
    let encoding = plan.encoding.in_command();
    violations::print(
        format_args!("seed {seed}, episode {episode}, operation {count}: {violation}"),
        format_args!("model --seed {seed} --episode {episode}{kind}{encoding}"),
    );
    if let Some(settings) = &history.settings {
        println!("  {settings:?}");
    }
    println!("  the last operations, ending with the failed one:");
    for (number, operation) in (count + 1 - history.recent.len() as u64..).zip(&history.recent) {
        println!("  {number:>6} {operation}");
    }
}
