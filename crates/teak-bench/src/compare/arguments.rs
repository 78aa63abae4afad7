//! The arguments of `compare`.

use super::{keys::KeyKind, work::CompareWorkload};
use crate::{arguments::RunPaths, engines::rivals::Rival};
use clap::{Args, value_parser};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Bytes of a coin with its key, and of a key.
const COIN_BYTES: u64 = 69;
const KEY_BYTES: u64 = 16;
/// The minimum, below which no engine runs.
const MEMORY_BYTES_MIN: u64 = 32 << 20;

/// Arguments of `compare`. Counts of operations are those of all rounds together.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Records to load.
    #[arg(long, default_value_t = 1_000_000, value_parser = value_parser!(u64).range(100..=1_000_000_000))]
    pub(super) records: u64,

    /// The kind of keys.
    #[arg(long, value_enum, default_value = "random16")]
    pub(super) keys: KeyKind,

    /// Bytes of a value.
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = value_parser!(u32).range(1..=1 << 24))]
    pub(super) value: u32,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = Rival::usual())]
    pub(super) engines: Vec<Rival>,

    /// Run only these workloads (the databases that they need are loaded anyway).
    #[arg(long, value_name = "WORK", value_delimiter = ',')]
    pub(super) only: Vec<CompareWorkload>,

    /// Do not run these workloads.
    #[arg(long, value_name = "WORK", value_delimiter = ',')]
    pub(super) skip: Vec<CompareWorkload>,

    /// Rounds of each workload; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u32).range(1..=1000))]
    pub(super) repeat: u32,

    /// Lookups of each kind; 1,500,000 if this is not given, 60,000 with less memory than data.
    #[arg(long, value_parser = value_parser!(u64).range(1..))]
    lookups: Option<u64>,

    /// Ranges of 10 records; for those of 100 a fifth of it.
    #[arg(long, default_value_t = 300_000, value_parser = value_parser!(u64).range(5..))]
    pub(super) ranges: u64,

    /// New values for single records, lazily.
    #[arg(long, default_value_t = 150_000, value_parser = value_parser!(u64).range(1..))]
    pub(super) updates: u64,

    /// New values for records in batches of 1,000, lazily.
    #[arg(long, default_value_t = 500_000, value_parser = value_parser!(u64).range(1..))]
    pub(super) batch_updates: u64,

    /// New values for single records, durably.
    #[arg(long, default_value_t = 1500, value_parser = value_parser!(u64).range(1..))]
    pub(super) durable_updates: u64,

    /// Transactions of `crud_durable`.
    #[arg(long, default_value_t = 10_000, value_parser = value_parser!(u64).range(1..))]
    pub(super) crud_durable: u64,

    /// Transactions of `crud_lazy`.
    #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u64).range(1..))]
    pub(super) crud_lazy: u64,

    /// Transactions of `crud_async`.
    #[arg(long, default_value_t = 1_000_000, value_parser = value_parser!(u64).range(1..))]
    pub(super) crud_async: u64,

    /// Numbers of threads that commit at the same time in `commits`.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32], value_parser = value_parser!(u32).range(1..=1024))]
    pub(super) threads: Vec<u32>,

    /// Commits from each number of threads.
    #[arg(long, default_value_t = 3000, value_parser = value_parser!(u64).range(1..))]
    pub(super) commits: u64,

    /// The number of threads that read in `mixed`, with one that writes.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..=1024))]
    pub(super) readers: u32,

    /// Coins before the first block of `coins` [default: the number of records]
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u64).range(10_000..=1_000_000_000))]
    coins: Option<u64>,

    /// Blocks that `coins` replays.
    #[arg(long, value_name = "COUNT", default_value_t = 150, value_parser = value_parser!(u64).range(1..))]
    pub(super) coin_blocks: u64,

    /// Memory for changed coins before they are written.
    #[arg(long, value_name = "MB", default_value_t = 10, value_parser = value_parser!(u64).range(1..=100_000))]
    pub(super) coin_flush_mb: u64,

    /// Limit each engine to this part of the memory that its data would fill, 4 for a quarter: only
    /// workloads that depend on it, unless others are named.
    #[arg(long, value_name = "PARTS", value_parser = value_parser!(u64).range(1..=1000))]
    pub(super) memory_parts: Option<u64>,

    /// Also write a self-contained HTML report to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

impl Compare {
    /// Whether to run `work`.
    pub(super) fn wants(&self, work: CompareWorkload) -> bool {
        let is_usual = self.memory_parts.is_none()
            || matches!(
                work,
                CompareWorkload::Get | CompareWorkload::GetMany | CompareWorkload::Coins
            );
        let is_named = self.only.contains(&work) || (self.only.is_empty() && is_usual);
        is_named && !self.skip.contains(&work)
    }

    /// The path of the report.
    pub(crate) fn html(&self) -> Option<&Path> {
        self.html.as_deref()
    }

    /// Lookups of each kind.
    pub(super) fn lookups(&self) -> u64 {
        let usual = match self.memory_parts {
            None => 1_500_000,
            Some(_) => 60_000,
        };
        self.lookups.unwrap_or(usual)
    }

    /// The number of coins before the first block.
    pub(super) fn coins(&self) -> u64 {
        self.coins.unwrap_or(self.records.max(10_000))
    }

    /// The memory limit of an engine for a workload, if there is one.
    pub(super) fn memory_bytes(&self, work: CompareWorkload) -> Option<u64> {
        let data_bytes = match work {
            CompareWorkload::Coins => self.coins() * COIN_BYTES,
            _ => self.records * (u64::from(self.value) + KEY_BYTES),
        };
        Some((data_bytes / self.memory_parts?).max(MEMORY_BYTES_MIN))
    }
}

/// The process of one engine.
#[derive(Debug, Args)]
pub(crate) struct CompareEngine {
    #[arg(long)]
    pub(crate) engine: Rival,
}

impl CompareEngine {
    /// The command line that starts this process.
    pub(super) fn to_command_line(&self) -> Vec<OsString> {
        let words = ["compare-engine", "--engine", &self.engine.to_string()];
        words.map(OsString::from).to_vec()
    }
}
