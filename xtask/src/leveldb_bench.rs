//! Measures the same work through `leveldb/c.h` on LevelDB and on Teak's LevelDB library, in turns.

mod coins;

use crate::{
    Result, built, commands, install_leveldb,
    works::{self, WorkFigures},
};
use coins::CoinArguments;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Measures LevelDB and the library with LevelDB's interface
#[derive(clap::Args)]
pub(crate) struct LeveldbBenchArguments {
    /// Number of records of the database
    #[arg(long, default_value_t = 2_000_000)]
    records: u64,
    /// Number of synced puts
    #[arg(long, default_value_t = 1000)]
    synced: u64,
    /// Number of rounds; the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The directory of the databases, on the disk to be measured
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// The directory of LevelDB's library, if it is not where the linker looks
    #[arg(long, value_name = "DIRECTORY")]
    leveldb: Option<PathBuf>,
    /// The build profile of Teak
    #[arg(long, default_value = "release")]
    profile: String,
    /// The C compiler
    #[arg(long, default_value = "cc")]
    compiler: String,
    #[command(flatten)]
    coins: CoinArguments,
}

/// Builds the programs, runs them in turns, and shows the medians.
pub(crate) fn run(arguments: &LeveldbBenchArguments) -> Result {
    let around = match &arguments.directory {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    if arguments.coins.is_asked() {
        let (profile, leveldb) = (&arguments.profile, arguments.leveldb.as_deref());
        let (rounds, directory) = (arguments.rounds, around.path());
        return arguments.coins.run(rounds, profile, leveldb, directory);
    }
    let programs = build(arguments)?;
    let run = |side: usize| {
        let directory = tempfile::tempdir_in(around.path())?;
        let mut command = Command::new(&programs[side]);
        command.arg(directory.path().join("database"));
        let numbers = [arguments.records, arguments.synced].map(|number| number.to_string());
        commands::output(command.args(numbers))
    };
    let mut figures = WorkFigures::<2>::measure(arguments.rounds, run)?;
    println!(
        "| median of {} | LevelDB | library | LevelDB / library |\n|---|---|---|---|",
        arguments.rounds
    );
    for (work, medians) in figures.medians() {
        println!("{}", row(work, medians));
    }
    Ok(())
}

/// A row of the table. Sizes are shares of the bytes of the records.
fn row(work: &str, [leveldb, library]: [f64; 2]) -> String {
    let unit = match work.starts_with("size") {
        true => "%",
        false => "ns",
    };
    let ratio = leveldb / library;
    format!("| {work} | {leveldb:.0} {unit} | {library:.0} {unit} | {ratio:.2} |")
}

/// The programs on LevelDB and on the library.
fn build(arguments: &LeveldbBenchArguments) -> Result<[PathBuf; 2]> {
    let package = built::workspace().join("crates/teak-leveldb");
    let directory = built::target_directory()?.join("leveldb-bench");
    install_leveldb::library(None, &arguments.profile, &directory)?;
    let compile = |name: &str, libraries: Option<&Path>| -> Result<PathBuf> {
        let program = directory.join(name);
        let mut compiler = Command::new(&arguments.compiler);
        compiler
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-o"])
            .arg(&program)
            .arg(format!("-I{}", works::headers().display()))
            .arg(package.join("bench/works.c"))
            .arg(format!("-I{}", package.join("include").display()));
        if let Some(libraries) = libraries {
            compiler
                .arg(format!("-L{}", libraries.display()))
                .arg(format!("-Wl,-rpath,{}", libraries.display()));
        }
        commands::run(compiler.arg("-l:libleveldb.so.1d"))?;
        Ok(program)
    };
    Ok([
        compile("works-leveldb", arguments.leveldb.as_deref())?,
        compile("works-library", Some(&directory))?,
    ])
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_row_has_units_and_a_relation() {
        assert_eq!(
            row("get", [300.0, 100.0]),
            "| get | 300 ns | 100 ns | 3.00 |"
        );
        let sizes = row("size-loaded", [118.5, 137.0]);
        assert_eq!(sizes, "| size-loaded | 118 % | 137 % | 0.86 |");
    }
}
