//! A round: some seconds of work on one database, and a look at what is left.

use super::{
    crew::{Crew, Deeds, GLANCE, Plan},
    journal::{Journal, Promises},
    worker::{DATABASE, Role},
};
use crate::{Failure, scratch};
use fastrand::Rng;
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Nobody is stopped for longer.
const STOP_MS_MAX: u64 = 200;

/// Rounds end somehow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Everybody is told to end, and does.
    Told,
    /// Everybody is killed at once.
    Killed,
    /// All but one are killed, and the database is inspected beside that one first.
    OneStays,
}

/// What a round was.
pub(super) struct Outcome {
    pub(super) deeds: Deeds,
    /// Commits that were acknowledged.
    pub(super) commits: u64,
    pub(super) violations: Vec<String>,
    /// Where the files of the round are, if there are violations.
    pub(super) kept: Option<PathBuf>,
}

/// A round while it is played.
struct Round<'a> {
    directory: &'a Path,
    crew: Crew,
    rng: Rng,
    process_count: usize,
    /// Between two things that are done to workers, on average.
    pace: Duration,
}

/// Plays a round of `length` with so many processes. `name` is for the files that are kept if workers
/// did nothing wrong on purpose.
pub(super) fn play(
    plan: Plan,
    mut rng: Rng,
    process_count: usize,
    length: Duration,
    name: &str,
) -> Result<Outcome, Failure> {
    let directory = plan.directory.clone();
    let is_on_purpose = plan.misbehaviour.is_some();
    let pace = Duration::from_millis([40, 50, 60, 120][rng.usize(0..4)]);
    let mut round = Round {
        directory: &directory,
        crew: Crew::new(plan),
        rng,
        process_count,
        pace,
    };
    round.storm(length)?;
    round.end()?;
    let promises = round.promises();
    let commits = promises.as_ref().map_or(0, Promises::commits);
    let mut violations = round.crew.violations;
    violations.extend(promises.err().map(|Failure(text)| text));
    let kept = match violations.is_empty() || is_on_purpose {
        true => None,
        false => Some(keep(&directory, name)?),
    };
    Ok(Outcome {
        deeds: round.crew.deeds,
        commits,
        violations,
        kept,
    })
}

impl Round<'_> {
    fn is_fine(&self) -> bool {
        self.crew.violations.is_empty()
    }

    fn promises(&self) -> Result<Promises, Failure> {
        Journal::open(self.directory)?.promises()
    }

    fn storm(&mut self, length: Duration) -> Result<(), Failure> {
        let end = Instant::now() + length;
        self.fill()?;
        let mut next = Instant::now() + self.pause();
        while self.is_fine() && (Instant::now() < end || self.crew.is_any_slow()) {
            self.crew.tend()?;
            if self.is_fine() && next <= Instant::now() {
                self.act()?;
                self.fill()?;
                next = Instant::now() + self.pause();
            }
            thread::sleep(GLANCE.min(next.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    fn pause(&mut self) -> Duration {
        self.pace.mul_f64(2.0 * self.rng.f64())
    }

    fn fill(&mut self) -> Result<(), Failure> {
        while self.is_fine() && self.crew.len() < self.process_count {
            self.crew.start(Role::Work, &mut self.rng)?;
        }
        Ok(())
    }

    /// Does something to a worker, or to all.
    fn act(&mut self) -> Result<(), Failure> {
        let last = self.crew.len() - 1;
        let index = match self.rng.u8(0..5) {
            // The one that was started last, which may still be opening the database.
            0 => last,
            _ => self.rng.usize(0..=last),
        };
        match self.rng.u8(0..100) {
            _ if self.crew.is_slow(index) => Ok(()),
            0..72 => self.crew.kill(index),
            72..76 if !self.crew.is_any_slow() => self.crew.kill_all(),
            _ => {
                let time = Duration::from_millis(self.rng.u64(0..=STOP_MS_MAX));
                self.crew.stop(index, time)
            }
        }
    }

    fn end(&mut self) -> Result<(), Failure> {
        let ends = [End::Told, End::Killed, End::OneStays];
        match ends[self.rng.usize(0..3)] {
            _ if !self.is_fine() => {}
            End::OneStays if self.process_count > 1 => self.inspect_beside_one()?,
            End::Killed => self.crew.kill_all()?,
            End::Told | End::OneStays => {
                self.crew.tell_all_to_end()?;
                self.crew.wait()?;
            }
        }
        if self.is_fine() {
            self.copy_database()?;
            self.crew.start(Role::Inspect, &mut self.rng)?;
            self.crew.wait()?;
        }
        self.crew.kill_all()
    }

    fn inspect_beside_one(&mut self) -> Result<(), Failure> {
        while self.crew.len() > 1 {
            self.crew.kill(0)?;
        }
        let count = self.crew.deeds.starts;
        self.crew.start(Role::InspectBeside, &mut self.rng)?;
        while self.is_fine() && self.crew.runs(count + 1) {
            self.crew.tend()?;
            thread::sleep(GLANCE);
        }
        if self.is_fine() {
            self.crew.tell_all_to_end()?;
            self.crew.wait()?;
        }
        Ok(())
    }

    /// Keeps the database as the workers left it, for the case that it is not as it must be.
    fn copy_database(&self) -> Result<(), Failure> {
        let copy = format!("{DATABASE}-as-left");
        match fs::copy(self.directory.join(DATABASE), self.directory.join(copy)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Copies all files of a round to where they stay.
fn keep(directory: &Path, name: &str) -> Result<PathBuf, Failure> {
    let kept = scratch::workspace().join("target/violations").join(name);
    fs::create_dir_all(&kept)?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), kept.join(entry.file_name()))?;
        }
    }
    Ok(kept)
}
