//! All that continuous integration does, in one command: each step is named, shown and timed.

use crate::{Failure, scratch};
use std::{
    env,
    ffi::OsString,
    process::Command,
    time::{Duration, Instant},
};

/// Operations of the model and kills: as many as make a run of a minute or so.
const MODEL_OPERATIONS: &str = "1000000";
const KILL_COUNT: &str = "200";
const BENCH_RECORDS: &str = "2000";

/// What a step runs.
enum Program {
    Cargo,
    /// This program, with another task.
    Xtask,
}

struct Step {
    name: &'static str,
    program: Program,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const fn cargo(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step {
        name,
        program: Program::Cargo,
        arguments,
        environment: &[],
    }
}

const fn xtask(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step {
        name,
        program: Program::Xtask,
        arguments,
        environment: &[],
    }
}

/// The cheap steps first.
const STEPS: &[Step] = &[
    cargo("format", &["fmt", "--all", "--check"]),
    xtask("layers", &["layers"]),
    cargo(
        "lints",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
    ),
    cargo(
        "tests",
        &[
            "test",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--examples",
        ],
    ),
    cargo("documentation tests", &["test", "--workspace", "--doc"]),
    Step {
        name: "documentation",
        program: Program::Cargo,
        arguments: &["doc", "--workspace", "--no-deps"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    xtask(
        "model",
        &["model", "--ops", MODEL_OPERATIONS, "--seed", "1"],
    ),
    xtask("kill", &["kill", "--count", KILL_COUNT, "--seed", "1"]),
    cargo(
        "example",
        &[
            "run",
            "--release",
            "--package",
            "teak",
            "--example",
            "coins",
        ],
    ),
    cargo(
        "benchmark",
        &[
            "run",
            "--release",
            "--package",
            "teak-bench",
            "--",
            "quick",
            "--records",
            BENCH_RECORDS,
        ],
    ),
];

/// Runs every step, also behind one that failed, so that one run tells all.
pub(crate) fn run() -> Result<(), Failure> {
    // Looked up now, since a step may build this program anew.
    let this = env::current_exe()?;
    let begin = Instant::now();
    let mut times = Vec::new();
    let mut failed = Vec::new();
    for step in STEPS {
        println!("\n==> {}: {}", step.name, step.command_line());
        let begin = Instant::now();
        let is_success = step.run(this.as_os_str().to_owned())?;
        println!(
            "    {} after {}",
            if is_success { "passed" } else { "FAILED" },
            seconds(begin.elapsed())
        );
        times.push((step.name, begin.elapsed()));
        if !is_success {
            failed.push(step.name);
        }
    }
    println!();
    for (name, time) in times {
        println!("{name:<20} {:>9}", seconds(time));
    }
    let total = seconds(begin.elapsed());
    if failed.is_empty() {
        println!("ci: all {} steps passed in {total}", STEPS.len());
        return Ok(());
    }
    println!(
        "ci: {} of {} steps FAILED in {total}: {}",
        failed.len(),
        STEPS.len(),
        failed.join(", ")
    );
    Err(Failure("not all steps passed".to_owned()))
}

impl Step {
    /// What a person types to run this step alone.
    fn command_line(&self) -> String {
        let mut words: Vec<String> = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}='{value}'"))
            .collect();
        words.push("cargo".to_owned());
        if matches!(self.program, Program::Xtask) {
            words.push("xtask".to_owned());
        }
        words.extend(self.arguments.iter().map(|&argument| argument.to_owned()));
        words.join(" ")
    }

    fn run(&self, this: OsString) -> Result<bool, Failure> {
        let program = match self.program {
            Program::Cargo => env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            Program::Xtask => this,
        };
        let status = Command::new(program)
            .args(self.arguments)
            .envs(self.environment.iter().copied())
            .current_dir(scratch::workspace())
            .status()?;
        Ok(status.success())
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
