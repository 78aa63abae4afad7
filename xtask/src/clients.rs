//! Common parts of the tasks that run programs of others on a library with the interface of another
//! engine: downloads, builds, results of tests, comparisons of output.

pub(crate) mod comparison;
pub(crate) mod crates;
pub(crate) mod debian;
pub(crate) mod exceptions;
pub(crate) mod loaded;
pub(crate) mod npm;
pub(crate) mod outcomes;
pub(crate) mod python;
pub(crate) mod running;

use crate::{Failure, Result, names::Named};
use clap::ValueEnum;
use running::ProgramEnd;
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The library that a client runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Side {
    /// The engine that the client was written for.
    Original,
    Teak,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Original, Self::Teak];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Teak => "teak",
        }
    }
}

/// Whether a client was run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClientEnd {
    Completed,
    /// Its tools or packages are not to be had here, which a message says.
    Skipped,
}

/// Runs the requested clients, `all` meaning every client, and prints how many were run and which
/// were skipped.
///
/// # Errors
///
/// If a client failed.
pub(crate) fn run_all<C>(requested: &[C], all: C, run: impl Fn(C) -> Result<ClientEnd>) -> Result
where
    C: ValueEnum + Clone + Copy + PartialEq,
{
    let clients = match requested.contains(&all) {
        true => C::value_variants(),
        false => requested,
    };
    let [mut done, mut skipped, mut failed] = [const { Vec::new() }; 3];
    for &client in clients.iter().filter(|client| **client != all) {
        let name = client.name();
        match run(client) {
            Ok(ClientEnd::Completed) => done.push(name),
            Ok(ClientEnd::Skipped) => skipped.push(name),
            Err(Failure(why)) => {
                eprintln!("{name}: {why}");
                failed.push(name);
            }
        }
    }
    println!("clients: {}", summary(done.len(), &skipped, &failed));
    ensure!(failed.is_empty(), "not as expected: {}", failed.join(", "));
    Ok(())
}

/// Counts clients, and names those that were not run to their end.
fn summary(done: usize, skipped: &[String], failed: &[String]) -> String {
    let named = |names: &[String], word: &str| match names {
        [] => format!("0 {word}"),
        _ => format!("{} {word} ({})", names.len(), names.join(", ")),
    };
    let [skipped, failed] = [named(skipped, "SKIPPED"), named(failed, "failed")];
    format!("{done} run, {skipped}, {failed}")
}

/// Where clients are built, and how long their programs may run.
#[derive(Clone, Debug)]
pub(crate) struct WorkArea {
    pub(crate) directory: PathBuf,
    pub(crate) time_limit: Duration,
}

impl WorkArea {
    /// Runs a program with its output going to `log`. Returns the output, too.
    pub(crate) fn run(&self, command: &mut Command, log: &Path) -> Result<(ProgramEnd, String)> {
        running::run(command, log, self.time_limit)
    }

    /// Runs a program that has to succeed.
    pub(crate) fn succeed(&self, command: &mut Command, log: &Path) -> Result {
        running::succeed(command, log, self.time_limit)
    }
}

/// The directory in which a library is installed.
#[derive(Clone, Debug)]
pub(crate) struct Prefix(pub(crate) PathBuf);

impl Prefix {
    pub(crate) fn include(&self) -> PathBuf {
        self.0.join("include")
    }

    pub(crate) fn libraries(&self) -> PathBuf {
        self.0.join("lib")
    }

    pub(crate) fn descriptions(&self) -> PathBuf {
        self.0.join("lib/pkgconfig")
    }
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn skipped_clients_are_counted_and_named() {
        let skipped = ["a", "b"].map(str::to_owned);
        let text = summary(3, &skipped, &[]);
        assert_eq!(text, "3 run, 2 SKIPPED (a, b), 0 failed");
    }
}
