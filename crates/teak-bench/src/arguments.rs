//! The command line.

mod commits;
mod handover;
mod paths;
#[cfg(feature = "space-map")]
mod space_map;
mod typed;

pub(crate) use commits::{Commits, Flushes};
pub(crate) use handover::{CommitOrdering, Handover, HandoverProcess};
pub(crate) use paths::RunPaths;
#[cfg(feature = "space-map")]
pub(crate) use space_map::{SpaceMapArguments, SpaceMapProcess};
pub(crate) use typed::{TypedArguments, TypedLoop};

use crate::{
    compare::{Compare, CompareEngine},
    engines::{Durability, EngineKind},
    kinds::KindsPart,
    workloads::QuickWorkload,
};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Compares Teak with other engines, on the same data.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every workload on every engine, each in a process of its own, and print times, latencies
    /// and the system's counts.
    Compare(Compare),
    /// Run every workload (or those named by --only) and print two tables: speed and space.
    Quick(Quick),
    /// Commit one record at a time from 1, 2, 4, ... threads, durably, and print commits a second.
    Commits(Commits),
    /// Share flushes between threads and do nothing else: the upper bound of `commits`.
    Flushes(Flushes),
    /// Begin and end read transactions, from several threads and with many other open ones.
    Readers(Readers),
    /// Commit from several processes, one record at a time, without waiting for the disk.
    Handover(Handover),
    /// Commit with an open read transaction, and after most records were removed, and print the
    /// length of the file.
    Space(SpaceArguments),
    /// Insert, update and delete values of a few pages at random, and print times and the file's
    /// length.
    Values(Values),
    /// Insert many records at random in one transaction, with little memory and with enough.
    Transaction(TransactionArguments),
    /// Insert, look up and scan several values per key, count and remove ranges, nest transactions.
    Kinds(Kinds),
    /// Scan and look up records of a file that is not in memory, with and without read-ahead.
    Cold(Cold),
    /// Load, look up and change records that compress well or not at all, in compressed databases.
    Compression(CompressionArguments),
    /// Create a database, commit once and drop it: in memory, in a temporary file, on the disk.
    Opening(OpeningArguments),
    /// Read all records, and short ranges, in loops over typed records as users write them.
    Typed(TypedArguments),
    /// Copy a database, change some records, copy it again, and print the bytes read and written.
    Backup(BackupArguments),
    /// Open and write a file whose space map has many more pages than the file has blocks, and
    /// print times and memory.
    #[cfg(feature = "space-map")]
    SpaceMap(SpaceMapArguments),
    /// One of the processes of `space-map`, which starts them.
    #[cfg(feature = "space-map")]
    #[command(hide = true)]
    SpaceMapProcess(SpaceMapProcess),
    /// One of the processes of `compare`, which starts them.
    #[command(hide = true)]
    CompareEngine(CompareEngine),
    /// One of the processes of `handover`, which starts them.
    #[command(hide = true)]
    HandoverProcess(HandoverProcess),
}

/// Arguments of `quick`.
#[derive(Debug, Args)]
pub(crate) struct Quick {
    /// Records to load.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    #[command(flatten)]
    pub(crate) paths: RunPaths,

    /// Rounds of each workload; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// Run only these workloads (the databases they need are loaded anyway).
    #[arg(long, value_name = "WORK", value_delimiter = ',')]
    pub(crate) only: Vec<QuickWorkload>,

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
    /// Whether `work` was requested.
    pub(crate) fn wants(&self, work: QuickWorkload) -> bool {
        self.only.is_empty() || self.only.contains(&work)
    }
}

/// Arguments of `cold`.
#[derive(Debug, Args)]
pub(crate) struct Cold {
    /// Records to load before.
    #[arg(long, default_value_t = 5_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// Lookups of a round.
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) gets: u32,

    /// Rounds of each; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// Arguments of `compression`.
#[derive(Debug, Args)]
pub(crate) struct CompressionArguments {
    /// Records of each data set.
    #[arg(long, default_value_t = 300_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// Lookups of a round.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) gets: u32,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// Arguments of `opening`.
#[derive(Debug, Args)]
pub(crate) struct OpeningArguments {
    /// Rounds in memory and in a temporary file; the figure is their median.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rounds: u32,

