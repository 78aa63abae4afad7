//! The tasks of the project: `cargo xtask`, with one subcommand for each.

// Except for `fork` in a storm: see `storm/fork.rs`.
#![deny(unsafe_code)]

#[macro_use]
mod failure;

mod api;
mod built;
mod campaign;
mod ci;
mod clients;
mod commands;
mod crash;
mod differential;
mod docs_c;
mod dump;
mod faults;
mod header;
mod install;
mod install_c;
mod install_leveldb;
mod instructions;
mod java;
mod java_bench;
mod kill;
mod layers;
mod leveldb;
mod leveldb_bench;
mod leveldb_clients;
mod limits;
mod lmdb_bench;
mod lmdb_clients;
mod memtable;
mod minimal;
mod model;
mod mutate;
mod names;
mod package;
mod peers;
mod ports;
mod power;
mod protocol;
mod ratchet;
mod release;
mod seeds;
mod size;
mod sources;
mod storm;
mod style;
mod teeth;
mod workload;
mod works;

use clap::{CommandFactory, Parser, Subcommand};
use failure::{Context, Failure, Result};
use std::process::ExitCode;
use teak::testing::{self, Planted};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Checks, tests and campaigns of Teak")]
struct CommandLine {
    /// Plant this error in the engine: see `teeth`
    #[arg(long)]
    planted: Option<String>,
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// All steps of continuous integration, each named and timed
    Ci,
    Api(api::ApiArguments),
    Layers(layers::LayersArguments),
    Size(size::SizeArguments),
    Style(style::StyleArguments),
    Header(header::HeaderArguments),
    InstallC(install_c::InstallCArguments),
    InstallLeveldb(install_leveldb::InstallLeveldbArguments),
    DocsC(docs_c::DocsCArguments),
    Model(model::ModelArguments),
    Minimal(minimal::MinimalArguments),
    Kill(kill::KillArguments),
    Crash(crash::CrashArguments),
    Faults(faults::FaultsArguments),
    Limits(limits::LimitsArguments),
    Memtable(memtable::MemtableArguments),
    Mutate(mutate::MutateArguments),
    Package(package::PackageArguments),
    Protocol(protocol::ProtocolArguments),
    Release(release::ReleaseArguments),
    Power(power::PowerArguments),
    Teeth(teeth::TeethArguments),
    Peers(peers::PeersArguments),
    Ports(ports::PortsArguments),
    Differential(differential::DifferentialArguments),
    LeveldbClients(leveldb_clients::LeveldbClientsArguments),
    #[command(name = "leveldb-differential")]
    LevelDbDifferential(leveldb::differential::LevelDbDifferentialArguments),
    #[command(name = "leveldb-kill")]
    LevelDbKill(leveldb::kill::LevelDbKillArguments),
    LmdbClients(lmdb_clients::LmdbClientsArguments),
    LeveldbBench(leveldb_bench::LeveldbBenchArguments),
    LmdbBench(lmdb_bench::LmdbBenchArguments),
    Instructions(instructions::InstructionsArguments),
    Java(java::JavaArguments),
    JavaBench(java_bench::JavaBenchArguments),
    Lmdb1(lmdb_clients::version_1::BuildLmdb1Arguments),
    Storm(storm::StormArguments),
    /// One of the programs that `kill` kills, and `power` cuts off
    #[command(hide = true)]
    Member(workload::MemberArguments),
    /// The program that `memtable` kills
    #[command(hide = true)]
    SmallCommits(memtable::SmallCommitsArguments),
    /// One of the programs that `storm` starts
    #[command(hide = true)]
    StormWorker(storm::worker::WorkerArguments),
    /// Regenerates the databases that fuzzing starts with, after a change of the format
    Seeds,
}

fn main() -> ExitCode {
    let arguments = CommandLine::parse();
    let outcome = apply_planted(arguments.planted.as_deref()).and_then(|()| perform(arguments));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn perform(arguments: CommandLine) -> Result {
    match arguments.task {
        Task::Ci => ci::run(),
        Task::Api(arguments) => api::run(&arguments),
        Task::Layers(arguments) => layers::run(&arguments),
        Task::Size(arguments) => size::run(&arguments),
        Task::Style(arguments) => style::run(&arguments, tasks()),
        Task::Header(arguments) => header::run(&arguments),
        Task::InstallC(arguments) => install_c::run(&arguments),
        Task::InstallLeveldb(arguments) => install_leveldb::run(&arguments),
        Task::DocsC(arguments) => docs_c::run(&arguments),
        Task::Model(arguments) => model::run(&arguments),
        Task::Minimal(arguments) => minimal::run(&arguments),
        Task::Kill(arguments) => kill::run(&arguments),
        Task::Crash(arguments) => crash::run(&arguments),
        Task::Faults(arguments) => faults::run(&arguments),
        Task::Limits(arguments) => limits::run(&arguments),
        Task::Memtable(arguments) => memtable::run(&arguments),
        Task::Mutate(mutation) => mutate::run(&mutation, arguments.planted.as_deref()),
        Task::Package(arguments) => package::run(&arguments),
        Task::Protocol(arguments) => protocol::run(&arguments),
        Task::Release(arguments) => release::run(&arguments),
        Task::Power(arguments) => power::run(&arguments),
        Task::Teeth(arguments) => teeth::run(&arguments),
        Task::Peers(arguments) => peers::run(&arguments),
        Task::Ports(arguments) => ports::run(&arguments),
        Task::Differential(arguments) => differential::run(&arguments),
        Task::LeveldbClients(arguments) => leveldb_clients::run(&arguments),
        Task::LevelDbDifferential(arguments) => leveldb::differential::run(&arguments),
        Task::LevelDbKill(arguments) => leveldb::kill::run(&arguments),
        Task::LmdbClients(arguments) => lmdb_clients::run(&arguments),
        Task::Lmdb1(arguments) => lmdb_clients::version_1::run(&arguments),
        Task::Instructions(arguments) => instructions::run(&arguments),
        Task::Java(arguments) => java::run(&arguments),
        Task::JavaBench(arguments) => java_bench::run(&arguments),
        Task::LeveldbBench(arguments) => leveldb_bench::run(&arguments),
        Task::LmdbBench(arguments) => lmdb_bench::run(&arguments),
        Task::Storm(arguments) => storm::run(&arguments),
        Task::StormWorker(arguments) => storm::worker::run(&arguments),
        Task::Member(arguments) => workload::run(&arguments),
        Task::SmallCommits(arguments) => memtable::run_member(&arguments),
        Task::Seeds => seeds::run(),
    }
}

/// The names of all tasks.
fn tasks() -> Vec<String> {
    let command = CommandLine::command();
    let tasks = command.get_subcommands();
    tasks.map(|task| task.get_name().to_owned()).collect()
}

fn apply_planted(name: Option<&str>) -> Result {
    let Some(name) = name else { return Ok(()) };
    let error = Planted::ALL.iter().find(|error| error.name() == name);
    let error = error.context(format_args!("there is no plantable error {name}"))?;
    testing::set_planted(*error);
    Ok(())
}
