//! A database on a disk with repeated power cuts, and the programs that commit to it.
//!
//! If there are several programs, they start and end in the meantime, and some are killed.

use super::{
    boot::BootIdFile,
    disk::{JournalFate, PowerDisk},
    programs::{ProgramPool, RunningProgram},
};
use crate::{
    Failure, Result,
    campaign::{
        child::{ChildProgram, wait_until},
        database::log_of,
    },
    workload::{CommitOrder, CrashScope, MemberPlan, SharedPlan, inspect},
};
use fastrand::Rng;
use std::{
    fmt::Write,
    ops::RangeInclusive,
    path::PathBuf,
    time::{Duration, Instant},
};
use teak::Recovery;

/// The maximum running time of a program, and the time for creating or opening and the first
/// commits.
const RUN: Duration = Duration::from_millis(120);
const OPENING: Duration = Duration::from_millis(10);
/// The maximum number of kills before a cut.
const KILLS_MAX: usize = 2;

/// The state after a power cut.
pub(super) enum PowerCutOutcome {
    NotInspected,
    /// There is no database.
    Nothing,
    Found {
        number: u64,
        /// Commits that had returned and are lost, none of them durable.
        lost_commits: u64,
        /// The report of opening, if it is known.
        recovery: Option<Recovery>,
        has_log: bool,
    },
}

/// A database under one program or several.
pub(super) struct PowerScenario<'a> {
    disk: &'a mut PowerDisk,
    boot: &'a BootIdFile,
    path: PathBuf,
    /// The number of programs at a time.
    processes: RangeInclusive<usize>,
    order: CommitOrder,
    /// A description of the last cut.
    description: String,
}

/// An event while the programs run.
#[derive(Clone, Copy, Debug)]
enum ProgramEvent {
    /// A program starts, with this many commits or without end.
    Start(Option<u64>),
    /// One of the running programs is killed.
    Kill,
    /// Parts of the file are written back.
    WriteBack,
}

impl<'a> PowerScenario<'a> {
    pub(super) fn new(
        disk: &'a mut PowerDisk,
        boot: &'a BootIdFile,
        rng: &mut Rng,
        number: u64,
        processes: RangeInclusive<usize>,
    ) -> Self {
        let common = SharedPlan::draw(rng, &[0, 16, 64, 256]);
        Self {
            // A name that was never used: a cut restores files that were removed before it.
            path: disk.mount_point().join(format!("power-{number}.teak")),
            order: CommitOrder::nothing(common, CrashScope::Machine),
            description: String::new(),
            processes,
            disk,
            boot,
        }
    }

    fn has_many(&self) -> bool {
        *self.processes.end() > 1
    }

    /// Cuts the power while programs commit. The outer error is a failure of this campaign, the
    /// inner one a violation.
    pub(super) fn cut(
        &mut self,
        rng: &mut Rng,
        must_inspect: bool,
    ) -> Result<Result<PowerCutOutcome>> {
        let longest = match rng.u8(0..4) {
            0 => OPENING,
            _ => RUN,
        };
        let delay = longest.mul_f64(rng.f64());
        let options = self.disk.mount_options(self.has_many());
        let options = options[rng.usize(0..options.len())];
        let pool = self.run_and_cut(rng, delay)?;
        self.disk.start_again(options)?;
        if let Some(text) = pool.failure {
            return Ok(Err(Failure(text)));
        }
        if let Err(wrong) = self.order.live(&pool.accounts) {
            return Ok(Err(wrong));
        }
        if !must_inspect && rng.u8(0..3) == 0 {
            return Ok(Ok(PowerCutOutcome::NotInspected));
        }
        self.boot.renew()?;
        self.disk.copy_database(&self.path)?;
        Ok(self.inspect())
    }

    fn inspect(&mut self) -> Result<PowerCutOutcome> {
        let seen = self.order.seen();
        let has_log = log_of(&self.path).exists();
        let found = inspect(&self.path, &mut self.order)?;
        Ok(match found.number {
            None => PowerCutOutcome::Nothing,
            Some(number) => PowerCutOutcome::Found {
                number,
                lost_commits: seen.saturating_sub(number),
                recovery: Some(found.recovery),
                has_log,
            },
        })
    }