    /// Rounds on the disk.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) disk_rounds: u32,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// Arguments of `readers`.
#[derive(Debug, Args)]
pub(crate) struct Readers {
    /// Records to load before: few enough for the processor's caches, so that lookups do not hide
    /// the cost of transactions.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// Numbers of threads that read at the same time.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 2], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Vec<u32>,

    /// Numbers of other open read transactions.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [0, 1000], value_parser = clap::value_parser!(u32).range(0..=30_000))]
    pub(crate) open: Vec<u32>,

    /// Milliseconds that each engine reads before the next takes its turn.
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) slice_ms: u64,

    /// Rounds; the figure is their median.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_except_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// Arguments of `space`.
#[derive(Debug, Args)]
pub(crate) struct SpaceArguments {
    /// Records to load before the commits with an open reader.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// Commits of one record with an open reader, on the disk before they return; 0 to skip this.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    pub(crate) commits: u64,

    /// Records to load of which nine in ten are removed; 0 to skip this.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    pub(crate) removal: u64,

    /// Commits of one record after the removal.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(10..=1_000_000_000))]
    pub(crate) commits_after: u64,

    /// Threads that repeatedly read a whole state and compare it with what was committed.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(crate) verifiers: u32,

    /// Dead pages, scattered, that a reader uses at first and that are free later, for timing small
    /// commits; 0 to skip this. More than three times as many pages of 4 KiB are written.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=100_000_000))]
    pub(crate) fragmented_pages: u64,

    /// Named snapshots of Teak, for timing small commits with none and with this many; 0 to skip
    /// this.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub(crate) names: u64,

    /// Also draw the sizes during the commits with an open reader, and without, into this SVG file.
    #[arg(long, value_name = "FILE")]
    pub(crate) chart: Option<PathBuf>,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_except_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// Arguments of `values`.
#[derive(Debug, Args)]
pub(crate) struct Values {
    /// Insertions, new values and removals.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(20..=1_000_000_000))]
    pub(crate) operations: u64,

    /// Operations of a commit.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) per_commit: u32,

    /// Keys, of which about three in four have a record at any time.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) keys: u64,

    /// Bytes of the shortest value.
    #[arg(long, value_name = "BYTES", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub(crate) shortest: u32,

    /// Bytes of the longest value; all lengths between are as frequent.
    #[arg(long, value_name = "BYTES", default_value_t = 10_240, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub(crate) longest: u32,

    /// Make each commit durable before it returns.
    #[arg(long)]
    pub(crate) durable: bool,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_except_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

impl Values {
    /// The durability of commits.
    pub(crate) fn durability(&self) -> Durability {
        match self.durable {
            true => Durability::Durable,
            false => Durability::Lazy,
        }
    }
}

/// Arguments of `transaction`.
#[derive(Debug, Args)]
pub(crate) struct TransactionArguments {
    /// Records to insert.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// MiB of pages that a Teak transaction may keep in memory, with one run for each.
    #[arg(long, value_name = "MIB", value_delimiter = ',', default_values_t = [32, 256], value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) write_mib: Vec<u64>,

    /// Rounds; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_except_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// Arguments of `kinds`.
#[derive(Debug, Args)]
pub(crate) struct Kinds {
    /// Values of the one key of `many`.
    #[arg(long, value_name = "VALUES", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) many: u64,

    /// Keys of `ten`, each with 10 values.
    #[arg(long, value_name = "KEYS", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) tens: u64,

    /// Keys of `one`, each with 1 value.
    #[arg(long, value_name = "KEYS", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) ones: u64,

    /// Records of the table whose ranges are counted, and of the range that is removed; nested
    /// transactions use a table of a tenth of it.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub(crate) records: u64,

    /// Nested transactions.
    #[arg(long, value_name = "TRANSACTIONS", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) nested: u64,

    /// Rounds of each operation; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// Run only these parts.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub(crate) only: Vec<KindsPart>,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_except_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

impl Kinds {
    /// Whether `part` was requested.
    pub(crate) fn wants(&self, part: KindsPart) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// Bytes of keys and values to load before.
    #[arg(long, default_value_t = 1_000_000_000, value_parser = clap::value_parser!(u64).range(100_000..=1_000_000_000_000))]
    pub(crate) bytes: u64,

    /// The number of records in a thousand that get a new value between the copies.
    #[arg(long, value_name = "COUNT", default_value_t = 1.0)]
    pub(crate) changed_permille: f64,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_except_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
