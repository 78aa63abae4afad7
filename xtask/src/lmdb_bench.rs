//! Measures the same work through `lmdb.h` on LMDB and on Teak's LMDB library, and through Teak's
//! own interface, in turns.

use crate::{
    Result, built,
    clients::Prefix,
    commands,
    lmdb_clients::library::{self, find_lmdb},
    works::{self, WorkFigures},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Measures LMDB, the library with LMDB's interface, and Teak's own interface
#[derive(clap::Args)]
pub(crate) struct LmdbBenchArguments {
    /// Number of records of the database
    #[arg(long, default_value_t = 1_000_000)]
    records: u64,
    /// Number of durable transactions
    #[arg(long, default_value_t = 1000)]
    durable: u64,
    /// Number of rounds; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The directory of the databases, on the disk to be measured
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// The build profile of Teak
    #[arg(long, default_value = "release")]
    profile: String,
    /// The C compiler
    #[arg(long, default_value = "cc")]
    compiler: String,
}

/// Builds the programs, runs them in turns, and shows the medians.
pub(crate) fn run(arguments: &LmdbBenchArguments) -> Result {
    let programs = build(arguments)?;
    let directory = match &arguments.directory {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    let run = |side: usize| run_one(arguments, &programs[side], directory.path());
    let mut figures = WorkFigures::<3>::measure(arguments.rounds, run)?;
    println!(
        "| nanoseconds, median of {} | LMDB | library | native | library to LMDB | native to LMDB \
         | kept |",
        arguments.rounds
    );
    println!("|---|---|---|---|---|---|---|");
    for (work, medians) in figures.medians() {
        println!("{}", row(work, medians));
    }
    Ok(())
}

/// The programs, by side.
fn build(arguments: &LmdbBenchArguments) -> Result<[PathBuf; 3]> {
    let profile = &arguments.profile;
    let mut build = built::cargo();
    build.args(["build", "--quiet", "--profile", profile]);
    commands::run(build.args(["--package", "teak-lmdb", "--lib", "--example", "native"]))?;
    let built = built::directory(profile)?;
    let directory = built::target_directory()?.join("lmdb-bench");
    fs::create_dir_all(&directory)?;
    let lmdb = library::of_lmdb(&directory, &find_lmdb()?, &arguments.compiler)?;
    let teak = library::of_teak(&directory, &built.join("liblmdb.so"))?;
    let compile = |prefix: &Prefix, name: &str| -> Result<PathBuf> {
        let program = directory.join(name);
        let mut compiler = Command::new(&arguments.compiler);
        compiler
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-o"])
            .arg(&program)
            .arg(format!("-I{}", works::headers().display()))
            .arg(built::workspace().join("crates/teak-lmdb/bench/works.c"))
            .arg(format!("-I{}", prefix.include().display()))
            .arg(format!("-L{}", prefix.libraries().display()))
            .arg(format!("-Wl,-rpath,{}", prefix.libraries().display()))
            .arg("-llmdb");
        commands::run(&mut compiler)?;
        Ok(program)
    };
    Ok([
        compile(&lmdb, "works-lmdb")?,
        compile(&teak, "works-library")?,
        built.join("examples/native"),
    ])
}

/// The output of a program that runs on its own database.
fn run_one(arguments: &LmdbBenchArguments, program: &Path, around: &Path) -> Result<String> {
    let directory = tempfile::tempdir_in(around)?;
    let mut command = Command::new(program);
    command.arg(directory.path());
    commands::output(command.args([arguments.records, arguments.durable].map(|n| n.to_string())))
}

/// A row of the table. The last column is the share of the native interface's speed that the
/// library reaches. LMDB's figure is the same for both.
fn row(work: &str, [lmdb, library, native]: [f64; 3]) -> String {
    format!(
        "| {work} | {lmdb:.0} | {library:.0} | {native:.0} | {:.2} | {:.2} | {:.0} % |",
        lmdb / library,
        lmdb / native,
        native / library * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_row_has_medians_and_relations() {
        assert_eq!(
            row("get", [200.0, 125.0, 100.0]),
            "| get | 200 | 125 | 100 | 1.60 | 2.00 | 80 % |"
        );
    }
}
