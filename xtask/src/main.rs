//! What continuous integration and people run on Teak: `cargo xtask`, one task for each subcommand.

#![forbid(unsafe_code)]

mod ci;
mod crash;
mod dump;
mod faults;
mod kill;
mod layers;
mod model;
mod mutate;
mod panics;
mod peers;
mod power;
mod protocol;
mod results;
mod scratch;
mod seeds;
mod workload;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "What continuous integration and people run on Teak"
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything that continuous integration does, each step named and timed
    Ci,
    /// Holds the engine's sources to its layers
    Layers,
    Model(model::Arguments),
    Kill(kill::Arguments),
    Crash(crash::Arguments),
    Faults(faults::Arguments),
    Mutate(mutate::Arguments),
    Protocol(protocol::Arguments),
    Power(power::Arguments),
    Peers(peers::Arguments),
    /// The program that is killed
    #[command(hide = true)]
    Victim(workload::Arguments),
    /// Writes the databases that fuzzing begins with anew, after a change of the format
    Seeds,
}

/// Why a task failed.
#[derive(Debug)]
struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Ci => ci::run(),
        Task::Layers => layers::run(),
        Task::Model(arguments) => {
            panics::keep();
            model::run(&arguments)
        }
        Task::Kill(arguments) => kill::run(&arguments),
        Task::Crash(arguments) => {
            panics::keep();
            crash::run(&arguments)
        }
        Task::Faults(arguments) => {
            panics::keep();
            faults::run(&arguments)
        }
        Task::Mutate(arguments) => {
            panics::keep();
            mutate::run(&arguments)
        }
        Task::Protocol(arguments) => protocol::run(&arguments),
        Task::Power(arguments) => power::run(&arguments),
        Task::Peers(arguments) => peers::run(&arguments),
        Task::Victim(arguments) => workload::run(&arguments),
        Task::Seeds => seeds::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(text)) => {
            eprintln!("xtask: {text}");
            ExitCode::FAILURE
        }
    }
}
