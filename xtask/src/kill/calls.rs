//! Kills at every system call. The program runs under `strace`, which kills it instead of its K-th
//! call of a kind, for each kind and every K, until the program ends without a kill.
//!
//! Between two calls, a program only changes persistent state by writing through the mapping.
//! Random kills cover this case.

use super::scenario::{KillCount, KillScenario};
use crate::{
    Failure, Result,
    campaign::{
        child::{ChildEnd, ChildProgram, is_killed},
        violations,
    },
    names::Named,
    workload::{CommitScript, SharedPlan},
};
use clap::ValueEnum;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
    process::{Command, Stdio},
    str::FromStr,
    time::Instant,
};

/// The database at the start of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Start {
    /// No database: the program creates it.
    New,
    /// A database that a program did not close.
    Left,
}

/// All combinations that the program is killed in.
const PROGRAMS: [(Start, CommitScript); 4] = [
    (Start::New, CommitScript::Plain),
    (Start::New, CommitScript::Flusher),
    (Start::Left, CommitScript::Plain),
    (Start::Left, CommitScript::Flusher),
];

/// Commits made before, in an existing database.
const LEFT_COMMITS: u64 = 7;

/// A system call at which a program is killed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KillPoint {
    start: Start,
    script: CommitScript,
    call: String,
    /// Counted from 1, from the start of the program, in each of its threads.
    ordinal: usize,
}

impl fmt::Display for KillPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, script) = (self.start.name(), self.script.name());
        write!(f, "{start}:{script}:{}:{}", self.call, self.ordinal)
    }
}

impl FromStr for KillPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let [start, script, call, ordinal] = text.split(':').collect::<Vec<_>>()[..] else {
                return None;
            };
            Some(Self {
                start: Start::from_str(start, false).ok()?,
                script: CommitScript::from_str(script, false).ok()?,
                call: call.to_owned(),
                ordinal: ordinal.parse().ok()?,
            })
        };
        parse().ok_or_else(|| format!("{text} is not a point such as new:plain:pwrite64:7"))
    }
}

/// The reason why programs cannot be killed at their calls on this machine; `None` if they can.
pub(super) fn why_not() -> Option<String> {
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=exit_group"])
        .args(["-e", "inject=exit_group:signal=SIGKILL:when=1", "true"])
        .stderr(Stdio::null())
        .status();
    match status {
        Err(error) => Some(format!("strace cannot be started ({error})")),
        Ok(status) if is_killed(status) => None,
        Ok(status) => Some(format!(
            "strace did not kill the program ({status}); perhaps tracing is forbidden here"
        )),
    }
}

/// Kills of programs at their system calls. Each program makes this many commits.
pub(super) struct SyscallKills<'a> {
    pub(super) directory: &'a Path,
    pub(super) seed: u64,
    pub(super) commits: u64,
}

