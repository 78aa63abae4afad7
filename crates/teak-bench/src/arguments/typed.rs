//! The arguments of `typed`.

use super::RunPaths;
use clap::{Args, ValueEnum};
use serde::Serialize;

/// Arguments of `typed`.
#[derive(Debug, Args)]
pub(crate) struct TypedArguments {
    /// Records of each table.
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(100..=14_000_000))]
    pub(crate) records: u64,

    /// Ranges of 50 records in a round.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ranges: u32,

    /// Rounds; the figure is their median.
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repeat: u32,

    /// The loops to run.
    #[arg(long, value_name = "LOOP", value_delimiter = ',', default_values_t = TypedLoop::value_variants().to_vec())]
    pub(crate) loops: Vec<TypedLoop>,

    #[command(flatten)]
    pub(crate) paths: RunPaths,
}

/// A loop of the users of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TypedLoop {
    /// Teak's cursor, which gives bytes
    TeakCursor,
    /// Teak's iterators
    Teak,
    /// Teak's iterators, which lend the records
    TeakLend,
    /// heed's iterators
    #[cfg(feature = "heed")]
    Heed,
    /// redb's iterators
    #[cfg(feature = "redb")]
    Redb,
    /// fjall's iterators, which give bytes
    #[cfg(feature = "fjall")]
    Fjall,
}

impl std::fmt::Display for TypedLoop {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.to_possible_value();
        formatter.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
