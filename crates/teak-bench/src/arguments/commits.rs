//! The arguments of `commits` and `flushes`.

use super::RunPaths;
use crate::engines::{Durability, EngineKind};
use clap::{Args, ValueEnum};

/// Arguments of `commits`.
#[derive(Debug, Args)]
pub(crate) struct Commits {
    /// Records to load before.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// Numbers of threads that commit at the same time.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Vec<u32>,

    /// Commits of a round, of all threads together.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) commits: u32,

    /// Rounds with each number of threads; the figure is their median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_except_quick())]
    pub(crate) engines: Vec<EngineKind>,

    /// Also run Teak in these modes.
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub(crate) mode: Vec<NonDurableMode>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// Arguments of `flushes`.
#[derive(Debug, Args)]
pub(crate) struct Flushes {
    /// Numbers of threads that commit at the same time.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Vec<u32>,

    /// Pages that each commit writes, anywhere in the file: it stands for a tree of few levels,
    /// whose upper pages all commits share.
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
