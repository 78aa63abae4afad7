//! Random operations on the engine and on a model of it, compared at every step.

mod changes;
mod counting;
mod cursors;
mod draw;
mod elsewhere;
mod episode;
mod multi;
mod operation;
mod oracle;
mod points;
mod reads;
mod settings;
mod shape;
mod violation;

#[cfg(test)]
mod tests;

use crate::{Failure, panics, results, scratch, threads};
use episode::History;
use fastrand::Rng;
use settings::Settings;
use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};
use violation::{Outcome, Violation};

/// Violations that are told in full; later ones are only counted.
const VIOLATIONS_TOLD_MAX: u64 = 10;

/// Plays random operations against the engine and a model of it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
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
struct Plan {
    episode: u64,
    operations_max: u64,
}

/// What came of the episodes so far.
#[derive(Default)]
struct Tally {
    operations: u64,
    violations: u64,
}

/// Plays episodes until all operations are done, several at once.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let directory = scratch::directory(arguments.dir.as_deref())?;
    let plans = plan(arguments);
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(Tally::default());
    let play_all = || -> Result<(), Failure> {
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut history = History::default();
            let outcome = play(arguments.seed, plan, directory.path(), &mut history)?;
            let mut tally = tally.lock()?;
            tally.operations += history.operation_count;
            if let Err(violation) = outcome {
                tally.violations += 1;
                if tally.violations <= VIOLATIONS_TOLD_MAX {
                    tell(arguments.seed, plan.episode, &history, &violation);
                }
            }
        }
        Ok(())
    };
    let (begin, commit) = (Instant::now(), results::commit());
    threads::share(play_all)?;
    let seconds = begin.elapsed().as_secs_f64();
    let Tally {
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
        &results::Line {
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
fn plan(arguments: &Arguments) -> Vec<Plan> {
    let operations_max = |episode| Settings::draw(&mut rng(arguments.seed, episode)).operations_max;
    if let Some(episode) = arguments.episode {
        return vec![Plan {
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
        plans.push(Plan {
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
fn play(seed: u64, plan: &Plan, scratch: &Path, history: &mut History) -> Result<Outcome, Failure> {
    let directory = tempfile::tempdir_in(scratch)?;
    let rng = rng(seed, plan.episode);
    let play = || episode::play(rng, directory.path(), plan.operations_max, history);
    Ok(panics::catch(play)
        .unwrap_or_else(|panic| Err(Violation::Other(format!("the engine panicked: {panic}")))))
}

fn tell(seed: u64, episode: u64, history: &History, violation: &Violation) {
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
