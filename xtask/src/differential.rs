//! Compares Teak with LMDB: both perform the same random operations and must give the same answers.
//!
//! LMDB runs in a separate program (`crates/differential`), because it is compiled from C.

use crate::{Result, built};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Performs the same random operations on Teak and on LMDB, and compares the answers
#[derive(clap::Args)]
pub(crate) struct DifferentialArguments {
    #[command(flatten)]
    script: RandomScript,
    /// The program `differential`; built if it is not given
    #[arg(long)]
    program: Option<PathBuf>,
}

/// A script of random operations.
#[derive(clap::Args)]
pub(crate) struct RandomScript {
    /// Number of operations to perform
    #[arg(long, default_value_t = 1_000_000)]
    ops: u64,
    /// The seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with this episode; the report of a difference names the episode
    #[arg(long, default_value_t = 0)]
    episode: u64,
    /// Print every operation before it is performed
    #[arg(long)]
    verbose: bool,
}

impl RandomScript {
    /// The program that performs the script.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .args(["--ops", &self.ops.to_string()])
            .args(["--seed", &self.seed.to_string()])
            .args(["--episode", &self.episode.to_string()]);
        if self.verbose {
            command.arg("--verbose");
        }
        command
    }
}

/// Builds the program, and runs it.
pub(crate) fn run(arguments: &DifferentialArguments) -> Result {
    let given = arguments.program.as_deref();
    let program = built::program(given, "differential", "differential")?;
    let status = arguments.script.command(&program).status()?;
    ensure!(
        status.success(),
        "Teak and LMDB give different answers ({status})"
    );
    Ok(())
}
