//! Several programs that commit to one database on a disk with repeated power cuts.
//!
//! Programs start and end in the meantime, and some are killed.

use super::{
    boot::BootIdFile,
    disk::{JournalFate, PowerDisk},
    scenario::{OPENING, PowerCutOutcome, PowerCutScenario, RUN},
};
use crate::{
    Failure,
    campaign::child::{ChildProgram, wait_until},
    workload::{
        CommitScript,
        sharing::{self, CommitOrder, MemberAccount, MemberPlan, SharedPlan, inspect},
    },
};
use clap::ValueEnum;
use fastrand::Rng;
use std::{
    fmt::Write,
    ops::RangeInclusive,
    path::PathBuf,
    time::{Duration, Instant},
};

/// The maximum number of kills before a cut.
const KILLS_MAX: usize = 2;

pub(super) struct SharedScenario<'a> {
    disk: &'a mut PowerDisk,
    boot: &'a BootIdFile,
    path: PathBuf,
    /// The number of programs at a time.
    processes: RangeInclusive<usize>,
    order: CommitOrder,
    last_member: u32,
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

/// A running program.
struct RunningProgram {
    member: u32,
    child: ChildProgram,
    /// Whether it ends by itself.
    is_to_end: bool,
}

/// The programs of one boot of the machine.
#[derive(Default)]
struct ProgramPool {
    running: Vec<RunningProgram>,
    accounts: sharing::BootAccounts,
    /// Whether a program has had the database open.
    has_found: bool,
    /// A program that failed before the power cut.
    failure: Option<String>,
}

impl ProgramPool {
    /// Adds the output of a program, which was promised commits up to `durable`.
    fn add(&mut self, member: u32, account: MemberAccount, durable: u64) {
        self.has_found |= !account.found.is_empty();
        self.accounts.add(member, account, durable);
    }

    fn kill(&mut self, index: usize) -> Result<(), Failure> {
        let RunningProgram { member, child, .. } = self.running.swap_remove(index);
        let account = MemberAccount::read(member, &child.kill()?.output)?;
        let durable = account.durable;
        self.add(member, account, durable);
        Ok(())
    }

    /// Removes the programs that have ended. Notes those that should not have ended.
    fn reap(&mut self) -> Result<(), Failure> {
        let mut index = 0;
        while let Some(running) = self.running.get_mut(index) {
            let Some(status) = running.child.status()? else {
                index += 1;
                continue;
            };
            let RunningProgram {
                member,
                child,
                is_to_end,
            } = self.running.swap_remove(index);
            let ended = child.wait()?;
            if !(is_to_end && status.success()) {
                let errors = ended.errors;
                let text = format!("member {member} failed before the power did: {errors}");
                // The finding of one program may explain the failure of the others.
                self.failure = Some(match self.failure.take() {
                    Some(before) => format!("{before}; {text}"),
                    None => text,
                });
            }
            let account = MemberAccount::read(member, &ended.output)?;
            let durable = account.durable;
            self.add(member, account, durable);
        }
        Ok(())
    }

    /// The promises to the running programs so far.
    fn promised(&self) -> Result<Vec<(u32, u64)>, Failure> {
        let read = |running: &RunningProgram| {
            let account = MemberAccount::read(running.member, &running.child.output())?;
            Ok((running.member, account.durable))
        };
        self.running.iter().map(read).collect()
    }

    /// Whether a program is known to have had the database open.
    fn has_been_open(&self) -> Result<bool, Failure> {
        let has_found = |running: &RunningProgram| {
            let account = MemberAccount::read(running.member, &running.child.output())?;
            Ok(!account.found.is_empty())
        };
        let found: Result<Vec<bool>, Failure> = self.running.iter().map(has_found).collect();
        Ok(self.has_found || found?.contains(&true))
    }

    fn stop(&self) -> Result<(), Failure> {
        self.running
            .iter()
            .try_for_each(|running| running.child.stop())
    }

    /// Ends all programs. `promised` has the promises by then, if later output does not count.
    fn end(&mut self, promised: Option<&[(u32, u64)]>) -> Result<(), Failure> {
        for RunningProgram { member, child, .. } in std::mem::take(&mut self.running) {
            let account = MemberAccount::read(member, &child.kill()?.output)?;
            let durable = match promised {
                None => account.durable,
                Some(promised) => {
                    let of_member = promised.iter().find(|(other, _)| *other == member);
                    of_member.map_or(0, |(_, durable)| *durable)
                }
            };
            self.add(member, account, durable);
        }
        Ok(())
    }
}

