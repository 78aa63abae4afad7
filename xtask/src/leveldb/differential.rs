//! Compares the library with LevelDB: both perform the same random steps and must give the same
//! replies. A program of `crates/differential` loads both libraries.

use super::library::LevelDbLibrary;
use crate::{Result, built, differential::RandomScript};
use std::path::PathBuf;

/// Performs the same random steps on LevelDB and on its interface over Teak, and compares the
/// replies
#[derive(clap::Args)]
pub(crate) struct LevelDbDifferentialArguments {
    #[command(flatten)]
    script: RandomScript,
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
    let mut command = arguments.script.command(&program);
    command.arg("--library").arg(library.path());
    command.arg("--leveldb").arg(leveldb.path());
    let status = command.status()?;
    ensure!(
        status.success(),
        "LevelDB and its interface over Teak give different replies ({status})"
    );
    Ok(())
}
