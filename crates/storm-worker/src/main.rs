//! A worker of the campaign `storm` as a small program of its own, with the sources of `xtask`.
//! `cargo xtask storm --worker` starts it for systems that `xtask` is not built for.

#![deny(unsafe_code)]
#![allow(dead_code, unused_macros)] // The campaign uses the rest.

#[macro_use]
#[path = "../../../xtask/src/failure.rs"]
mod failure;

#[path = "../../../xtask/src/campaign"]
mod campaign {
    pub(crate) mod database;
    pub(crate) mod draw;
}

#[path = "../../../xtask/src/storm"]
mod storm {
    mod arguments;
    mod context;
    #[cfg(unix)]
    mod fork;
    mod inspect;
    mod invariants;
    mod journal;
    mod meddle;
    mod misbehaviour;
    mod positions;
    mod progress;
    mod tables;
    mod work;
    pub(crate) mod worker;
    mod writes;

    /// Without forks.
    #[cfg(not(unix))]
    mod fork {
        pub(super) fn fork(_database: &teak::Database) -> crate::Result {
            bail!("this system has no forks; run the campaign without --fork")
        }
    }
}

use clap::Parser;
use failure::{Context, Failure, Result};
use std::process::ExitCode;
use storm::worker::{self, WorkerArguments};

#[derive(Parser)]
#[command(about = "A worker of the campaign storm")]
struct CommandLine {
    #[command(subcommand)]
    task: Task,
}

#[derive(clap::Subcommand)]
enum Task {
    /// One of the programs that `storm` starts
    StormWorker(WorkerArguments),
}

fn main() -> ExitCode {
    let Task::StormWorker(arguments) = CommandLine::parse().task;
    match worker::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("storm-worker: {error}");
            ExitCode::FAILURE
        }
    }
}