impl<'a> SharedScenario<'a> {
    pub(super) fn new(
        disk: &'a mut PowerDisk,
        boot: &'a BootIdFile,
        rng: &mut Rng,
        number: u64,
        processes: RangeInclusive<usize>,
    ) -> Self {
        let page_size = [4096, 4096, 16384][rng.usize(0..3)];
        let common = SharedPlan {
            seed: rng.u64(..),
            page_size,
            journal_bytes: page_size as u64 * [0, 16, 64, 256][rng.usize(0..4)],
            script: CommitScript::value_variants()[rng.usize(0..3)],
        };
        Self {
            // A name that was never used: a cut restores files that were removed before it.
            path: disk.mount_point().join(format!("shared-{number}.teak")),
            order: CommitOrder::nothing(common),
            last_member: 0,
            description: String::new(),
            processes,
            disk,
            boot,
        }
    }

    fn next_member(&mut self) -> u32 {
        self.last_member += 1;
        self.last_member
    }

    /// Lets programs commit until the power cut. An earlier failure of a program is a violation.
    fn run_and_cut(&mut self, rng: &mut Rng, delay: Duration) -> Result<ProgramPool, Failure> {
        self.disk.prepare_for_many()?;
        self.boot.renew()?;
        let events = self.draw(rng, delay);
        let journal = JournalFate::draw(rng);
        let common = self.order.common;
        self.description = format!(
            "{common:?}, members up to {}, {events:?}, after {:.3} ms, the journal {journal:?}",
            self.last_member,
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
        let promised = match pool.has_been_open()? && rng.bool() {
            true => Some(pool.promised()?),
            false => {
                pool.stop()?;
                None
            }
        };
        pool.reap()?;
        self.disk.cut_with_parts(&self.path, journal, rng)?;
        pool.end(promised.as_deref())?;
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
        for _ in 0..rng.usize(0..=KILLS_MAX) {
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
    ) -> Result<(), Failure> {
        match event {
            ProgramEvent::Start(commits) => {
                let plan = MemberPlan {
                    member: self.next_member(),
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

    /// Inspects the database.
    fn inspect(&mut self) -> Result<Result<PowerCutOutcome, String>, Failure> {
        self.boot.renew()?;
        self.disk.copy_database(&self.path)?;
        let (seen, member) = (self.order.seen(), self.next_member());
        let found = match inspect(&self.path, &mut self.order, member) {
            Ok(found) => found,
            Err(Failure(text)) => return Ok(Err(text)),
        };
        Ok(Ok(match found.number {
            None => PowerCutOutcome::Nothing,
            Some(number) => PowerCutOutcome::Found {
                number,
                lost_commits: seen.saturating_sub(number),
                recovery: found.recovery,
            },
        }))
    }
}

impl PowerCutScenario for SharedScenario<'_> {
    fn cut(
        &mut self,
        rng: &mut Rng,
        must_inspect: bool,
    ) -> Result<Result<PowerCutOutcome, String>, Failure> {
        let delay = match rng.u8(0..4) {
            0 => OPENING,
            _ => RUN,
        };
        let delay = delay.mul_f64(rng.f64());
        let options = self.disk.filesystem().mount_options_for_many();
        let options = options[rng.usize(0..options.len())];
        let pool = self.run_and_cut(rng, delay)?;
        self.disk.start_again(options)?;
        if let Some(text) = pool.failure {
            return Ok(Err(text));
        }
        if let Err(Failure(text)) = self.order.live(&pool.accounts) {
            return Ok(Err(text));
        }
        if !must_inspect && rng.u8(0..3) == 0 {
            return Ok(Ok(PowerCutOutcome::NotInspected));
        }
        self.inspect()
    }

    fn report(&self, cut: u64) -> Result<(), Failure> {
        println!("  {}", self.description);
        println!("  expected: {}", self.order.possible());
        self.disk.save_copy(cut)
    }

    fn end(self: Box<Self>) {
        self.disk.remove(&self.path);
    }
}
