//! One database, to which several programs commit, on a disk that loses its power again and again.
//!
//! Programs come and go while it runs, and some are killed.

use super::{
    Boot,
    disk::{Disk, Journal},
    scene::{OPENING, Outcome, RUN, Scene, stretches},
};
use crate::{
    Failure,
    kill::wait_until,
    workload::{
        Child, Script, keep,
        sharing::{self, Account, Common, Order, Plan, inspect},
    },
};
use clap::ValueEnum;
use fastrand::Rng;
use std::{
    fmt::Write,
    fs,
    ops::RangeInclusive,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Kills before a cut, at most.
const KILLS_MAX: usize = 2;

pub(super) struct Company<'a> {
    disk: &'a mut Disk,
    boot: &'a Boot,
    path: PathBuf,
    /// How many programs there are at once.
    processes: RangeInclusive<usize>,
    order: Order,
    last_member: u32,
    /// What the last cut was, in words.
    what: String,
}

/// What happens while the programs run.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A program begins, for so many commits, or without end.
    Start(Option<u64>),
    /// One of those that run is killed.
    Kill,
    /// Parts of the file are written back.
    WriteBack,
}

/// A program that runs.
struct Running {
    member: u32,
    child: Child,
    /// Whether it ends by itself.
    is_to_end: bool,
}

/// The programs of one boot of the machine.
#[derive(Default)]
struct Crew {
    running: Vec<Running>,
    said: sharing::Boot,
    /// Whether anybody has had the database open.
    has_found: bool,
    /// A program that failed before the power did.
    failure: Option<String>,
}

impl Crew {
    /// Takes in what a program said, of which so much was promised.
    fn add(&mut self, member: u32, account: Account, durable: u64) {
        self.has_found |= !account.found.is_empty();
        self.said.add(member, account, durable);
    }

    fn kill(&mut self, index: usize) -> Result<(), Failure> {
        let Running { member, child, .. } = self.running.swap_remove(index);
        let account = Account::read(member, &child.kill()?.output)?;
        let durable = account.durable;
        self.add(member, account, durable);
        Ok(())
    }

    /// Lets those go that have ended; notes if one should not have.
    fn look(&mut self) -> Result<(), Failure> {
        let mut index = 0;
        while let Some(running) = self.running.get_mut(index) {
            let Some(status) = running.child.status()? else {
                index += 1;
                continue;
            };
            let Running {
                member,
                child,
                is_to_end,
            } = self.running.swap_remove(index);
            let ended = child.wait()?;
            if !(is_to_end && status.success()) {
                let errors = ended.errors;
                let text = format!("member {member} failed before the power did: {errors}");
                // What one of them met may be why the others failed.
                self.failure = Some(match self.failure.take() {
                    Some(before) => format!("{before}; {text}"),
                    None => text,
                });
            }
            let account = Account::read(member, &ended.output)?;
            let durable = account.durable;
            self.add(member, account, durable);
        }
        Ok(())
    }

    /// What those that run were promised so far.
    fn promised(&self) -> Result<Vec<(u32, u64)>, Failure> {
        let read = |running: &Running| {
            let account = Account::read(running.member, &running.child.output())?;
            Ok((running.member, account.durable))
        };
        self.running.iter().map(read).collect()
    }

