//! The arguments of `space-map` and of the processes that it starts.

use super::RunPaths;
use clap::Args;
use std::{ffi::OsString, path::PathBuf};

/// Arguments of `space-map`.
#[derive(Debug, Args)]
pub(crate) struct SpaceMapArguments {
    /// Pages of the files, of 4 KiB each; the others are compared with the first.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1 << 20, 1 << 28], value_parser = clap::value_parser!(u64).range(1 << 18..=1 << 31))]
    pub(crate) pages: Vec<u64>,

    /// Percentage of pages in use, chosen at random.
    #[arg(long, value_name = "PERCENT", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) used_percent: u32,

    /// Single dead pages that are not free yet.
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub(crate) pending: u64,

    /// Bytes of the largest value, for which no free extent is long enough. It uses as much of the
    /// disk.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) largest_mib: u64,

    /// Allocate all blocks of the files, and time lazy commits too. Use a file system in a sparse
    /// file.
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

/// Arguments of a process that opens a file with a large space map.
#[derive(Debug, Args)]
pub(crate) struct SpaceMapProcess {
    /// The database, which was closed.
    #[arg(long)]
    pub(crate) path: PathBuf,
    /// Small commits of each kind; `None` to only open the database.
    #[arg(long)]
    pub(crate) commits: u32,
    #[arg(long)]
    pub(crate) largest_mib: u64,
    /// Whether lazy commits are timed as well.
    #[arg(long)]
    pub(crate) lazy: bool,
}

impl SpaceMapProcess {
    /// The command line that starts this process.
    pub(crate) fn to_command_line(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["space-map-process".into()];
        words.extend(["--path".into(), self.path.clone().into_os_string()]);
        words.extend(["--commits".into(), self.commits.to_string().into()]);
        words.extend(["--largest-mib".into(), self.largest_mib.to_string().into()]);
        words.extend(self.lazy.then(|| "--lazy".into()));
        words
    }
}
