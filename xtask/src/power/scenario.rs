//! One database on a disk with repeated power cuts, and one program that commits to it.

use super::{
    boot::BootIdFile,
    disk::{JournalFate, PowerDisk},
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
    path::PathBuf,
    time::{Duration, Instant},
};
use teak::Recovery;

/// The maximum running time of a program, and the time for creating or opening and the first
/// commits.
pub(super) const RUN: Duration = Duration::from_millis(120);
pub(super) const OPENING: Duration = Duration::from_millis(10);

/// The state after a power cut.
pub(super) enum PowerCutOutcome {
    NotInspected,
    /// There is no database.
    Nothing,
    Found {
        number: u64,
        /// Commits that had returned and are lost, none of them durable.
        lost_commits: u64,
        recovery: Recovery,
    },
}

/// A database under one program or several.
pub(super) trait PowerCutScenario {
    /// Cuts the power while programs commit. The outer error is a failure of this campaign, the
    /// inner one a violation.
    fn cut(
        &mut self,
        rng: &mut Rng,
        must_inspect: bool,
    ) -> Result<Result<PowerCutOutcome, String>, Failure>;

    /// Prints a description of the last cut.
    fn report(&self, cut: u64) -> Result<(), Failure>;

    /// Removes the database to free its space.
    fn end(self: Box<Self>);
}

/// A scenario with one program.
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
            // A name that was never used: a cut restores files that were removed before it.
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
        let journal = JournalFate::draw(rng);
        self.description = format!(
            "{plan:?}, after {:.3} ms, the journal {journal:?}",
            delay.as_secs_f64() * 1e3,
        );
        let begin = Instant::now();
        let mut child = ChildProgram::start(&plan.words()?)?;
        if rng.bool() {
            wait_until(begin + delay.mul_f64(rng.f64()));
            self.disk.write_back(&self.path, rng)?;
        }
        wait_until(begin + delay);
        // A file system that is shut down in the middle of a flush may report success, which a
        // machine without power cannot do. So only output from before counts: either the program is
        // stopped first, or its later output is no promise.
        let promised = match VictimAccount::read(&child.output())? {
            account if account.found.is_some() && rng.bool() => Some(account.durable),
            _ => {
                child.stop()?;
                None
            }
        };
        let has_ended = child.status()?.is_some();
        self.disk.cut_with_parts(&self.path, journal, rng)?;
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

    /// Inspects the database.
    fn inspect(&mut self) -> Result<Result<PowerCutOutcome, String>, Failure> {
        self.boot.renew()?;
        self.disk.copy_database(&self.path)?;
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
