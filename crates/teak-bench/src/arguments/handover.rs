//! The arguments of `handover` and of the processes that it starts.

use super::RunPaths;
use crate::engines::EngineKind;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::{ffi::OsString, fmt, iter, path::PathBuf};

/// Arguments of `handover`.
#[derive(Debug, Args)]
pub(crate) struct Handover {
    /// Records to load before.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) records: u64,

    /// Numbers of processes that commit at the same time.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 2], value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) processes: Vec<u32>,

    /// The order in which the processes commit.
    #[arg(long, value_name = "MODE", value_delimiter = ',', default_values_t = [CommitOrdering::Free, CommitOrdering::Strict])]
    pub(crate) mode: Vec<CommitOrdering>,

    /// Milliseconds that each engine's processes commit before the next engine takes its turn.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) slice_ms: u64,

    /// Rounds; the figure is their median.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// The engines to run.
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_values_t = EngineKind::usual_except_quick())]
    pub(crate) engines: Vec<EngineKind>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// Arguments of one of several processes.
#[derive(Debug, Args)]
pub(crate) struct HandoverProcess {
    #[arg(long)]
    pub(crate) engine: EngineKind,
    /// The directory of the engine's loaded database.
    #[arg(long)]
    pub(crate) directory: PathBuf,
    #[arg(long)]
    pub(crate) records: u64,
    #[arg(long)]
    pub(crate) turns: CommitOrdering,
    /// The number of this process, from zero.
    #[arg(long)]
    pub(crate) number: u32,
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) processes: u32,
    #[arg(long)]
    pub(crate) slice_ms: u64,
}

impl HandoverProcess {
    /// The command line that starts this process.
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

/// The order in which processes commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommitOrdering {
    /// The process that gets the engine's lock commits next.
    Free,
    /// One process after the other, each after it has seen the previous commit.
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
