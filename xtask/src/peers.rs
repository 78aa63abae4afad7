//! Crash tests of LMDB and libmdbx with Teak's method, to show that it finds known problems.
//!
//! The engines run in a separate program (`crates/crash-peers`), because they are compiled from C,
//! and opening a crash image may kill the process.

use crate::{
    Failure, Result, built,
    campaign::{CampaignArguments, scratch},
    commands,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Builds images of crashes of LMDB and libmdbx, and lets them open these
#[derive(clap::Args)]
pub(crate) struct PeersArguments {
    /// Number of different images to inspect for each engine
    #[arg(long, default_value_t = 1000)]
    images: u64,
    #[command(flatten)]
    campaign: CampaignArguments,
    /// Only this engine: lmdb, lmdb-nometasync, lmdb-nosync, mdbx, mdbx-nometasync or
    /// mdbx-safe-nosync
    #[arg(long)]
    engine: Option<String>,
    /// Only images of this episode
    #[arg(long)]
    episode: Option<u64>,
    /// The program `crash-peers`; built if it is not given
    #[arg(long)]
    program: Option<PathBuf>,
}

/// The counts of one engine.
#[derive(PartialEq, Eq, Debug)]
struct EngineRow {
    engine: String,
    images: u64,
    violations: u64,
    /// Whether the result differs from the known one, in either direction.
    is_unexpected: bool,
}

/// Builds the program, and runs it.
pub(crate) fn run(arguments: &PeersArguments) -> Result {
    let run = arguments.campaign.begin("peers");
    let program = match find(arguments.program.as_deref())? {
        Ok(program) => program,
        Err(reason) => {
            println!("NOT DONE: crashes of other engines");
            println!("0 images, skipped: {reason}");
            return Ok(());
        }
    };
    let scratch = scratch::directory(None)?;
    let counts = scratch.path().join("counts");
    let mut command = Command::new(program);
    command
        .args(["--images", &arguments.images.to_string()])
        .args(["--seed", &arguments.campaign.seed.to_string()])
        .arg("--counts")
        .arg(&counts);
    if let Some(engine) = &arguments.engine {
        command.args(["--engine", engine]);
    }
    if let Some(episode) = arguments.episode {
        command.args(["--episode", &episode.to_string()]);
    }
    let status = command.status()?;
    // Missing if nothing was inspected, which the program has reported.
    let rows = rows(&fs::read_to_string(&counts).unwrap_or_default());
    if rows.is_empty() && status.success() {
        return Ok(());
    }
    let counters = rows.iter().map(|row| (row.engine.clone(), row.violations));
    let counters = counters.collect();
    let images = rows.iter().map(|row| row.images).sum();
    let unexpected = rows.iter().filter(|row| row.is_unexpected).count() as u64;
    run.append(images, unexpected, &counters)?;
    println!("{images} images, {unexpected} engines with unexpected results");
    ensure!(
        status.success(),
        "other engines had unexpected results ({status})"
    );
    Ok(())
}

/// The program, built if it is not given, or the reason why this machine cannot run it.
fn find(given: Option<&Path>) -> Result<Result<PathBuf, String>> {
    if !commands::is_there("strace", "-V") {
        return Ok(Err("strace cannot be started".to_owned()));
    }
    if let Some(program) = given {
        return Ok(Ok(program.to_owned()));
    }
    match built::try_program("crash-peers", "crash-peers") {
        Err(Failure(errors)) if errors.contains("Unable to find libclang") => {
            let reason = "libclang, which reads libmdbx's header, was not found";
            Ok(Err(reason.to_owned()))
        }
        built => built.map(Ok),
    }
}

impl EngineRow {
    /// Parses fields such as `engine=lmdb images=12`; `None` if a required field is missing.
    fn of_line(line: &str) -> Option<Self> {
        let field = |name: &str| {
            line.split(' ')
                .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
        };
        Some(Self {
            engine: field("engine")?.to_owned(),
            images: field("images")?.parse().ok()?,
            violations: field("violations")?.parse().ok()?,
            is_unexpected: field("unexpected")? != "0",
        })
    }
}

fn rows(text: &str) -> Vec<EngineRow> {
    text.lines().filter_map(EngineRow::of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_counts_of_an_engine() {
        let text = "engine=lmdb images=10 right=9 violations=1 unexpected=1 lost=1\nengine=mdbx\n";
        let expected = EngineRow {
            engine: "lmdb".to_owned(),
            images: 10,
            violations: 1,
            is_unexpected: true,
        };
        assert_eq!(rows(text), [expected]);
    }
}
