//! The workers of a round, as their parent sees them.

use super::{
    arguments::Role,
    misbehaviour::Misbehaviour,
    progress::{self, ProgressWatch},
};
use crate::{Result, commands::signal, names::Named};
use fastrand::Rng;
use rustix::process::Signal;
use std::{
    env,
    fs::{self, File},
    io,
    path::PathBuf,
    process::{self, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How often the parent checks that all threads make progress.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// A worker without progress for this part of the limit is not killed, to see whether it continues.
const SLOW_PART: u32 = 20;
/// How often the parent checks whether a worker has ended.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The parameters of the workers of a round.
#[derive(Clone, Debug)]
pub(super) struct WorkerPlan {
    pub(super) directory: PathBuf,
    pub(super) page_size: usize,
    pub(super) fork: bool,
    pub(super) meddle: bool,
    pub(super) misbehaviour: Option<Misbehaviour>,
    /// Time after which a thread without progress is stuck.
    pub(super) patience: Duration,
    /// The program of the workers; `None` for this one.
    pub(super) worker: Option<PathBuf>,
    /// How long a killed worker may keep its locks.
    pub(super) settle: Duration,
    /// How many times longer than usual workers live.
    pub(super) slowness: u32,
}

/// The counts of events of workers.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct WorkerEvents {
    pub(super) starts: u64,
    pub(super) kills: u64,
    pub(super) stops: u64,
}

/// All running workers.
pub(super) struct WorkerPool {
    plan: WorkerPlan,
    workers: Vec<WorkerProcess>,
    last_check: Instant,
    pub(super) events: WorkerEvents,
    /// The violations found.
    pub(super) violations: Vec<String>,
}

/// A running or stopped worker.
struct WorkerProcess {
    number: u64,
    role: Role,
    process: process::Child,
    watch: ProgressWatch,
    errors: PathBuf,
    stopped_until: Option<Instant>,
    is_slow: bool,
}

impl WorkerPool {
    pub(super) fn new(plan: WorkerPlan) -> Self {
        Self {
            plan,
            workers: Vec::new(),
            last_check: Instant::now(),
            events: WorkerEvents::default(),
            violations: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.workers.len()
    }

    /// Whether the worker with this number is still running.
    pub(super) fn runs(&self, number: u64) -> bool {
        self.workers.iter().any(|worker| worker.number == number)
    }

    /// Whether the worker at `index` seems to be stuck.
    pub(super) fn is_slow(&self, index: usize) -> bool {
        self.workers[index].is_slow
    }

    pub(super) fn is_any_slow(&self) -> bool {
        self.workers.iter().any(|worker| worker.is_slow)
    }

    /// Starts one more worker.
    pub(super) fn start(&mut self, role: Role, rng: &mut Rng) -> Result {
        self.events.starts += 1;
        let number = self.events.starts;
        let worker = WorkerProcess::start(&self.plan, role, number, rng.u64(..))?;
        self.workers.push(worker);
        Ok(())
    }

    /// Kills the worker at `index` at any point of its work, and waits for its end.
    pub(super) fn kill(&mut self, index: usize) -> Result {
        let mut worker = self.workers.swap_remove(index);
        worker.process.kill()?;
        let status = worker.process.wait()?;
        self.events.kills += 1;
        let is_expected = ended_by(status, Signal::KILL) || status.success();
        self.reap(&mut worker, status, is_expected)
    }

    /// Kills all workers at almost the same time.
    pub(super) fn kill_all(&mut self) -> Result {
        for worker in &mut self.workers {
            worker.process.kill()?;
        }
        while !self.workers.is_empty() {
            self.kill(0)?;
        }
        Ok(())
    }

    /// Stops the worker at `index` for some time.
    pub(super) fn stop(&mut self, index: usize, time: Duration) -> Result {
        let worker = &mut self.workers[index];
        signal(&worker.process, Signal::STOP)?;
        worker.stopped_until = Some(Instant::now() + time);
        self.events.stops += 1;
        Ok(())
    }

    /// Resumes all workers, and asks them to end.
    pub(super) fn ask_all_to_end(&mut self) -> Result {
        for worker in &mut self.workers {
            worker.resume()?;
            drop(worker.process.stdin.take());
        }
        Ok(())
    }

    /// Waits until no worker is left, or there is a violation.
    pub(super) fn wait(&mut self) -> Result {
        while !self.workers.is_empty() && self.violations.is_empty() {
            self.supervise()?;
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Resumes workers that were stopped long enough, and looks for those that have ended or are
    /// stuck.
    pub(super) fn supervise(&mut self) -> Result {
        let now = Instant::now();
        for worker in &mut self.workers {
            if worker.stopped_until.is_some_and(|end| end <= now) {
                worker.resume()?;
            }
        }
        self.reap_ended()?;
        if self.last_check.elapsed() > CHECK_INTERVAL {
            self.last_check = now;
            self.find_stuck();
        }
        Ok(())
    }

    /// Removes the workers that have ended. None may end before it is asked to.
    fn reap_ended(&mut self) -> Result {
        for index in (0..self.workers.len()).rev() {
            if let Some(status) = self.workers[index].process.try_wait()? {
                let mut worker = self.workers.swap_remove(index);
                let is_expected = status.success() && worker.may_end();
                self.reap(&mut worker, status, is_expected)?;
            }
        }
        Ok(())
    }

    fn find_stuck(&mut self) {
        let patience = self.plan.patience;
        for worker in &mut self.workers {
            worker.is_slow = worker.stopped_until.is_none()
                && worker.watch.stuck(patience / SLOW_PART).is_some();
        }
        let running = self.workers.iter_mut().filter(|worker| worker.is_slow);
        let stuck: Vec<String> = running
            .filter_map(|worker| Some((worker.watch.stuck(patience)?, worker.number)))
            .map(|(text, number)| format!("worker {number}: {text}"))
            .collect();
        if stuck.is_empty() {
            return;
        }
        let all = self.workers.iter_mut().map(|worker| {
            let (number, text) = (worker.number, worker.watch.text());
            format!("\n    worker {number}: {text}")
        });
        let all: String = all.collect();
        self.violations
            .push(format!("{}; all threads:{all}", stuck.join(", ")));
    }

    /// Records the output of a worker that has ended.
    fn reap(
        &mut self,
        worker: &mut WorkerProcess,
        status: ExitStatus,
        is_expected: bool,
    ) -> Result {
        let errors = fs::read(&worker.errors)?;
        if is_expected && errors.is_empty() {
            return worker.clear();
        }
        let errors = String::from_utf8_lossy(&errors);
        self.violations.push(format!(
            "worker {} ({}, {status}): {} [{}]",
            worker.number,
            worker.role.name(),
            errors.trim(),
            worker.watch.text()
        ));
        Ok(())
    }
}

impl WorkerProcess {
    fn start(plan: &WorkerPlan, role: Role, number: u64, seed: u64) -> Result<Self> {
        let errors = plan.directory.join(format!("errors-{number}"));
        let mut command = match &plan.worker {
            Some(program) => Command::new(program),
            None => Command::new(env::current_exe()?),
        };
        if let Some(error) = teak::testing::planted() {
            command.args(["--planted", error.name()]);
        }
        command.arg("storm-worker");
        command.arg("--directory").arg(&plan.directory);
        command.args(["--number", &number.to_string()]);
        command.args(["--seed", &seed.to_string()]);
        command.args(["--page-size", &plan.page_size.to_string()]);
        command.args(["--role", &role.name()]);
        if plan.fork {
            command.arg("--fork");
        }
        if plan.meddle {
            command.arg("--meddle");
        }
        if let Some(misbehaviour) = plan.misbehaviour {
            command.args(["--break", &misbehaviour.name()]);
        }
        let process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(&errors)?)
            .spawn()?;
        Ok(Self {
            number,
            role,
            process,
            watch: ProgressWatch::new(progress::path(&plan.directory, number)),
            errors,
            stopped_until: None,
            is_slow: false,
        })
    }

    /// Whether it was asked to end, or ends by itself.
    fn may_end(&self) -> bool {
        self.role != Role::Work || self.process.stdin.is_none()
    }

    fn resume(&mut self) -> Result {
        if self.stopped_until.take().is_some() {
            signal(&self.process, Signal::CONT)?;
            self.watch.restart();
        }
        Ok(())
    }

    /// Removes what it wrote for its parent.
    fn clear(&self) -> Result {
        fs::remove_file(&self.errors)?;
        match fs::remove_file(self.watch.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // Most workers have ended by now. The others must not outlive the campaign.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn ended_by(status: ExitStatus, signal: Signal) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(signal.as_raw())
}