impl SyscallKills<'_> {
    /// Kills at every call.
    pub(super) fn run_all(&self) -> Result<KillCount> {
        let begin = Instant::now();
        let mut count = KillCount::default();
        let mut kinds = BTreeSet::new();
        for (start, script) in PROGRAMS {
            for (call, ordinals) in self.list_calls(start, script)? {
                for ordinal in ordinals.first.. {
                    let point = KillPoint {
                        start,
                        script,
                        call: call.clone(),
                        ordinal,
                    };
                    let is_killed = self.kill_and_report(&point, &mut count)?;
                    // How often threads wait for each other differs between runs.
                    if !is_killed || ordinal > 2 * ordinals.last + 8 {
                        break;
                    }
                    kinds.insert(call.clone());
                }
            }
        }
        println!(
            "seed {}: kills at {} kinds of calls: {}",
            self.seed,
            kinds.len(),
            kinds.into_iter().collect::<Vec<_>>().join(" ")
        );
        let rate = count.kills as f64 / begin.elapsed().as_secs_f64();
        println!(
            "every system call: {} kills, {rate:.0} kills/s",
            count.kills
        );
        Ok(count)
    }

    /// Kills at one call, to repeat a violation there.
    pub(super) fn run_one(&self, point: &KillPoint) -> Result {
        let mut count = KillCount::default();
        let is_killed = self.kill_and_report(point, &mut count)?;
        if !is_killed {
            println!("the program ended before that call");
        }
        println!("{} kills, {} violations", count.kills, count.violations);
        ensure!(count.violations == 0, "a kill violated a promise");
        Ok(())
    }

    fn kill_and_report(&self, point: &KillPoint, count: &mut KillCount) -> Result<bool> {
        let mut scenario = self.scenario(point.script)?;
        let outcome = self.kill(point, &mut scenario);
        let is_killed = *outcome.as_ref().unwrap_or(&true);
        count.kills += u64::from(is_killed);
        if let Err(Failure(text)) = outcome {
            count.violations += 1;
            let (seed, commits) = (self.seed, self.commits);
            violations::print(
                format_args!("{point}: {text}"),
                format_args!("kill --seed {seed} --commits {commits} --only {point}"),
            );
            scenario.save(&format!("kill-{point}.teak").replace(':', "-"))?;
        }
        Ok(is_killed)
    }

    /// Returns whether the program was killed. Fails if the database violates a promise.
    fn kill(&self, point: &KillPoint, scenario: &mut KillScenario) -> Result<bool> {
        let KillPoint { call, ordinal, .. } = point;
        let trace = format!("trace={call}");
        let inject = format!("inject={call}:signal=SIGKILL:when={ordinal}");
        let options = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
        let ended = self.run(scenario, point.start, &options)?;
        let is_killed = ended.was_killed();
        ensure!(
            is_killed || ended.status.success(),
            "the program failed without a kill: {}",
            ended.errors
        );
        scenario.take(&ended)?;
        scenario.inspect()?;
        Ok(is_killed)
    }

    /// Runs the program to its end, and returns the calls that it makes after it begins to open the
    /// database.
    fn list_calls(&self, start: Start, script: CommitScript) -> Result<BTreeMap<String, Ordinals>> {
        let mut scenario = self.scenario(script)?;
        let trace = scenario.directory.path().join("trace");
        let ended = self.run(&mut scenario, start, &["-o", &trace.to_string_lossy()])?;
        ensure!(
            ended.status.success(),
            "the program failed without a kill: {}",
            ended.errors
        );
        Ok(ordinals(&String::from_utf8_lossy(&fs::read(trace)?)))
    }

    fn scenario(&self, script: CommitScript) -> Result<KillScenario> {
        let common = SharedPlan {
            seed: self.seed,
            script,
            page_size: 4096,
            journal_bytes: 0,
            has_habits: false,
        };
        KillScenario::new(self.directory, common)
    }

    /// Runs the program under `strace` with these options.
    fn run(&self, scenario: &mut KillScenario, start: Start, options: &[&str]) -> Result<ChildEnd> {
        if start == Start::Left {
            let mut words = scenario.next(Some(LEFT_COMMITS))?;
            words.push("--leave".into());
            let ended = ChildProgram::start(&words)?.wait()?;
            ensure!(ended.status.success(), "{}", ended.errors);
            scenario.take(&ended)?;
        }
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq"]).args(options).arg("--");
        ChildProgram::spawn(strace.args(scenario.next(Some(self.commits))?))?.wait()
    }
}

/// The ordinals of the calls of a kind: the first after the marker, and the last of any thread.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Ordinals {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The write that precedes the opening of the database.
const MARKER: &str = "write(1, \"opening";

/// Counts the calls of a trace by kind.
pub(super) fn ordinals(trace: &str) -> BTreeMap<String, Ordinals> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut found: BTreeMap<String, Ordinals> = BTreeMap::new();
    let mut is_open = false;
    for line in trace.lines() {
        let Some((process, call)) = line.split_once(' ') else {
            continue;
        };
        let Some((name, _)) = call.trim_start().split_once('(') else {
            continue;
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            continue;
        }
        let count = counts.entry((process, name)).or_default();
        *count += 1;
        if is_open {
            let ordinals = found.entry(name.to_owned()).or_insert(Ordinals {
                first: *count,
                last: *count,
            });
            ordinals.first = ordinals.first.min(*count);
            ordinals.last = ordinals.last.max(*count);
        }
        is_open = is_open || call.contains(MARKER);
    }
    found
}
