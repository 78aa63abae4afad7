//! One database on a disk that loses its power again and again, and one program that commits to it.

use super::{
    boot::BootIdFile,
    disk::{ByteRange, JournalFate, PowerDisk},
};
use crate::{
    Failure,
    campaign::child::{ChildProgram, wait_until},
    workload::{
        CommitHistory, CommitScript, CrashScope, ExpectedCommits, VictimAccount, VictimPlan,
        inspect,
    },
};
use clap::ValueEnum;
use fastrand::Rng;
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use teak::Recovery;

/// How long a program runs at most, and how long creating or opening and the first commits take.
pub(super) const RUN: Duration = Duration::from_millis(120);
pub(super) const OPENING: Duration = Duration::from_millis(10);

/// The state after a power cut.
pub(super) enum PowerCutOutcome {
    NotInspected,
    /// No database.
    Nothing,
    Found {
        number: u64,
        /// Commits that had returned, none of them durable.
        lost_commits: u64,
        recovery: Recovery,
    },
}

/// A database under one program or several.
pub(super) trait PowerCutScenario {
    /// Cuts the power while programs commit. The outer error is one of this test, the inner
    /// one a violation.
    fn cut(
        &mut self,
        rng: &mut Rng,
        must_inspect: bool,
    ) -> Result<Result<PowerCutOutcome, String>, Failure>;

    /// Prints what the last cut was.
    fn report(&self, cut: u64) -> Result<(), Failure>;

    /// Makes room.
    fn end(self: Box<Self>);
}

/// The scene of one program.
pub(super) struct SingleScenario<'a> {
    disk: &'a mut PowerDisk,
    boot: &'a BootIdFile,
    path: PathBuf,
    page_size: usize,
    history: CommitHistory,
    expected: ExpectedCommits,
    /// A description of the last cut.
    description: String,
}

impl<'a> SingleScenario<'a> {
    pub(super) fn new(
        disk: &'a mut PowerDisk,
        boot: &'a BootIdFile,
        rng: &mut Rng,
        number: u64,
    ) -> Self {
        let script = CommitScript::value_variants()[rng.usize(0..3)];
        Self {
            // A name that was never there: a cut brings back what was removed before it.
            path: disk.mount_point().join(format!("power-{number}.teak")),
            page_size: [4096, 4096, 16384][rng.usize(0..3)],
            history: CommitHistory::new(rng.u64(..), script),
            expected: ExpectedCommits::nothing(CrashScope::Machine),
            description: String::new(),
            disk,
            boot,
        }
    }

    /// Runs the program until the power fails. A program that fails before that is a violation.
    fn run_and_cut(
        &mut self,
        rng: &mut Rng,
        delay: Duration,
        incarnation: u32,
    ) -> Result<Result<VictimAccount, String>, Failure> {
        self.boot.renew()?;
        let plan = VictimPlan {
            path: &self.path,
            seed: self.history.seed(),
            script: self.history.script(),
            incarnation,
            commits: None,
            page_size: self.page_size,
        };
        let journal = match rng.u8(0..4) {
            0 => JournalFate::Written,
            _ => JournalFate::Lost,
        };
        self.description = format!(
            "{plan:?}, after {:.3} ms, the journal {journal:?}",
            delay.as_secs_f64() * 1e3,
        );
        let begin = Instant::now();
        let mut child = ChildProgram::start(&plan.words()?)?;
        if rng.bool() {
            wait_until(begin + delay.mul_f64(rng.f64()));
            if self.path.exists() {
                let stretches = stretches(&self.path, rng);
                self.disk.write_back(&self.path, &stretches)?;
            }
        }
        wait_until(begin + delay);
        // A file system that is shut down in the middle of a flush may say that the flush
        // succeeded, which a machine without power cannot do. So what counts is what the program
        // said before: either it is stopped first, or what it says later is no promise.
        let promised = match VictimAccount::read(&child.output())? {
            account if account.found.is_some() && rng.bool() => Some(account.durable),
            _ => {
                child.stop()?;
                None
            }
        };
        let has_ended = child.status()?.is_some();
        if self.path.exists() {
            let stretches = stretches(&self.path, rng);
            self.disk.cut(&self.path, &stretches, journal)?;
        } else {
            self.disk.cut(self.disk.mount_point(), &[], journal)?;
        }
        let ended = child.kill()?;
        let _ = write!(self.description, ", stopped {}", promised.is_none());
        if has_ended {
            return Ok(Err(format!(
                "the program failed before the power did: {}",
                ended.errors
            )));
        }
        let account = VictimAccount::read(&ended.output).map(|account| VictimAccount {
            durable: promised.unwrap_or(account.durable),
            ..account
        });
        Ok(account.map_err(|Failure(text)| text))
    }

    /// Inspects what there is.
    fn inspect(&mut self) -> Result<Result<PowerCutOutcome, String>, Failure> {
        self.boot.renew()?;
        if self.path.exists() {
            fs::copy(&self.path, self.disk.copy())?;
        }
        let found = match inspect(&self.path, &mut self.history, &self.expected) {
            Ok(found) => found,
            Err(Failure(text)) => return Ok(Err(text)),
        };
        let Some(number) = found.number else {
            return Ok(Ok(PowerCutOutcome::Nothing));
        };
        let lost_commits = self.expected.seen.saturating_sub(number);
        self.expected = ExpectedCommits::closed(CrashScope::Machine, number + 1);
        Ok(Ok(PowerCutOutcome::Found {
            number,
            lost_commits,
            recovery: found.recovery,
        }))
    }
}

impl PowerCutScenario for SingleScenario<'_> {
    fn cut(
        &mut self,
        rng: &mut Rng,
        must_inspect: bool,
    ) -> Result<Result<PowerCutOutcome, String>, Failure> {
        let delay = match rng.u8(0..3) {
            0 => OPENING,
            _ => RUN,
        };
        let delay = delay.mul_f64(rng.f64());
        let options = self.disk.filesystem().mount_options();
        let options = options[rng.usize(0..options.len())];
        let incarnation = self.history.next_incarnation();
        let account = self.run_and_cut(rng, delay, incarnation)?;
        self.disk.start_again(options)?;
        let account = match account {
            Ok(account) => account,
            Err(text) => return Ok(Err(text)),
        };
        let lived = self.expected.live(&account, &mut self.history, incarnation);
        if let Err(Failure(text)) = lived {
            return Ok(Err(text));
        }
        if !must_inspect && rng.u8(0..3) == 0 {
            return Ok(Ok(PowerCutOutcome::NotInspected));
        }
        self.inspect()
    }

    fn report(&self, cut: u64) -> Result<(), Failure> {
        println!("  {}", self.description);
        println!("  {:?}", self.expected);
        self.disk.save_copy(cut)
    }

    fn end(self: Box<Self>) {
        self.disk.remove(&self.path);
    }
}

/// Parts of the file, in whole pages of the system: mostly few pages, often the head.
pub(super) fn stretches(path: &Path, rng: &mut Rng) -> Vec<ByteRange> {
    const PAGE: u64 = 4096;
    let pages = fs::metadata(path).map_or(0, |metadata| metadata.len() / PAGE);
    let count = [0, 0, 1, 3, 8][rng.usize(0..5)];
    let draw = |_| {
        let start = match rng.u8(0..3) {
            0 => rng.u64(0..8),
            _ => rng.u64(0..pages.max(1)),
        };
        let len = [1, 1, 4, 64][rng.usize(0..4)];
        (start * PAGE, len * PAGE)
    };
    (0..count).map(draw).collect()
}
