//! Measures the same work through `lmdb.h` on LMDB and on Teak's LMDB library, and through Teak's
//! own interface, in turns.

use crate::{
    Context, Result, built, commands,
    lmdb_clients::library::{Prefix, find_lmdb},
};
use std::{
    collections::BTreeMap,
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

/// The measured implementations.
const SIDES: [&str; 3] = ["LMDB", "library", "native"];

/// Nanoseconds of each round, by work and side.
type Times = BTreeMap<String, [Vec<f64>; 3]>;

/// Builds the programs, runs them in turns, and shows the medians.
pub(crate) fn run(arguments: &LmdbBenchArguments) -> Result {
    let programs = build(arguments)?;
    let directory = match &arguments.directory {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    let mut order = Vec::new();
    let mut times = Times::new();
    for round in 0..arguments.rounds {
        for turn in 0..SIDES.len() {
            let side = (round + turn) % SIDES.len();
            let printed = run_one(arguments, &programs[side], directory.path())?;
            for (work, nanoseconds) in parse(&printed)? {
                if !order.contains(&work) {
                    order.push(work.clone());
                }
                times.entry(work).or_default()[side].push(nanoseconds);
            }
        }
    }
    println!(
        "| nanoseconds, median of {} | LMDB | library | native | library to LMDB | native to LMDB \
         | kept |",
        arguments.rounds
    );
    println!("|---|---|---|---|---|---|---|");
    for work in order {
        if let Some(measured) = times.get_mut(&work) {
            println!("{}", row(&work, measured));
        }
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
    let lmdb = Prefix::of_lmdb(&directory, &find_lmdb()?, &arguments.compiler)?;
    let teak = Prefix::of_teak(&directory, &built.join("liblmdb.so"))?;
    let compile = |prefix: &Prefix, name: &str| -> Result<PathBuf> {
        let program = directory.join(name);
        let mut compiler = Command::new(&arguments.compiler);
        compiler
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-o"])
            .arg(&program)
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

/// The nanoseconds of each work.
fn parse(printed: &str) -> Result<Vec<(String, f64)>> {
    let line = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            [work, _, nanoseconds] => Some((work.to_owned(), nanoseconds.parse().ok()?)),
            _ => None,
        }
    };
    let lines = printed.lines();
    lines
        .map(|text| line(text).context(format_args!("{text:?} is not a number")))
        .collect()
}

/// A row of the table. The last column is the share of the native interface's speed that the
/// library reaches. LMDB's figure is the same for both.
fn row(work: &str, measured: &mut [Vec<f64>; 3]) -> String {
    let [lmdb, library, native] = measured.each_mut().map(|times| median(times));
    format!(
        "| {work} | {lmdb:.0} | {library:.0} | {native:.0} | {:.2} | {:.2} | {:.0} % |",
        lmdb / library,
        lmdb / native,
        native / library * 100.0
    )
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    match times.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => times[middle],
        _ => f64::midpoint(times[middle - 1], times[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::{median, parse, row};

    #[test]
    fn figures_are_parsed() {
        let parsed = parse("get 10 12.50\nscan 5 1.00\n").unwrap();
        assert_eq!(parsed, [("get".to_owned(), 12.5), ("scan".to_owned(), 1.0)]);
        assert!(parse("get 10").is_err());
    }

    #[test]
    fn a_row_has_medians_and_relations() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [1.0, 2.0]), 1.5);
        let mut measured = [vec![200.0], vec![125.0], vec![100.0]];
        assert_eq!(
            row("get", &mut measured),
            "| get | 200 | 125 | 100 | 1.60 | 2.00 | 80 % |"
        );
    }
}
