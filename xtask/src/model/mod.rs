//! Random operations on the engine and on a model of it, compared at every step.

mod changes;
mod draw;
mod episode;
mod operation;
mod oracle;
mod reads;
mod settings;
mod shape;
mod violation;

#[cfg(test)]
mod tests;

use crate::{Failure, scratch};
use episode::History;
use fastrand::Rng;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
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
}

/// Plays episodes until all operations are done.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let directory = scratch::directory(arguments.dir.as_deref())?;
    let begin = Instant::now();
    let (mut operation_count, mut violation_count, mut episode_count) = (0, 0, 0);
    let (first, operations_max) = match arguments.episode {
        Some(episode) => (episode, u64::MAX),
        None => (0, arguments.ops),
    };
    for episode in first.. {
        let mut history = History::default();
        let outcome = play(
            arguments.seed,
            episode,
            directory.path(),
            operations_max - operation_count,
            &mut history,
        )?;
        operation_count += history.operation_count;
        episode_count += 1;
        if let Err(violation) = outcome {
            violation_count += 1;
            if violation_count <= VIOLATIONS_TOLD_MAX {
                tell(arguments.seed, episode, &history, &violation);
            }
        }
        if arguments.episode.is_some() || operation_count >= operations_max {
            break;
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "seed {}: {episode_count} episodes in {seconds:.1} s, {:.0} operations/s",
        arguments.seed,
        operation_count as f64 / seconds
    );
    println!("{operation_count} operations, {violation_count} violations");
    if violation_count == 0 {
        Ok(())
    } else {
        Err(Failure("the engine and the model differ".to_owned()))
    }
}

/// Plays one episode in a directory of its own. A panic is a violation too.
fn play(
    seed: u64,
    episode: u64,
    scratch: &Path,
    operations_max: u64,
    history: &mut History,
) -> Result<Outcome, Failure> {
    let directory = tempfile::tempdir_in(scratch)?;
    let mut seeds = Rng::with_seed(seed);
    let rng = Rng::with_seed(seeds.u64(..) ^ episode.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        episode::play(rng, directory.path(), operations_max, history)
    }));
    Ok(outcome.unwrap_or_else(|_| {
        Err(Violation(
            "the engine panicked; its message is above".to_owned(),
        ))
    }))
}

fn tell(seed: u64, episode: u64, history: &History, violation: &Violation) {
    let count = history.operation_count;
    println!("violation: seed {seed}, episode {episode}, operation {count}: {violation}");
    println!("  repeat it with: cargo xtask model --seed {seed} --episode {episode}");
    println!("  {:?}", history.settings);
    println!("  the last operations, the failed one at the end:");
    for (number, operation) in (count + 1 - history.recent.len() as u64..).zip(&history.recent) {
        println!("  {number:>6} {operation}");
    }
}