    /// Lets programs commit until the power cut. An earlier failure of a program is a violation.
    fn run_and_cut(&mut self, rng: &mut Rng, delay: Duration) -> Result<ProgramPool> {
        self.disk.prepare(self.has_many())?;
        self.boot.renew()?;
        let events = self.draw(rng, delay);
        let journal = JournalFate::draw(rng);
        let order = &self.order;
        self.description = format!(
            "{:?}, after {}, {events:?}, after {:.3} ms, the journal {journal:?}",
            order.common,
            order.possible(),
            delay.as_secs_f64() * 1e3,
        );
        let mut pool = ProgramPool::default();
        let begin = Instant::now();
        for (when, event) in events {
            wait_until(begin + when);
            self.apply_event(event, &mut pool, rng)?;
        }
        wait_until(begin + delay);
        // A file system that is shut down in the middle of a flush may report success, which a
        // machine without power cannot do. So only output from before counts: either the programs
        // are stopped first, or their later output is no promise.
        let promised = match pool.has_been_open() && rng.bool() {
            true => Some(pool.promised()),
            false => {
                pool.stop()?;
                None
            }
        };
        pool.reap()?;
        self.disk.cut_with_parts(&self.path, journal, rng)?;
        pool.end(promised.as_ref())?;
        let _ = write!(self.description, ", stopped {}", promised.is_none());
        Ok(pool)
    }

    /// The events until the power cut, in order.
    fn draw(&self, rng: &mut Rng, delay: Duration) -> Vec<(Duration, ProgramEvent)> {
        let at = |rng: &mut Rng, until: f64| delay.mul_f64(rng.f64() * until);
        let commits = |rng: &mut Rng| rng.bool().then(|| rng.u64(1..60));
        let mut events = vec![(Duration::ZERO, ProgramEvent::Start(None))];
        for _ in 1..rng.usize(self.processes.clone()) {
            let when = if rng.bool() {
                Duration::ZERO
            } else {
                at(rng, 0.7)
            };
            events.push((when, ProgramEvent::Start(commits(rng))));
        }
        let kills_max = if self.has_many() { KILLS_MAX } else { 0 };
        for _ in 0..rng.usize(0..=kills_max) {
            let when = at(rng, 1.0);
            events.push((when, ProgramEvent::Kill));
            if rng.bool() {
                events.push((when, ProgramEvent::Start(commits(rng))));
            }
        }
        if rng.bool() {
            events.push((at(rng, 1.0), ProgramEvent::WriteBack));
        }
        events.sort_by_key(|(when, _)| *when);
        events
    }

    fn apply_event(
        &mut self,
        event: ProgramEvent,
        pool: &mut ProgramPool,
        rng: &mut Rng,
    ) -> Result {
        match event {
            ProgramEvent::Start(commits) => {
                let plan = MemberPlan {
                    member: self.order.next_member(),
                    common: self.order.common,
                    path: &self.path,
                    commits,
                };
                pool.running.push(RunningProgram {
                    member: plan.member,
                    child: ChildProgram::start(&plan.words()?)?,
                    is_to_end: commits.is_some(),
                });
            }
            ProgramEvent::Kill => {
                pool.reap()?;
                if !pool.running.is_empty() {
                    pool.kill(rng.usize(0..pool.running.len()))?;
                }
            }
            ProgramEvent::WriteBack => self.disk.write_back(&self.path, rng)?,
        }
        Ok(())
    }

    /// Prints a description of the last cut.
    pub(super) fn report(&self, cut: u64) -> Result {
        println!("  {}", self.description);
        println!("  expected: {}", self.order.possible());
        self.disk.save_copy(cut)
    }

    /// Removes the database to free its space.
    pub(super) fn end(self) {
        self.disk.remove(&self.path);
    }
}
