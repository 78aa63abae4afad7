//! Kills of the program of commits at random moments, often again while what the last kill left is
//! opened.

use super::{Count, wait_until};
use crate::{
    Failure,
    workload::{Child, Crash, Expected, History, Plan, Script, inspect, keep},
};
use clap::ValueEnum;
use fastrand::Rng;
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How long a program runs at most, and how long opening and the first commits take.
const RUN: Duration = Duration::from_millis(60);
const OPENING: Duration = Duration::from_millis(6);

/// Kills `count` times, over one database after the other.
pub(super) fn run(directory: &Path, rng: &mut Rng, count: u64) -> Result<Count, Failure> {
    let mut done = Count::default();
    let (mut early, mut rolled_on) = (0, 0);
    while done.kills < count {
        let mut scene = Scene::new(directory, rng)?;
        let kills = rng.u64(1..12).min(count - done.kills);
        for _ in 0..kills {
            let outcome = scene.kill(rng);
            done.kills += 1;
            match outcome {
                Ok(Left::Nothing) => early += 1,
                Ok(Left::Commits) => {}
                Ok(Left::Unseen) => rolled_on += 1,
                Err(Failure(text)) => {
                    done.violations += 1;
                    scene.tell(done.kills, &text)?;
                    break;
                }
            }
        }
        if let Err(Failure(text)) = scene.look() {
            done.violations += 1;
            scene.tell(done.kills, &text)?;
        }
    }
    println!(
        "{} programs of commits: {early} ended before there was a database, {rolled_on} were \
         followed by another without a look",
        done.kills
    );
    Ok(done)
}

/// What a kill left, as far as it was looked at.
enum Left {
    Nothing,
    Commits,
    Unseen,
}

/// A database that programs are killed over.
struct Scene {
    directory: tempfile::TempDir,
    page_size: usize,
    history: History,
    expected: Expected,
    what: String,
}

impl Scene {
    fn new(directory: &Path, rng: &mut Rng) -> Result<Self, Failure> {
        let script = Script::value_variants()[rng.usize(0..3)];
        Ok(Self {
            directory: tempfile::tempdir_in(directory)?,
            page_size: [4096, 4096, 16384][rng.usize(0..3)],
            history: History::new(rng.u64(..), script),
            expected: Expected::nothing(Crash::Process),
            what: String::new(),
        })
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("kill.teak")
    }

    fn copy(&self) -> PathBuf {
        self.directory.path().join("copy")
    }

    fn kill(&mut self, rng: &mut Rng) -> Result<Left, Failure> {
        let moment = match rng.u8(0..3) {
            0 => OPENING,
            _ => RUN,
        };
        let moment = moment.mul_f64(rng.f64());
        let life = self.history.next_life();
        let path = self.path();
        let plan = Plan {
            path: &path,
            seed: self.history.seed(),
            script: self.history.script(),
            life,
            commits: None,
            page_size: self.page_size,
        };
        self.what = format!("{plan:?}, after {:.3} ms", moment.as_secs_f64() * 1e3);
        let begin = Instant::now();
        let child = Child::start(&plan.words()?)?;
        wait_until(begin + moment);
        let ended = child.kill()?;
        if !ended.was_killed() {
            return Err(Failure(format!("it failed by itself: {}", ended.errors)));
        }
        self.expected
            .live(&ended.account?, &mut self.history, life)?;
        if rng.u8(0..3) == 0 {
            return Ok(Left::Unseen);
        }
        self.look()
    }

    /// Inspects what there is.
    fn look(&mut self) -> Result<Left, Failure> {
        let path = self.path();
        if path.exists() {
            fs::copy(&path, self.copy())?;
        }
        let found = inspect(&path, &mut self.history, &self.expected)?;
        match found.number {
            None => Ok(Left::Nothing),
            Some(number) => {
                self.expected = Expected::closed(Crash::Process, number + 1);
                Ok(Left::Commits)
            }
        }
    }

    fn tell(&self, kill: u64, text: &str) -> Result<(), Failure> {
        println!("violation at kill {kill}: {text}");
        println!("  {}", self.what);
        if self.copy().exists() {
            let kept = keep(&self.copy(), &format!("kill-{kill}.teak"))?;
            println!("  the database as it was found: {}", kept.display());
        }
        Ok(())
    }
}
