//! The command line.

use crate::{
    compare::{Compare, CompareEngine},
    engines::{Durability, EngineKind},
    kinds::KindsPart,
    workloads::QuickWorkload,
};
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;
use std::{ffi::OsString, fmt, iter, path::PathBuf};

/// Teak beside other engines, on the same data.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every work on every engine, each in a process of its own, and print times, latencies and what the system counts.
    Compare(Compare),
    /// Run every work (or those named by --only) and print two tables: speed and space.
    Quick(Quick),
    /// Commit one record at a time from 1, 2, 4, ... threads, durably, and print commits a second.
    Commits(Commits),
    /// Share flushes between threads and do nothing else: what `commits` could come to at most.
    Flushes(Flushes),
    /// Begin and end read transactions, from threads at the same time and beside many that stay open.
    Readers(Readers),
    /// Commit from processes at the same time, one record at a time, without waiting for the disk.
    Handover(Handover),
    /// Commit beside a read transaction that stays open, and after most records were removed, and print how long the file is.
    Space(SpaceRun),
    /// Insert, update and delete values of a few pages at random, and print times and how long the file is.
    Values(Values),
    /// Insert many records at random in one transaction, with little memory and with enough.
    Transaction(TransactionRun),
    /// Insert, look up and go over several values of a key, count and remove ranges, nest transactions.
    Kinds(Kinds),
    /// Scan and look up records of a file that is not in memory, with and without reading ahead.
    Cold(Cold),
    /// Copy a database, change some records, copy it again, and print what was read and written.
    Backup(BackupRun),
    /// Open and write a file whose space map is of many more pages than it has blocks, and print times and memory.
    #[cfg(feature = "space-map")]
    SpaceMap(SpaceMapRun),
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

/// Where a run has its databases, and where its figures go.
#[derive(Debug, Args)]
pub(crate) struct RunPaths {
    /// Also write the figures to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Where to put the databases while the run lasts; decides which disk is measured.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,
}

/// What one run is to do.
#[derive(Debug, Args)]
pub(crate) struct Quick {
    /// Records to load.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    #[command(flatten)]
    pub(crate) paths: RunPaths,

    /// Rounds of each work; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// Run these works alone (the databases they need are loaded all the same).
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
    /// Whether `work` was asked for.
    pub(crate) fn wants(&self, work: QuickWorkload) -> bool {
        self.only.is_empty() || self.only.contains(&work)
    }
}

/// What a run of commits is to do.
#[derive(Debug, Args)]
pub(crate) struct Commits {
    /// Records to load before.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// How many threads commit at the same time.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Vec<u32>,

    /// Commits of a round, of all threads together.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) commits: u32,

    /// Rounds with each number of threads; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_beside_quick())]
    pub(crate) engines: Vec<EngineKind>,

    /// Also run Teak in these modes.
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub(crate) mode: Vec<NonDurableMode>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// What a run of flushes is to do.
#[derive(Debug, Args)]
pub(crate) struct Flushes {
    /// How many threads commit at the same time.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Vec<u32>,

    /// Pages that each commit writes, anywhere in the file: it has a tree of few levels, whose upper pages all share.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub(crate) pages: u32,

    /// Microseconds of work in each commit, of one thread at a time.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(crate) work_us: u64,

    /// Length of the file.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) file_mib: u64,

    /// Commits of a round, of all threads together.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1024..))]
    pub(crate) commits: u32,

    /// Rounds with each number of threads; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// What a run of reads from the disk is to do.
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

/// What a run of read transactions is to do.
#[derive(Debug, Args)]
pub(crate) struct Readers {
    /// Records to load before: few enough for the processor's caches, so that lookups do not hide what transactions cost.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// How many threads read at the same time.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 2], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Vec<u32>,

    /// How many other read transactions are open meanwhile.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [0, 1000], value_parser = clap::value_parser!(u32).range(0..=30_000))]
    pub(crate) open: Vec<u32>,

    /// Milliseconds that each engine reads before the next has its turn.
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) slice_ms: u64,

    /// Rounds; the figure is their median.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_beside_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// What a run that watches the files is to do.
#[derive(Debug, Args)]
pub(crate) struct SpaceRun {
    /// Records to load before commits beside a reader.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// Commits of one record beside a reader, on the disk before they return; none for not doing that.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    pub(crate) commits: u64,

    /// Records to load of which nine in ten are removed; none for not doing that.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    pub(crate) removal: u64,

    /// Commits of one record after the removal.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(10..=1_000_000_000))]
    pub(crate) commits_after: u64,

    /// Threads that meanwhile, again and again, read a whole state and compare it with what was committed.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(crate) verifiers: u32,

    /// Dead pages that a reader still sees, and then free pages, none beside another, beside which small commits are timed; none for not
    /// doing that. Somewhat more than three times as many pages of 4 KiB are written.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=100_000_000))]
    pub(crate) fragmented_pages: u64,

    /// Named snapshots of Teak, none beside so many, beside which small commits are timed; none for not doing that.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub(crate) names: u64,

    /// Also draw the sizes in the course of the commits beside a reader, and alone, into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) chart: Option<PathBuf>,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_beside_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// What a run of random values is to do.
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

    /// Have each commit on the disk before it returns.
    #[arg(long)]
    pub(crate) durable: bool,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_beside_quick())]
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

/// What a run of one large transaction is to do.
#[derive(Debug, Args)]
pub(crate) struct TransactionRun {
    /// Records to insert.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// MiB of pages that a transaction of Teak's may keep in memory, a run for each.
    #[arg(long, value_name = "MIB", value_delimiter = ',', default_values_t = [32, 256], value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) write_mib: Vec<u64>,

    /// Rounds; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_beside_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// What a run of tables of several kinds is to do.
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

