//! Kills at every system call. The victim program runs under `strace`, which kills it instead of
//! its K-th call of a kind, for each kind and every K, until the program ends without a kill.
//!
//! Between two calls, a program only changes persistent state by writing through the mapping.
//! Random kills cover this case.

use super::count::KillCount;
use crate::{
    Failure,
    campaign::{
        child::{ChildEnd, ChildProgram, is_killed},
        violations,
    },
    workload::{
        CommitHistory, CommitScript, CrashScope, ExpectedCommits, VictimAccount, VictimPlan,
        inspect,
    },
};
use clap::ValueEnum;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    str::FromStr,
    time::Instant,
};

/// The database at the start of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = match self.start {
            Start::New => "new",
            Start::Left => "left",
        };
        let script = self.script.name();
        write!(formatter, "{start}:{script}:{}:{}", self.call, self.ordinal)
    }
}

impl FromStr for KillPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is not a point such as new:plain:pwrite64:7");
        let [start, script, call, ordinal] = text.split(':').collect::<Vec<_>>()[..] else {
            return Err(wrong());
        };
        let start = match start {
            "new" => Start::New,
            "left" => Start::Left,
            _ => return Err(wrong()),
        };
        let script = CommitScript::from_str(script, false).map_err(|_| wrong())?;
        Ok(Self {
            start,
            script,
            call: call.to_owned(),
            ordinal: ordinal.parse().map_err(|_| wrong())?,
        })
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
    pub(super) fn run_all(&self) -> Result<KillCount, Failure> {
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
    pub(super) fn run_one(&self, point: &KillPoint) -> Result<(), Failure> {
        let mut count = KillCount::default();
        let is_killed = self.kill_and_report(point, &mut count)?;
        if !is_killed {
            println!("the program ended before that call");
        }
        println!("{} kills, {} violations", count.kills, count.violations);
        if count.violations == 0 {
            return Ok(());
        }
        Err(failure!("a kill violated a promise"))
    }

    fn kill_and_report(&self, point: &KillPoint, count: &mut KillCount) -> Result<bool, Failure> {
        let directory = tempfile::tempdir_in(self.directory)?;
        let copy = directory.path().join("copy");
        let outcome = self.kill(point, directory.path(), &copy);
        let is_killed = match &outcome {
            Ok(is_killed) => *is_killed,
            Err(_) => true,
        };
        count.kills += u64::from(is_killed);
        if let Err(Failure(text)) = outcome {
            count.violations += 1;
            println!("violation at {point}: {text}");
            let (seed, commits) = (self.seed, self.commits);
            println!(
                "  repeat it with: cargo xtask kill --seed {seed} --commits {commits} --only {point}"
            );
            let name = format!("kill-{point}.teak").replace(':', "-");
            violations::save_database(&copy, &name)?;
        }
        Ok(is_killed)
    }

    /// Returns whether the program was killed. Fails if the database violates a promise.
    fn kill(&self, point: &KillPoint, directory: &Path, copy: &Path) -> Result<bool, Failure> {
        let mut scenario = self.scenario(point.start, point.script, directory)?;
        let KillPoint { call, ordinal, .. } = point;
        let options = [
            "-o".into(),
            "/dev/null".into(),
            "-e".into(),
            format!("trace={call}"),
            "-e".into(),
            format!("inject={call}:signal=SIGKILL:when={ordinal}"),
        ];
        let ended = scenario.run(&options, self.commits)?;
        let is_killed = ended.was_killed();
        if !is_killed && !ended.status.success() {
            bail!("the program failed without a kill: {}", ended.errors);
        }
        scenario.take(ended)?;
        if scenario.path.exists() {
            fs::copy(&scenario.path, copy)?;
        }
        inspect(&scenario.path, &mut scenario.history, &scenario.expected)?;
        Ok(is_killed)
    }

    /// Runs the program to its end, and returns the calls that it makes after it begins to open the
    /// database.
    fn list_calls(
        &self,
        start: Start,
        script: CommitScript,
    ) -> Result<BTreeMap<String, Ordinals>, Failure> {
        let directory = tempfile::tempdir_in(self.directory)?;
        let scenario = self.scenario(start, script, directory.path())?;
        let trace = directory.path().join("trace");
        let options = ["-o".to_owned(), trace.display().to_string()];
        let ended = scenario.run(&options, self.commits)?;
        if !ended.status.success() {
            let text = format!("the program failed without a kill: {}", ended.errors);
            return Err(Failure(text));
        }
        Ok(ordinals(&String::from_utf8_lossy(&fs::read(trace)?)))
    }

    fn scenario(
        &self,
        start: Start,
        script: CommitScript,
        directory: &Path,
    ) -> Result<SyscallScenario, Failure> {
        let mut scenario = SyscallScenario {
            path: directory.join("kill.teak"),
            history: CommitHistory::new(self.seed, script),
            expected: ExpectedCommits::nothing(CrashScope::Process),
            incarnation: 0,
        };
        if start == Start::Left {
            scenario.leave()?;
        }
        scenario.incarnation = scenario.history.next_incarnation();
        Ok(scenario)
    }
}

/// A database, and one run of the program on it.
struct SyscallScenario {
    path: PathBuf,
    history: CommitHistory,
    expected: ExpectedCommits,
    incarnation: u32,
}

impl SyscallScenario {
    fn plan(&self, commits: u64) -> VictimPlan<'_> {
        VictimPlan {
            path: &self.path,
            seed: self.history.seed(),
            script: self.history.script(),
            incarnation: self.incarnation,
            commits: Some(commits),
            page_size: 4096,
        }
    }

    /// Runs a program that makes some commits and ends without closing the database.
    fn leave(&mut self) -> Result<(), Failure> {
        self.incarnation = self.history.next_incarnation();
        let mut words = self.plan(LEFT_COMMITS).words()?;
        words.push("--leave".into());
        let ended = ChildProgram::start(&words)?.wait()?;
        if !ended.status.success() {
            return Err(Failure(ended.errors));
        }
        self.take(ended)
    }

    fn run(&self, options: &[String], commits: u64) -> Result<ChildEnd, Failure> {
        let mut words: Vec<OsString> = ["strace", "-f", "-qq"].map(OsString::from).into();
        words.extend(options.iter().map(OsString::from));
        words.push("--".into());
        words.extend(self.plan(commits).words()?);
        ChildProgram::start(&words)?.wait()
    }

    fn take(&mut self, ended: ChildEnd) -> Result<(), Failure> {
        let account = VictimAccount::read(&ended.output)?;
        self.expected
            .live(&account, &mut self.history, self.incarnation)
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
