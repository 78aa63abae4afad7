//! Lets calls to the disk fail, each call of a script in each way, and looks at what is left.
//!
//! A *script* is drawn from the seed: transactions, readers, reopening. It is played once without a
//! fault, which says what calls it makes; then with each call failing, in each way, with the errors
//! of the system taking turns.

mod cases;
mod crash_checks;
mod episode;
mod model;
mod script;
mod tally;

#[cfg(test)]
mod tests;

use crate::{Failure, panics, results, threads};
use cases::FaultCase;
use episode::{FaultCheck, FaultEpisode};
use fastrand::Rng;
use script::FaultScript;
use std::{
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};
use tally::FaultTally;

/// Violations that are told in full; later ones are only counted.
const VIOLATIONS_TOLD_MAX: u64 = 10;

/// Lets each call to the disk fail in each way, and looks at what the engine makes of it.
#[derive(clap::Args)]
pub(crate) struct FaultsArguments {
    /// How many faults
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// Everything that is random follows from this number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play this script alone, with all of its faults
    #[arg(long)]
    script: Option<u64>,
    /// Of that script, play this case alone
    #[arg(long, requires = "script")]
    case: Option<usize>,
    /// Append a line with what came of it to this file
    #[arg(long)]
    results: Option<PathBuf>,
}

/// A script, and which of its cases are to be played.
struct FaultPlan {
    number: u64,
    script: FaultScript,
    cases: Vec<(usize, FaultCase)>,
}

/// Plays faults until all are done, several at once.
pub(crate) fn run(arguments: &FaultsArguments) -> Result<(), Failure> {
    let plans = plan(arguments)?;
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(FaultTally::default());
    let run_all = || -> Result<(), Failure> {
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut own = FaultTally::default();
            for (index, case) in &plan.cases {
                run_case(arguments.seed, plan, *index, case, &mut own);
            }
            tally.lock()?.add(&own);
        }
        Ok(())
    };
    let (begin, commit) = (Instant::now(), results::commit());
    threads::share(run_all)?;
    let seconds = begin.elapsed().as_secs_f64();
    let tally = tally.into_inner()?;
    tally.print();
    let (faults, violations) = (tally.faults, tally.violations);
    println!(
        "seed {}: {} scripts in {seconds:.1} s, {:.0} faults/s",
        arguments.seed,
        plans.len(),
        faults as f64 / seconds
    );
    results::append(
        arguments.results.as_deref(),
        &results::ResultLine {
            command: "faults",
            seed: arguments.seed,
            count: faults,
            violations,
            counters: tally.counters(),
            commit,
        },
    )?;
    println!("{faults} faults, {violations} violations");
    if violations == 0 {
        Ok(())
    } else {
        Err(Failure(
            "a fault of the disk had wrong consequences".to_owned(),
        ))
    }
}

/// The cases that make up the number of faults asked for.
fn plan(arguments: &FaultsArguments) -> Result<Vec<FaultPlan>, Failure> {
    if let Some(number) = arguments.script {
        let mut plan = plan_script(arguments.seed, number)?;
        if let Some(only) = arguments.case {
            plan.cases.retain(|(index, _)| *index == only);
        }
        return Ok(vec![plan]);
    }
    let mut plans = Vec::new();
    let mut rest = arguments.count as usize;
    for number in 0.. {
        if rest == 0 {
            break;
        }
        let mut plan = plan_script(arguments.seed, number)?;
        plan.cases.truncate(rest);
        rest -= plan.cases.len();
        plans.push(plan);
    }
    Ok(plans)
}

/// Plays a script without a fault, and lists its cases.
fn plan_script(seed: u64, number: u64) -> Result<FaultPlan, Failure> {
    let mut rng = rng(seed, number);
    let script = FaultScript::draw(&mut rng);
    let mut episode = FaultEpisode::new(&script, None);
    let mut calls = Vec::new();
    let ran = panics::catch(|| {
        episode.run_script()?;
        calls = episode.disk.call_kinds();
        crash_checks::inspect(&mut episode, &script, &mut rng.clone())
    });
    if let Err(text) = ran.unwrap_or_else(Err) {
        return Err(Failure(format!(
            "script {number} goes wrong without a fault, at {episode}: {text}"
        )));
    }
    let cases = FaultCase::all(&calls, &mut rng)
        .into_iter()
        .enumerate()
        .collect();
    Ok(FaultPlan {
        number,
        script,
        cases,
    })
}

/// The random numbers of a script, independent of those of all others.
fn rng(seed: u64, number: u64) -> Rng {
    let mut seeds = Rng::with_seed(seed);
    Rng::with_seed(seeds.u64(..) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Plays a script with a fault. A panic is a violation too.
fn run_case(seed: u64, plan: &FaultPlan, index: usize, case: &FaultCase, tally: &mut FaultTally) {
    let mut episode = FaultEpisode::new(&plan.script, Some(case));
    let mut rng = rng(seed ^ index as u64, plan.number);
    let outcome = panics::catch(|| -> FaultCheck {
        if episode.run_script()? {
            crash_checks::inspect(&mut episode, &plan.script, &mut rng)
        } else {
            crash_checks::inspect_uncreated(&mut episode, &plan.script)
        }
    });
    let outcome = outcome.unwrap_or_else(|panic| Err(format!("the engine panicked: {panic}")));
    tally.count(case, episode.site);
    if let Err(text) = outcome {
        tally.violations += 1;
        if tally.violations <= VIOLATIONS_TOLD_MAX {
            let number = plan.number;
            println!("violation: {case}; at {episode}: {text}");
            println!(
                "  repeat it with: cargo xtask faults --seed {seed} --script {number} --case {index}"
            );
        }
    }
}
