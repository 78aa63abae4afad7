//! Kills a committing program at random times, often again during the opening after the last kill.

use super::scenario::{KillCount, KillScenario};
use crate::{
    Failure, Result,
    campaign::child::{ChildProgram, wait_until},
    workload::SharedPlan,
};
use fastrand::Rng;
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// The maximum running time of a program, and the time for opening and the first commits.
const RUN: Duration = Duration::from_millis(60);
const OPENING: Duration = Duration::from_millis(6);

/// Kills `count` times, on one database after another.
pub(super) fn run(directory: &Path, rng: &mut Rng, count: u64) -> Result<KillCount> {
    let mut done = KillCount::default();
    let (mut early, mut uninspected) = (0, 0);
    while done.kills < count {
        let mut scenario = KillScenario::new(directory, SharedPlan::draw(rng, &[0]))?;
        for left in (0..rng.u64(1..12).min(count - done.kills)).rev() {
            done.kills += 1;
            let outcome = kill(&mut scenario, rng).and_then(|()| {
                if left > 0 && rng.u8(0..3) == 0 {
                    uninspected += 1;
                } else {
                    early += u64::from(scenario.inspect()?.is_none());
                }
                Ok(())
            });
            if let Err(Failure(text)) = outcome {
                done.violations += 1;
                println!("violation at kill {}: {text}", done.kills);
                println!("  {}", scenario.description);
                scenario.save(&format!("kill-{}.teak", done.kills))?;
                break;
            }
        }
    }
    println!(
        "{} programs: {early} ended before the database existed, {uninspected} were followed by \
         another kill without an inspection",
        done.kills
    );
    Ok(done)
}

/// Kills the next program.
fn kill(scenario: &mut KillScenario, rng: &mut Rng) -> Result {
    let longest = match rng.u8(0..3) {
        0 => OPENING,
        _ => RUN,
    };
    let delay = longest.mul_f64(rng.f64());
    let words = scenario.next(None)?;
    scenario.description += &format!(", after {:.3} ms", delay.as_secs_f64() * 1e3);
    let begin = Instant::now();
    let child = ChildProgram::start(&words)?;
    wait_until(begin + delay);
    let ended = child.kill()?;
    ensure!(
        ended.was_killed(),
        "the program failed without a kill: {}",
        ended.errors
    );
    scenario.take(&ended)
}
