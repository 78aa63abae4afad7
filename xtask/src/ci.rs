//! All that continuous integration does, in one command: each step is named, shown and timed.

use crate::{Failure, built, scratch};
use std::{
    env,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// What a step runs.
enum Program {
    Cargo,
    /// This program, with another task.
    Xtask,
    /// One that the tests were built with: as packages on their own both would need another engine.
    Built(&'static str),
}

struct Step {
    name: &'static str,
    program: Program,
    /// Words with a space between them.
    arguments: &'static str,
    environment: &'static [(&'static str, &'static str)],
}

const fn cargo(name: &'static str, arguments: &'static str) -> Step {
    Step {
        name,
        program: Program::Cargo,
        arguments,
        environment: &[],
    }
}

const fn xtask(name: &'static str, arguments: &'static str) -> Step {
    Step {
        name,
        program: Program::Xtask,
        arguments,
        environment: &[],
    }
}

const fn program(name: &'static str, program: &'static str, arguments: &'static str) -> Step {
    Step {
        name,
        program: Program::Built(program),
        arguments,
        environment: &[],
    }
}

/// Where a step may put files: a directory that goes away.
const SCRATCH: &str = "SCRATCH";

/// The cheap steps first. The model, the kills and the power cuts take a minute or two.
const STEPS: &[Step] = &[
    cargo("format", "fmt --all --check"),
    xtask("layers", "layers"),
    xtask("header of the C interface", "header --check"),
    cargo(
        "lints",
        "clippy --workspace --all-targets --features teak-bench/space-map -- -D warnings",
    ),
    cargo(
        "tests",
        "test --workspace --exclude interleavings --exclude xtask --exclude crash-peers --exclude differential --features teak-bench/space-map --no-fail-fast",
    ),
    // With the profile that what they test is built with anyway.
    cargo(
        "tests of campaigns",
        "test --profile campaign --package xtask --package crash-peers --package differential --no-fail-fast",
    ),
    cargo(
        "interleavings",
        "test --profile campaign --package interleavings --lib",
    ),
    Step {
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
        ..cargo("documentation", "doc --workspace --no-deps")
    },
    xtask(
        "installed for C, C++",
        "install-c --profile dev --no-build --prefix SCRATCH/installed --try",
    ),
    xtask("documentation for C", "docs-c --directory SCRATCH/docs-c"),
    xtask("model", "model --ops 400000 --seed 1"),
    xtask("protocol", "protocol --commits 3 --mishaps 2"),
    xtask("kill", "kill --count 200 --seed 1"),
    xtask("storm", "storm --seconds 30 --seed 1 --fork"),
    xtask("crash", "crash --images 300000 --seed 1"),
    xtask("faults", "faults --count 10000 --seed 1"),
    xtask("mutate", "mutate --files 50000 --seed 1"),
    xtask("power cuts", "power --cycles 50 --seed 1"),
    xtask("teeth", "teeth"),
    xtask("other engines", "peers --images 1000 --seed 1"),
    xtask("differential", "differential --ops 200000 --seed 1"),
    xtask(
        "clients of LMDB",
        "lmdb-clients --client own --client lmdb-rkv",
    ),
    program("example", "examples/coins", "SCRATCH/coins.teak"),
    program("benchmark", "teak-bench", "quick --records 2000"),
];

/// Runs every step, also behind one that failed, so that one run tells all.
pub(crate) fn run() -> Result<(), Failure> {
    // Looked up now, since a step may build this program anew.
    let this = env::current_exe()?;
    let scratch = scratch::directory(None)?;
    let begin = Instant::now();
    let mut times = Vec::new();
    let mut failed = Vec::new();
    for step in STEPS {
        println!("\n==> {}: {}", step.name, step.command_line());
        let begin = Instant::now();
        let is_success = step.run(&this, scratch.path())?;
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
        words.extend(match self.program {
            Program::Cargo => vec!["cargo".to_owned()],
            Program::Xtask => vec!["cargo".to_owned(), "xtask".to_owned()],
            Program::Built(program) => vec![format!("target/debug/{program}")],
        });
        words.push(self.arguments.to_owned());
        words.join(" ")
    }

    fn run(&self, this: &Path, scratch: &Path) -> Result<bool, Failure> {
        let scratch = scratch.display().to_string();
        let arguments = self
            .arguments
            .split(' ')
            .map(|word| word.replace(SCRATCH, &scratch));
        let mut command = match self.program {
            Program::Cargo => built::cargo(),
            Program::Xtask => Command::new(this),
            Program::Built(program) => Command::new(built::directory("dev")?.join(program)),
        };
        let status = command
            .args(arguments)
            .envs(self.environment.iter().copied())
            // What would make the next build of changed sources quick makes this one slow.
            .env("CARGO_INCREMENTAL", "0")
            .current_dir(scratch::workspace())
            .status()?;
        Ok(status.success())
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
