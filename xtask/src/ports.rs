//! Teak on other systems, processors and libraries of C, and with larger pages of the system: one
//! step for each.
//!
//! A step that needs a standard library of Rust, a package or rights that are not to be had here
//! prints `NOT RUN` with the reason, and is no failure.

mod arm64;
mod check;
mod debian;
mod end;
mod engine;
mod link;
mod main_job;
mod musl;
mod pages16k;
mod plain;
pub(crate) mod targets;
mod wasm;
mod windows;
pub(crate) mod zig;

use crate::{Failure, Result, names::Named};
use clap::ValueEnum;
use end::PortEnd;
use std::time::Instant;

/// Builds, checks and tests Teak for other systems, processors and page sizes
#[derive(clap::Args)]
pub(crate) struct PortsArguments {
    /// The steps to run [default: all]
    #[arg(value_enum)]
    steps: Vec<PortStep>,
    /// Run only the part of each step that takes little time, as continuous integration does
    #[arg(long = "short")]
    is_short: bool,
    /// Run only one of the steps, another one each day
    #[arg(long = "today")]
    is_todays: bool,
}

/// A step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PortStep {
    /// Check the crates for the targets on which each is known to compile
    Check,
    /// Link the program and the libraries for systems that are not here
    Link,
    /// Run the engine's tests on Linux without anything that only Linux has
    Plain,
    /// Run a static program in an empty root, and share a database with programs of glibc
    Musl,
    /// Run a static program and the engine's tests for ARM64, emulated
    Arm64,
    /// Run them on an emulated ARM64 machine whose system has pages of 16 KiB
    Pages16k,
    /// Read databases with the reader for WebAssembly, under Node
    Wasm,
    /// Run the program and the engine's tests for Windows under wine
    Windows,
}

pub(crate) fn run(arguments: &PortsArguments) -> Result {
    let steps = match arguments.steps.as_slice() {
        [] => PortStep::value_variants(),
        steps => steps,
    };
    let todays = check::today() % steps.len();
    let steps = match arguments.is_todays {
        true => &steps[todays..=todays],
        false => steps,
    };
    let mut table = Vec::new();
    let mut failed = Vec::new();
    for step in steps {
        let name = step.name();
        println!("ports: {name}");
        let begin = Instant::now();
        let text = match step.run(arguments.is_short) {
            Ok(PortEnd::Passed(counts)) => counts,
            Ok(PortEnd::Skipped(reason)) => format!("NOT RUN: {reason}"),
            Err(Failure(why)) => {
                failed.push(name.clone());
                format!("FAILED: {why}")
            }
        };
        println!("ports: {name}: {text}");
        table.push((name, begin.elapsed(), text));
    }
    println!();
    for (name, time, text) in table {
        let line = text.lines().next().unwrap_or_default();
        println!("{name:<10} {:>7.1} s  {line}", time.as_secs_f64());
    }
    ensure!(
        failed.is_empty(),
        "steps that failed: {}",
        failed.join(", ")
    );
    Ok(())
}

impl PortStep {
    fn run(self, is_short: bool) -> Result<PortEnd> {
        match self {
            Self::Check => check::run(is_short),
            Self::Link => link::run(is_short),
            Self::Plain => plain::run(is_short),
            Self::Musl => musl::run(),
            Self::Arm64 => arm64::run(is_short),
            Self::Pages16k => pages16k::run(is_short),
            Self::Wasm => wasm::run(),
            Self::Windows => windows::run(is_short),
        }
    }
}
