//! Kills the victim program at random times, often again during the opening after the last kill.

use super::count::KillCount;
use crate::{
    Failure,
    campaign::{
        child::{ChildProgram, wait_until},
        violations,
    },
    workload::{
        CommitHistory, CommitScript, CrashScope, ExpectedCommits, VictimAccount, VictimPlan,
        inspect,
    },
};
use clap::ValueEnum;
use fastrand::Rng;
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The maximum running time of a program, and the time for opening and the first commits.
const RUN: Duration = Duration::from_millis(60);
const OPENING: Duration = Duration::from_millis(6);

/// Kills `count` times, on one database after another.
pub(super) fn run(directory: &Path, rng: &mut Rng, count: u64) -> Result<KillCount, Failure> {
    let mut done = KillCount::default();
    let (mut early, mut uninspected) = (0, 0);
    while done.kills < count {
        let mut scenario = RandomKillScenario::new(directory, rng)?;
        let kills = rng.u64(1..12).min(count - done.kills);
        for _ in 0..kills {
            let outcome = scenario.kill(rng);
            done.kills += 1;
            match outcome {
                Ok(KillRemains::Nothing) => early += 1,
                Ok(KillRemains::Commits) => {}
                Ok(KillRemains::Unseen) => uninspected += 1,
                Err(Failure(text)) => {
                    done.violations += 1;
                    scenario.report(done.kills, &text)?;
                    break;
                }
            }
        }
        if let Err(Failure(text)) = scenario.inspect() {
            done.violations += 1;
            scenario.report(done.kills, &text)?;
        }
    }
    println!(
        "{} victim programs: {early} ended before the database existed, {uninspected} were \
         followed by another kill without an inspection",
        done.kills
    );
    Ok(done)
}

/// The database after a kill, if it was inspected.
enum KillRemains {
    Nothing,
    Commits,
    Unseen,
}

/// A database on which programs are killed.
struct RandomKillScenario {
    directory: tempfile::TempDir,
    page_size: usize,
    history: CommitHistory,
    expected: ExpectedCommits,
    description: String,
}

impl RandomKillScenario {
    fn new(directory: &Path, rng: &mut Rng) -> Result<Self, Failure> {
        let script = CommitScript::value_variants()[rng.usize(0..3)];
        Ok(Self {
            directory: tempfile::tempdir_in(directory)?,
            page_size: [4096, 4096, 16384][rng.usize(0..3)],
            history: CommitHistory::new(rng.u64(..), script),
            expected: ExpectedCommits::nothing(CrashScope::Process),
            description: String::new(),
        })
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("kill.teak")
    }

    fn copy(&self) -> PathBuf {
        self.directory.path().join("copy")
    }

    fn kill(&mut self, rng: &mut Rng) -> Result<KillRemains, Failure> {
        let delay = match rng.u8(0..3) {
            0 => OPENING,
            _ => RUN,
        };
        let delay = delay.mul_f64(rng.f64());
        let incarnation = self.history.next_incarnation();
        let path = self.path();
        let plan = VictimPlan {
            path: &path,
            seed: self.history.seed(),
            script: self.history.script(),
            incarnation,
            commits: None,
            page_size: self.page_size,
        };
        self.description = format!("{plan:?}, after {:.3} ms", delay.as_secs_f64() * 1e3);
        let begin = Instant::now();
        let child = ChildProgram::start(&plan.words()?)?;
        wait_until(begin + delay);
        let ended = child.kill()?;
        ensure!(
            ended.was_killed(),
            "the program failed without a kill: {}",
            ended.errors
        );
        let account = VictimAccount::read(&ended.output)?;
        self.expected
            .live(&account, &mut self.history, incarnation)?;
        if rng.u8(0..3) == 0 {
            return Ok(KillRemains::Unseen);
        }
        self.inspect()
    }

    /// Inspects the database.
    fn inspect(&mut self) -> Result<KillRemains, Failure> {
        let path = self.path();
        if path.exists() {
            fs::copy(&path, self.copy())?;
        }
        let found = inspect(&path, &mut self.history, &self.expected)?;
        match found.number {
            None => Ok(KillRemains::Nothing),
            Some(number) => {
                self.expected = ExpectedCommits::closed(CrashScope::Process, number + 1);
                Ok(KillRemains::Commits)
            }
        }
    }

    fn report(&self, kill: u64, text: &str) -> Result<(), Failure> {
        println!("violation at kill {kill}: {text}");
        println!("  {}", self.description);
        violations::save_database(&self.copy(), &format!("kill-{kill}.teak"))
    }
}
