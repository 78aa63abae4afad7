//! Random operations on the engine and on a model of it, compared at every step.

mod changes;
mod counting;
mod cursors;
mod draw;
mod episode;
mod multi;
mod operation;
mod oracle;
mod other_thread;
mod points;
mod reads;
mod settings;
mod shape;
mod violation;

#[cfg(test)]
mod tests;

use crate::{Failure, panics, results, scratch, threads};
use episode::OperationLog;
use fastrand::Rng;
use settings::ModelSettings;
use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};
use violation::{ModelResult, ModelViolation};

/// Violations that are told in full; later ones are only counted.
const VIOLATIONS_TOLD_MAX: u64 = 10;

/// Plays random operations against the engine and a model of it.
#[derive(clap::Args)]
pub(crate) struct ModelArguments {
    /// How many operations to play
    #[arg(long, default_value_t = 1_000_000)]
    ops: u64,
    /// Everything that is random follows from this number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play this episode alone, from its start to its end
    #[arg(long)]
    episode: Option<u64>,
    /// Where the databases are put; in memory where the machine has a place for that
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Append a line with what came of it to this file
    #[arg(long)]
    results: Option<PathBuf>,
}

/// An episode that is to be played.
struct ModelPlan {
    episode: u64,
    operations_max: u64,
}

/// What came of the episodes so far.
#[derive(Default)]
struct ModelTally {
    operations: u64,
    violations: u64,
}

/// Plays episodes until all operations are done, several at once.
pub(crate) fn run(arguments: &ModelArguments) -> Result<(), Failure> {
    let directory = scratch::directory(arguments.dir.as_deref())?;
    let plans = plan(arguments);
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(ModelTally::default());
    let run_all = || -> Result<(), Failure> {
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut history = OperationLog::default();
            let outcome = run_episode(arguments.seed, plan, directory.path(), &mut history)?;
            let mut tally = tally.lock()?;
            tally.operations += history.operation_count;
            if let Err(violation) = outcome {
                tally.violations += 1;
                if tally.violations <= VIOLATIONS_TOLD_MAX {
                    report_violation(arguments.seed, plan.episode, &history, &violation);
                }
            }
        }
        Ok(())
    };
    let (begin, commit) = (Instant::now(), results::commit());
    threads::share(run_all)?;
    let seconds = begin.elapsed().as_secs_f64();
    let ModelTally {
        operations,
        violations,
    } = tally.into_inner()?;
    println!(
        "seed {}: {} episodes in {seconds:.1} s, {:.0} operations/s",
        arguments.seed,
        plans.len(),
        operations as f64 / seconds
    );
    println!("{operations} operations, {violations} violations");
    results::append(
        arguments.results.as_deref(),
        &results::ResultLine {
            command: "model",
            seed: arguments.seed,
            count: operations,
            violations,
            counters: results::named([("episodes", plans.len() as u64)]),
            commit,
        },
    )?;
    if violations == 0 {
        Ok(())
    } else {
        Err(Failure("the engine and the model differ".to_owned()))
    }
}

/// The episodes that make up the number of operations asked for; only the last may be cut short.
fn plan(arguments: &ModelArguments) -> Vec<ModelPlan> {
    let operations_max =
        |episode| ModelSettings::draw(&mut rng(arguments.seed, episode)).operations_max;
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

/// The random numbers of an episode, independent of those of all others.
fn rng(seed: u64, episode: u64) -> Rng {
    let mut seeds = Rng::with_seed(seed);
    Rng::with_seed(seeds.u64(..) ^ episode.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Plays one episode in a directory of its own. A panic is a violation too.
fn run_episode(
    seed: u64,
    plan: &ModelPlan,
    scratch: &Path,
    history: &mut OperationLog,
) -> Result<ModelResult, Failure> {
    let directory = tempfile::tempdir_in(scratch)?;
    let rng = rng(seed, plan.episode);
    let play = || episode::run_episode(rng, directory.path(), plan.operations_max, history);
    Ok(panics::catch(play).unwrap_or_else(|panic| {
        Err(ModelViolation::Other(format!(
            "the engine panicked: {panic}"
        )))
    }))
}

fn report_violation(seed: u64, episode: u64, history: &OperationLog, violation: &ModelViolation) {
    let count = history.operation_count;
    println!("violation: seed {seed}, episode {episode}, operation {count}: {violation}");
    println!("  repeat it with: cargo xtask model --seed {seed} --episode {episode}");
    if let Some(settings) = &history.settings {
        println!("  {settings:?}");
    }
    println!("  the last operations, the failed one at the end:");
    for (number, operation) in (count + 1 - history.recent.len() as u64..).zip(&history.recent) {
        println!("  {number:>6} {operation}");
    }
}
