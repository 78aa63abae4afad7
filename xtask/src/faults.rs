//! Injects disk faults into each call of a script, in each mode, and checks the consequences.
//!
//! A *script* is drawn from the seed: transactions, readers, reopening. It is played once without a
//! fault to list its calls. Then each call fails in each mode, with the system's errors in turn.

mod cases;
mod crash_checks;
mod endings;
mod episode;
mod model;
mod outcome;
mod script;
mod soundness;
mod tally;

#[cfg(test)]
mod tests;

use crate::{
    Result,
    campaign::{
        CampaignArguments, Encoding, EncodingArguments, draw::episode as rng, panics, parallel,
        violations,
    },
};
use cases::FaultCase;
use episode::FaultEpisode;
use script::FaultScript;
use std::sync::Mutex;
use tally::FaultTally;

/// Lets each call to the disk fail in each mode, and checks the reaction of the engine
#[derive(clap::Args)]
pub(crate) struct FaultsArguments {
    /// Number of faults
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    #[command(flatten)]
    campaign: CampaignArguments,
    /// Play only this script, with all of its faults
    #[arg(long)]
    script: Option<u64>,
    /// Play only this case of the script
    #[arg(long, requires = "script")]
    case: Option<usize>,
    #[command(flatten)]
    encoding: EncodingArguments,
}

/// A script, and its cases to play.
struct FaultPlan {
    number: u64,
    script: FaultScript,
    cases: Vec<(usize, FaultCase)>,
}

/// Plays all faults, in parallel.
pub(crate) fn run(arguments: &FaultsArguments) -> Result {
    panics::record();
    let plans = plan(arguments)?;
    let tally = Mutex::new(FaultTally::default());
    let name = arguments
        .encoding
        .name(["faults", "faults, encrypted", "faults, compressed"]);
    let run = arguments.campaign.begin(name);
    parallel::each(&plans, |plan| {
        let mut own = FaultTally::default();
        for (index, case) in &plan.cases {
            run_case(arguments.campaign.seed, plan, *index, case, &mut own);
        }
        tally.lock()?.add(&own);
        Ok(())
    })?;
    let tally = tally.into_inner()?;
    tally.print();
    run.print_rate(
        format_args!(", {} scripts", plans.len()),
        tally.faults,
        "faults",
    );
    run.finish(
        (tally.faults, "faults"),
        tally.violations,
        &tally.counters(),
        "a disk fault violated a promise",
    )
}

/// The cases that make up the requested number of faults.
fn plan(arguments: &FaultsArguments) -> Result<Vec<FaultPlan>> {
    let plan_script = |number| {
        let encoding = arguments.encoding.of_episode(number);
        plan_script(arguments.campaign.seed, number, encoding)
    };
    if let Some(number) = arguments.script {
        let mut plan = plan_script(number)?;
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
        let mut plan = plan_script(number)?;
        plan.cases.truncate(rest);
        rest -= plan.cases.len();
        plans.push(plan);
    }
    Ok(plans)
}

/// Plays a script without a fault, and lists its cases.
fn plan_script(seed: u64, number: u64, encoding: Encoding) -> Result<FaultPlan> {
    let mut rng = rng(seed, number);
    let script = FaultScript::draw(&mut rng, encoding);
    let mut episode = FaultEpisode::new(&script, None);
    let mut calls = Vec::new();
    let ran = panics::catch(|| {
        episode.run_script()?;
        calls = episode.disk.call_kinds();
        crash_checks::inspect(&mut episode, &script, &mut rng.clone())
    });
    if let Err(text) = ran {
        bail!(
            "script {number} fails without a fault, at {}: {text}",
            episode.position
        );
    }
    let mut cases = FaultCase::all(&calls, &mut rng);
    cases.retain(|case| case.call >= episode.calls_before_faults as u64);
    let cases = cases.into_iter().enumerate().collect();
    Ok(FaultPlan {
        number,
        script,
        cases,
    })
}

/// Plays a script with a fault. A panic is a violation too.
fn run_case(seed: u64, plan: &FaultPlan, index: usize, case: &FaultCase, tally: &mut FaultTally) {
    let mut episode = FaultEpisode::new(&plan.script, Some(case));
    let mut rng = rng(seed ^ index as u64, plan.number);
    let outcome = panics::catch(|| {
        if episode.run_script()? {
            crash_checks::inspect(&mut episode, &plan.script, &mut rng)
        } else {
            crash_checks::inspect_uncreated(&mut episode, &plan.script)
        }
    });
    tally.count(case, episode.site);
    if let Err(text) = outcome {
        tally.violations += 1;
        if tally.violations <= violations::PRINTED_MAX {
            let (number, encoding) = (plan.number, plan.script.encoding.in_command());
            violations::print(
                format_args!("{case}; at {}: {text}", episode.position),
                format_args!("faults --seed {seed} --script {number} --case {index}{encoding}"),
            );
        }
    }
}
