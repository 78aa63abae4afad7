//! A round: some seconds of work on one database, and an inspection afterwards.

use super::{
    arguments::{DATABASE, Role},
    journal::{Promises, StormJournal},
    process_pool::{POLL_INTERVAL, WorkerEvents, WorkerPlan, WorkerPool},
};
use crate::{Failure, Result, campaign::violations};
use fastrand::Rng;
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The longest stop of a worker.
const STOP_MS_MAX: u64 = 200;

/// The possible ends of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RoundEnd {
    /// All workers are asked to end, and do so.
    Asked,
    /// All workers are killed at once.
    Killed,
    /// All but one are killed, and the database is first inspected while that one runs.
    OneStays,
}

/// The result of a round.
pub(super) struct RoundOutcome {
    pub(super) events: WorkerEvents,
    /// Commits that were acknowledged.
    pub(super) commits: u64,
    pub(super) violations: Vec<String>,
    /// The directory of the saved files of the round, if there are violations.
    pub(super) kept: Option<PathBuf>,
}

/// A round while it is played.
struct Round<'a> {
    directory: &'a Path,
    pool: WorkerPool,
    rng: Rng,
    process_count: usize,
    /// The average time between two actions on workers.
    interval: Duration,
    /// How long a killed worker may keep its locks.
    settle: Duration,
}

/// Plays a round of `length` with this number of processes. `name` is for the files, which are
/// saved if workers did nothing wrong on purpose.
pub(super) fn run_round(
    plan: WorkerPlan,
    mut rng: Rng,
    process_count: usize,
    length: Duration,
    name: &str,
) -> Result<RoundOutcome> {
    let directory = plan.directory.clone();
    let is_on_purpose = plan.misbehaviour.is_some();
    let interval = Duration::from_millis([40, 50, 60, 120][rng.usize(0..4)]) * plan.slowness;
    let settle = plan.settle;
    let mut round = Round {
        directory: &directory,
        pool: WorkerPool::new(plan),
        rng,
        process_count,
        interval,
        settle,
    };
    round.storm(length)?;
    round.end()?;
    let promises = round.promises();
    let commits = promises.as_ref().map_or(0, Promises::commits);
    let mut violations = round.pool.violations;
    violations.extend(promises.err().map(|Failure(text)| text));
    let kept = match violations.is_empty() || is_on_purpose {
        true => None,
        false => Some(violations::save_all(&directory, name)?),
    };
    Ok(RoundOutcome {
        events: round.pool.events,
        commits,
        violations,
        kept,
    })
}

impl Round<'_> {
    fn is_fine(&self) -> bool {
        self.pool.violations.is_empty()
    }

    fn promises(&self) -> Result<Promises> {
        StormJournal::open(self.directory)?.promises()
    }

    fn storm(&mut self, length: Duration) -> Result {
        let end = Instant::now() + length;
        self.fill()?;
        let mut next = Instant::now() + self.pause();
        while self.is_fine() && (Instant::now() < end || self.pool.is_any_slow()) {
            self.pool.supervise()?;
            if self.is_fine() && next <= Instant::now() {
                self.act()?;
                self.fill()?;
                next = Instant::now() + self.pause();
            }
            thread::sleep(POLL_INTERVAL.min(next.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    fn pause(&mut self) -> Duration {
        self.interval.mul_f64(2.0 * self.rng.f64())
    }

    fn fill(&mut self) -> Result {
        while self.is_fine() && self.pool.len() < self.process_count {
            self.pool.start(Role::Work, &mut self.rng)?;
        }
        Ok(())
    }

    /// Performs an action on a worker, or on all.
    fn act(&mut self) -> Result {
        let last = self.pool.len() - 1;
        let index = match self.rng.u8(0..5) {
            // The worker that was started last, which may still be opening the database.
            0 => last,
            _ => self.rng.usize(0..=last),
        };
        match self.rng.u8(0..100) {
            _ if self.pool.is_slow(index) => Ok(()),
            0..72 => self.pool.kill(index),
            72..76 if !self.pool.is_any_slow() => self.pool.kill_all(),
            _ => {
                let time = Duration::from_millis(self.rng.u64(0..=STOP_MS_MAX));
                self.pool.stop(index, time)
            }
        }
    }

    fn end(&mut self) -> Result {
        let ends = [RoundEnd::Asked, RoundEnd::Killed, RoundEnd::OneStays];
        match ends[self.rng.usize(0..3)] {
            _ if !self.is_fine() => {}
            RoundEnd::OneStays if self.process_count > 1 => self.inspect_during_work()?,
            RoundEnd::Killed => self.pool.kill_all()?,
            RoundEnd::Asked | RoundEnd::OneStays => {
                self.pool.ask_all_to_end()?;
                self.pool.wait()?;
            }
        }
        if self.is_fine() {
            thread::sleep(self.settle);
            self.copy_database()?;
            self.pool.start(Role::Inspect, &mut self.rng)?;
            self.pool.wait()?;
        }
        self.pool.kill_all()
    }

    fn inspect_during_work(&mut self) -> Result {
        while self.pool.len() > 1 {
            self.pool.kill(0)?;
        }
        thread::sleep(self.settle);
        let count = self.pool.events.starts;
        self.pool.start(Role::InspectDuringWork, &mut self.rng)?;
        while self.is_fine() && self.pool.runs(count + 1) {
            self.pool.supervise()?;
            thread::sleep(POLL_INTERVAL);
        }
        if self.is_fine() {
            self.pool.ask_all_to_end()?;
            self.pool.wait()?;
        }
        Ok(())
    }

    /// Keeps a copy of the database after the end of the workers, in case it violates a promise.
    fn copy_database(&self) -> Result {
        let copy = format!("{DATABASE}-as-left");
        match fs::copy(self.directory.join(DATABASE), self.directory.join(copy)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}
