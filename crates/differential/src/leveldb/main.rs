//! Runs the same random script of steps on LevelDB and on the library with its interface over Teak,
//! and compares the replies of each step.

#![deny(unsafe_code)]

mod batch;
mod comparator;
mod functions;
mod iterator;
mod keys;
mod model;
mod runner;
mod script;
mod setup;
mod side;
mod step;

use anyhow::Result;
use clap::Parser;
use comparison::{scratch, shrink};
use functions::LevelDbFunctions;
use runner::{OtherReply, PairRunner, StepTally};
use script::LevelDbScript;
use setup::LevelDbSetup;
use side::LevelDbSide;
use std::{path::PathBuf, process::ExitCode, time::Instant};
use step::Step;

/// The number of steps of an episode, which has its own databases.
const EPISODE_LEN: u64 = 5000;
/// The number of last steps to show.
const SHOWN_COUNT: usize = 20;

/// Performs the same random steps on LevelDB and on its interface over Teak, and compares the
/// replies
#[derive(Parser)]
struct LevelDbArguments {
    /// Number of steps to perform
    #[arg(long, default_value_t = 100_000)]
    ops: u64,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with this episode; the report of a difference names the episode
    #[arg(long, default_value_t = 0)]
    episode: u64,
    /// Print every step before it is performed
    #[arg(long)]
    verbose: bool,
    /// The library over Teak
    #[arg(long)]
    library: PathBuf,
    /// LevelDB's own library
    #[arg(long)]
    leveldb: PathBuf,
}

/// Both libraries.
struct LibraryPair {
    teak: &'static LevelDbFunctions,
    leveldb: &'static LevelDbFunctions,
}

/// The steps of an episode up to a difference.
struct FailedEpisode {
    setup: LevelDbSetup,
    steps: Vec<Step>,
    difference: OtherReply,
}

fn main() -> ExitCode {
    match run(&LevelDbArguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("leveldb-differential: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all replies were equal.
fn run(arguments: &LevelDbArguments) -> Result<bool> {
    let pair = LibraryPair {
        teak: LevelDbFunctions::load(&arguments.library)?,
        leveldb: LevelDbFunctions::load(&arguments.leveldb)?,
    };
    let (seed, begin) = (arguments.seed, Instant::now());
    println!("seed {seed}");
    let (mut left, mut episode) = (arguments.ops, arguments.episode);
    let mut tally = StepTally::default();
    while left > 0 {
        let count = left.min(EPISODE_LEN);
        match pair.run_episode(seed, episode, count, arguments.verbose)? {
            Ok(of_episode) => tally.add(of_episode),
            Err(failed) if failed.difference.is_of_leveldb => {
                println!(
                    "an error of LevelDB in episode {episode}: {}",
                    failed.difference
                );
                tally.leveldb_errors += 1;
            }
            Err(failed) => {
                pair.report(seed, episode, &failed)?;
                return Ok(false);
            }
        }
        left -= count;
        episode += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{} operations, no difference, {seconds:.1} s",
        arguments.ops
    );
    println!(
        "{} performed, {} skipped as impossible, {} equal errors; {} records compared, {} in the \
         largest database; {} episodes ended with an error of LevelDB",
        tally.performed,
        tally.skipped,
        tally.errors,
        tally.records,
        tally.records_max,
        tally.leveldb_errors
    );
    Ok(true)
}

impl LibraryPair {
    /// The counts of an episode, or its first difference.
    fn run_episode(
        &self,
        seed: u64,
        episode: u64,
        count: u64,
        is_verbose: bool,
    ) -> Result<Result<StepTally, FailedEpisode>> {
        let (mut script, setup) = LevelDbScript::new(seed, episode);
        let scratch = scratch()?;
        let mut runner = self.runner(scratch.path(), setup)?;
        let mut steps = Vec::new();
        let mut performed = Ok(());
        for _ in 0..count {
            let step = script.next();
            if is_verbose {
                eprintln!("{step:?}");
            }
            performed = runner.perform(&step);
            steps.push(step);
            if performed.is_err() {
                break;
            }
        }
        Ok(match performed.and_then(|()| runner.finish()) {
            Ok(()) => Ok(runner.tally),
            Err(difference) => Err(FailedEpisode {
                setup,
                steps,
                difference,
            }),
        })
    }

    fn runner(&self, directory: &std::path::Path, setup: LevelDbSetup) -> Result<PairRunner> {
        let teak = LevelDbSide::create(self.teak, true, &directory.join("teak"), setup)?;
        let leveldb = LevelDbSide::create(self.leveldb, false, &directory.join("leveldb"), setup)?;
        Ok(PairRunner::new(teak, leveldb, setup.comparator))
    }

    /// Performs a written script.
    fn replay(&self, setup: LevelDbSetup, steps: &[Step]) -> Result<Option<OtherReply>> {
        let scratch = scratch()?;
        let mut runner = self.runner(scratch.path(), setup)?;
        for step in steps {
            if let Err(difference) = runner.perform(step) {
                return Ok(Some(difference));
            }
        }
        Ok(runner.finish().err())
    }

    fn report(&self, seed: u64, episode: u64, failed: &FailedEpisode) -> Result<()> {
        let (setup, count) = (failed.setup, failed.steps.len());
        println!("DIFFERENCE in episode {episode}, step {count}, {setup:?}");
        println!("{}", failed.difference);
        println!("the last steps:");
        for step in &failed.steps[count.saturating_sub(SHOWN_COUNT)..] {
            println!("  {step:?}");
        }
        println!(
            "repeat: cargo xtask leveldb-differential --seed {seed} --episode {episode} --ops \
             {count}"
        );
        let smallest = shrink::smallest(&failed.steps, |steps| {
            let difference = self.replay(setup, steps)?;
            Ok(difference.is_some_and(|difference| !difference.is_of_leveldb))
        })?;
        println!(
            "a script of {} steps that shows a difference:",
            smallest.len()
        );
        for step in &smallest {
            println!("  {step:?}");
        }
        if let Some(difference) = self.replay(setup, &smallest)? {
            println!("{difference}");
        }
        Ok(())
    }
}
