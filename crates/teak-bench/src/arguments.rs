//! The command line.

use crate::{engines::EngineKind, works::Work};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Teak beside LMDB, in one process, on the same data.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every work (or those named by --only) and print two tables: speed and space.
    Quick(Quick),
}

/// What one run is to do.
#[derive(Debug, Args)]
pub(crate) struct Quick {
    /// Records to load.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// Also write the figures to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Where to put the databases while the run lasts; decides which disk is measured.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,

    /// Rounds of each work; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// Run these works alone (the databases they need are loaded all the same).
    #[arg(long, value_name = "WORK", value_delimiter = ',')]
    pub(crate) only: Vec<Work>,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual())]
    pub(crate) engines: Vec<EngineKind>,

    /// Transactions in a round of `txn_durable`.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) durable_transactions: u32,

    /// Transactions in a round of `txn_lazy`.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) lazy_transactions: u32,
}

impl Quick {
    /// Whether `work` was asked for.
    pub(crate) fn wants(&self, work: Work) -> bool {
        self.only.is_empty() || self.only.contains(&work)
    }
}
