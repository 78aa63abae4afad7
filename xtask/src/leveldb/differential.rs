//! Compares the library with LevelDB: both perform the same random steps and must give the same
//! replies. A program of `crates/differential` loads both libraries.

use super::library::LevelDbLibrary;
use crate::{Result, built};
use std::{path::PathBuf, process::Command};

/// Performs the same random steps on LevelDB and on its interface over Teak, and compares the
/// replies
#[derive(clap::Args)]
pub(crate) struct LevelDbDifferentialArguments {
    /// Number of steps to perform
    #[arg(long, default_value_t = 1_000_000)]
    ops: u64,
    /// The seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with this episode; the report of a difference names the episode
    #[arg(long, default_value_t = 0)]
    episode: u64,
    /// Print every step before it is performed
    #[arg(long)]
    verbose: bool,
    /// The library over Teak; built if it is not given
    #[arg(long)]
    library: Option<PathBuf>,
    /// LevelDB's own library; that of Debian's package libleveldb1d if it is not given
    #[arg(long)]
    leveldb: Option<PathBuf>,
    /// The program `leveldb-differential`; built if it is not given
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Builds what is missing, and runs the program.
pub(crate) fn run(arguments: &LevelDbDifferentialArguments) -> Result {
    let Some(leveldb) = LevelDbLibrary::of_leveldb(arguments.leveldb.as_deref()) else {
        println!("NOT DONE: LevelDB is not there; install libleveldb1d");
        return Ok(());
    };
    let library = LevelDbLibrary::of_teak(arguments.library.as_deref())?;
    let given = arguments.program.as_deref();
    let program = built::program(given, "differential", "leveldb-differential")?;
    let mut command = Command::new(program);
    command
        .args(["--ops", &arguments.ops.to_string()])
        .args(["--seed", &arguments.seed.to_string()])
        .args(["--episode", &arguments.episode.to_string()])
        .arg("--library")
        .arg(library.path())
        .arg("--leveldb")
        .arg(leveldb.path());
    if arguments.verbose {
        command.arg("--verbose");
    }
    let status = command.status()?;
    ensure!(
        status.success(),
        "LevelDB and its interface over Teak give different replies ({status})"
    );
    Ok(())
}