    /// Whether it is known that somebody has had the database open.
    fn has_been_open(&self) -> Result<bool, Failure> {
        let has_found = |running: &Running| {
            let account = Account::read(running.member, &running.child.output())?;
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

    /// Ends all; `promised` is what they were promised by then, if not all that they say.
    fn end(&mut self, promised: Option<&[(u32, u64)]>) -> Result<(), Failure> {
        for Running { member, child, .. } in std::mem::take(&mut self.running) {
            let account = Account::read(member, &child.kill()?.output)?;
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

impl<'a> Company<'a> {
    pub(super) fn new(
        disk: &'a mut Disk,
        boot: &'a Boot,
        rng: &mut Rng,
        number: u64,
        processes: RangeInclusive<usize>,
    ) -> Self {
        let page_size = [4096, 4096, 16384][rng.usize(0..3)];
        let common = Common {
            seed: rng.u64(..),
            page_size,
            journal_bytes: page_size as u64 * [0, 16, 64, 256][rng.usize(0..4)],
            script: Script::value_variants()[rng.usize(0..3)],
        };
        Self {
            // A name that was never there: a cut brings back what was removed before it.
            path: disk.place().join(format!("company-{number}.teak")),
            order: Order::nothing(common),
            last_member: 0,
            what: String::new(),
            processes,
            disk,
            boot,
        }
    }

    fn next_member(&mut self) -> u32 {
        self.last_member += 1;
        self.last_member
    }

    /// Has programs commit until the power fails. A program that fails before that is a violation.
    fn run_and_cut(&mut self, rng: &mut Rng, moment: Duration) -> Result<Crew, Failure> {
        self.disk.be_for_many()?;
        self.boot.renew()?;
        let happenings = self.draw(rng, moment);
        let journal = match rng.u8(0..4) {
            0 => Journal::Written,
            _ => Journal::Lost,
        };
        let common = self.order.common;
        self.what = format!(
            "{common:?}, members up to {}, {happenings:?}, after {:.3} ms, the journal {journal:?}",
            self.last_member,
            moment.as_secs_f64() * 1e3,
        );
        let mut crew = Crew::default();
        let begin = Instant::now();
        for (when, happening) in happenings {
            wait_until(begin + when);
            self.happen(happening, &mut crew, rng)?;
        }
        wait_until(begin + moment);
        // A file system that is shut down in the middle of a flush may say that the flush
        // succeeded, which a machine without power cannot do. So what counts is what the programs
        // said before: either they are stopped first, or what they say later is no promise.
        let promised = match crew.has_been_open()? && rng.bool() {
            true => Some(crew.promised()?),
            false => {
                crew.stop()?;
                None
            }
        };
        crew.look()?;
        if self.path.exists() {
            let stretches = stretches(&self.path, rng);
            self.disk.cut(&self.path, &stretches, journal)?;
        } else {
            self.disk.cut(self.disk.place(), &[], journal)?;
        }
        crew.end(promised.as_deref())?;
        let _ = write!(self.what, ", stopped {}", promised.is_none());
        Ok(crew)
    }

    /// What happens until the power fails, in order.
    fn draw(&self, rng: &mut Rng, moment: Duration) -> Vec<(Duration, Happening)> {
        let at = |rng: &mut Rng, until: f64| moment.mul_f64(rng.f64() * until);
        let commits = |rng: &mut Rng| rng.bool().then(|| rng.u64(1..60));
        let mut happenings = vec![(Duration::ZERO, Happening::Start(None))];
        for _ in 1..rng.usize(self.processes.clone()) {
            let when = if rng.bool() {
                Duration::ZERO
            } else {
                at(rng, 0.7)
            };
            happenings.push((when, Happening::Start(commits(rng))));
        }
        for _ in 0..rng.usize(0..=KILLS_MAX) {
            let when = at(rng, 1.0);
            happenings.push((when, Happening::Kill));
            if rng.bool() {
                happenings.push((when, Happening::Start(commits(rng))));
            }
        }
        if rng.bool() {
            happenings.push((at(rng, 1.0), Happening::WriteBack));
        }
        happenings.sort_by_key(|(when, _)| *when);
        happenings
    }

    fn happen(
        &mut self,
        happening: Happening,
        crew: &mut Crew,
        rng: &mut Rng,
    ) -> Result<(), Failure> {
        match happening {
            Happening::Start(commits) => {
                let plan = Plan {
                    member: self.next_member(),
                    common: self.order.common,
                    path: &self.path,
                    commits,
                };
                crew.running.push(Running {
                    member: plan.member,
                    child: Child::start(&plan.words()?)?,
                    is_to_end: commits.is_some(),
                });
            }
            Happening::Kill => {
                crew.look()?;
                if !crew.running.is_empty() {
                    crew.kill(rng.usize(0..crew.running.len()))?;
                }
            }
            Happening::WriteBack => {
                if self.path.exists() {
                    let stretches = stretches(&self.path, rng);
                    self.disk.write_back(&self.path, &stretches)?;
                }
            }
        }
        Ok(())
    }

    /// Inspects what there is.
    fn look(&mut self) -> Result<Result<Outcome, String>, Failure> {
        self.boot.renew()?;
        if self.path.exists() {
            fs::copy(&self.path, self.disk.copy())?;
        }
        let (seen, member) = (self.order.seen(), self.next_member());
        let found = match inspect(&self.path, &mut self.order, member) {
            Ok(found) => found,
            Err(Failure(text)) => return Ok(Err(text)),
        };
        Ok(Ok(match found.number {
            None => Outcome::Nothing,
            Some(number) => Outcome::Found {
                number,
                lost_commits: seen.saturating_sub(number),
                recovery: found.recovery,
            },
        }))
    }
}

impl Scene for Company<'_> {
    fn cut(&mut self, rng: &mut Rng, must_look: bool) -> Result<Result<Outcome, String>, Failure> {
        let moment = match rng.u8(0..4) {
            0 => OPENING,
            _ => RUN,
        };
        let moment = moment.mul_f64(rng.f64());
        let options = self.disk.filesystem().mount_options_for_many();
        let options = options[rng.usize(0..options.len())];
        let crew = self.run_and_cut(rng, moment)?;
        self.disk.start_again(options)?;
        if let Some(text) = crew.failure {
            return Ok(Err(text));
        }
        if let Err(Failure(text)) = self.order.live(&crew.said) {
            return Ok(Err(text));
        }
        if !must_look && rng.u8(0..3) == 0 {
            return Ok(Ok(Outcome::NotLookedAt));
        }
        self.look()
    }

    fn tell(&self, cut: u64) -> Result<(), Failure> {
        println!("  {}", self.what);
        println!("  expected was {}", self.order.possible());
        if self.disk.copy().exists() {
            let name = format!("power-{}-{cut}.teak", self.disk.filesystem().name());
            let kept = keep(&self.disk.copy(), &name)?;
            println!("  the last database as it was found: {}", kept.display());
        }
        Ok(())
    }

    fn end(self: Box<Self>) {
        // If a cut brings it back, that costs room and nothing else.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.disk.copy());
    }
}