    /// Records of the table whose ranges are counted, and of the range that is removed; nested transactions have a table of a tenth of it.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub(crate) records: u64,

    /// Nested transactions.
    #[arg(long, value_name = "TRANSACTIONS", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) nested: u64,

    /// Rounds of each operation; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// Run these parts alone.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub(crate) only: Vec<KindsPart>,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_beside_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

impl Kinds {
    /// Whether `part` was asked for.
    pub(crate) fn wants(&self, part: KindsPart) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// What a run of copies is to do.
#[derive(Debug, Args)]
pub(crate) struct BackupRun {
    /// Bytes of keys and values to load before.
    #[arg(long, default_value_t = 1_000_000_000, value_parser = clap::value_parser!(u64).range(100_000..=1_000_000_000_000))]
    pub(crate) bytes: u64,

    /// Of a thousand records so many get a new value between the copies.
    #[arg(long, value_name = "COUNT", default_value_t = 1.0)]
    pub(crate) changed_permille: f64,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_beside_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// What a run on a large space map is to do.
#[cfg(feature = "space-map")]
#[derive(Debug, Args)]
pub(crate) struct SpaceMapRun {
    /// Pages of the files, of 4 KiB each; the first is what the others are compared with.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1 << 20, 1 << 28], value_parser = clap::value_parser!(u64).range(1 << 18..=1 << 31))]
    pub(crate) pages: Vec<u64>,

    /// Pages of a hundred that are in use, chosen at random.
    #[arg(long, value_name = "PERCENT", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) used_percent: u32,

    /// Dead pages, one by one, that are not free yet.
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub(crate) pending: u64,

    /// Bytes of the largest value, for which no free run is long enough. So much of the disk is used.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) largest_mib: u64,

    /// Allocate all blocks of the files, and time lazy commits as well. For a file system that need not have them: one in a sparse file.
    #[arg(long)]
    pub(crate) allocate: bool,

    /// Small commits of each kind.
    #[arg(long, value_name = "COUNT", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) commits: u32,

    /// Times that each file is opened; the figure is the median.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// What a process is to do with a file of a large space map.
#[cfg(feature = "space-map")]
#[derive(Debug, Args)]
pub(crate) struct SpaceMapProcess {
    /// The database, which was closed.
    #[arg(long)]
    pub(crate) path: PathBuf,
    /// Small commits of each kind; none if it is opened only.
    #[arg(long)]
    pub(crate) commits: u32,
    #[arg(long)]
    pub(crate) largest_mib: u64,
    /// Whether lazy commits are timed as well.
    #[arg(long)]
    pub(crate) lazy: bool,
}

#[cfg(feature = "space-map")]
impl SpaceMapProcess {
    /// The arguments that tell this program to do it.
    pub(crate) fn to_command_line(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["space-map-process".into()];
        words.extend(["--path".into(), self.path.clone().into_os_string()]);
        words.extend(["--commits".into(), self.commits.to_string().into()]);
        words.extend(["--largest-mib".into(), self.largest_mib.to_string().into()]);
        words.extend(self.lazy.then(|| "--lazy".into()));
        words
    }
}

/// What a run of processes that commit is to do.
#[derive(Debug, Args)]
pub(crate) struct Handover {
    /// Records to load before.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// How many processes commit at the same time.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 2], value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) processes: Vec<u32>,

    /// Who may commit when.
    #[arg(long, value_name = "MODE", value_delimiter = ',', default_values_t = [CommitOrdering::Free, CommitOrdering::Strict])]
    pub(crate) mode: Vec<CommitOrdering>,

    /// Milliseconds that each engine's processes commit before the next engine has its turn.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) slice_ms: u64,

    /// Rounds; the figure is their median.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_beside_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// What one of several processes is to do.
#[derive(Debug, Args)]
pub(crate) struct HandoverProcess {
    #[arg(long)]
    pub(crate) engine: EngineKind,
    /// Where the engine's database is, which has been loaded.
    #[arg(long)]
    pub(crate) directory: PathBuf,
    #[arg(long)]
    pub(crate) records: u64,
    #[arg(long)]
    pub(crate) turns: CommitOrdering,
    /// Which of the processes it is, from zero.
    #[arg(long)]
    pub(crate) number: u32,
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) processes: u32,
    #[arg(long)]
    pub(crate) slice_ms: u64,
}

impl HandoverProcess {
    /// The arguments that tell this program to do it.
    pub(crate) fn to_command_line(&self) -> Vec<OsString> {
        let options = [
            ("--engine", self.engine.to_string().into()),
            ("--directory", self.directory.clone().into_os_string()),
            ("--records", self.records.to_string().into()),
            ("--turns", self.turns.to_string().into()),
            ("--number", self.number.to_string().into()),
            ("--processes", self.processes.to_string().into()),
            ("--slice-ms", self.slice_ms.to_string().into()),
        ];
        let words = options
            .into_iter()
            .flat_map(|(name, value)| [OsString::from(name), value]);
        iter::once(OsString::from("handover-process"))
            .chain(words)
            .collect()
    }
}

/// Who may commit when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommitOrdering {
    /// Whoever gets the engine's lock.
    Free,
    /// One process after the other, each when it has seen the commit before.
    Strict,
}

impl fmt::Display for CommitOrdering {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Free => "free",
            Self::Strict => "strict",
        })
    }
}

/// A mode of Teak besides the durable one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NonDurableMode {
    /// Each commit returns before it is on the disk; each thread waits for its last one.
    Async,
    /// No commit waits for the disk.
    Lazy,
}

impl NonDurableMode {
    /// The durability of its commits.
    pub(crate) fn durability(self) -> Durability {
        match self {
            Self::Async => Durability::Async,
            Self::Lazy => Durability::Lazy,
        }
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
