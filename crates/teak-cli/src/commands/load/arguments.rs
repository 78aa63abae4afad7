//! The command line of `teak load`.

use crate::common_arguments::{DatabaseArgument, WaitArgument};
use crate::key_arguments::EncodingArguments;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;
use teak::Durability;

const EXAMPLES: &str = "\
Examples:
  teak load coins.dump coins.teak
  mdb_dump -n coins.mdb | teak load - coins.teak
  teak load prices.tsv coins.teak --table prices
  teak load big.dump big.teak --bulk

The dump format is that of db_dump, mdb_dump and mdbx_dump: a header, then keys and values in \
turn on lines that begin with a space, then DATA=END. Several tables may follow one another. \
Tab-separated text has a key, a tab and a value on each line, with the escapes \\t \\n \\r \\\\ and \
\\xHH.

Records go into the table that the input names, or else into `main`. The database and its tables \
are created if they do not exist. An existing key gets the new value. Each batch is one transaction. \
A table that exists must have the types that the input names, if both have any. \
If a load is interrupted or fails, the committed batches stay; to complete it, load the input again \
from the beginning. At the end all records are read back and compared.

With --acknowledge, each commit prints a line `committed TRANSACTION RECORDS` on standard output, where \
RECORDS is the total of this load.";

/// Load records from a dump or from tab-separated text
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LoadArguments {
    /// The file to load; - is standard input
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(super) input: PathBuf,

    #[command(flatten)]
    pub(super) database: DatabaseArgument,

    #[command(flatten)]
    pub(super) wait: WaitArgument,

    /// The table, whatever its name in the input [default: the name in the input, or else main]
    #[arg(short, long, value_name = "NAME")]
    pub(super) table: Option<OsString>,

    /// The format of the input [default: tsv if its name ends in .tsv, else dump]
    #[arg(short, long, value_enum)]
    pub(super) format: Option<LoadFormat>,

    /// Records per transaction
    #[arg(long, value_name = "COUNT", default_value = "10000")]
    pub(super) batch: NonZeroU64,

    /// When a commit is complete
    #[arg(long, value_enum, default_value_t)]
    pub(super) durability: DurabilityArgument,

    /// Load each table in one transaction, sorted and built bottom-up; the table must be empty
    #[arg(long, conflicts_with = "batch")]
    pub(super) bulk: bool,

    /// The input is sorted by key, so --bulk need not sort it
    #[arg(long, requires = "bulk")]
    pub(super) sorted: bool,

    /// Load into existing tables even if their recorded types differ from those in the input
    #[arg(long)]
    pub(super) any_types: bool,

    /// Do not read the records back at the end
    #[arg(long)]
    pub(super) no_verify: bool,

    /// Print a line for each commit
    #[arg(long)]
    pub(super) acknowledge: bool,

    /// The page size of a new database: a power of two from 4096 to 65536
    #[arg(long, value_name = "BYTES")]
    pub(super) page_size: Option<usize>,

    #[command(flatten)]
    pub(super) encoding: EncodingArguments,
}

/// The format of an input.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LoadFormat {
    /// The format of db_dump, mdb_dump and mdbx_dump
    Dump,
    /// A key, a tab and a value on each line
    Tsv,
}

/// When a commit is complete.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum DurabilityArgument {
    /// When it is on disk
    #[default]
    Durable,
    /// When the system has it; everything is on disk when the load ends
    Lazy,
}

impl From<DurabilityArgument> for Durability {
    fn from(argument: DurabilityArgument) -> Self {
        match argument {
            DurabilityArgument::Durable => Self::Durable,
            DurabilityArgument::Lazy => Self::Lazy,
        }
    }
}
