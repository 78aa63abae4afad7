//! The clients, the libraries that they run on, and their command line.

use super::library::Prefix;
use clap::ValueEnum;
use std::{path::PathBuf, time::Duration};

/// Runs clients of LMDB on the library with its interface: their tests, and LMDB's own programs,
/// whose output is compared
#[derive(clap::Args)]
pub(crate) struct LmdbClientsArguments {
    /// Which clients; more than one if this is given more than once
    #[arg(long, value_enum, default_value = "own")]
    pub(super) client: Vec<Client>,
    /// The library that tests run on. On LMDB itself, failing tests are only listed
    #[arg(long, value_enum, default_value = "teak")]
    pub(super) on: Side,
    /// Where LMDB's sources are; those of the crate lmdb-master-sys if this is not given
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) sources: Option<PathBuf>,
    /// The library, if it is not to be built
    #[arg(long, value_name = "FILE")]
    pub(super) library: Option<PathBuf>,
    /// The C compiler
    #[arg(long, default_value = "cc")]
    pub(super) compiler: String,
    /// The Python with which py-lmdb is built and run
    #[arg(long, default_value = "python3")]
    pub(super) python: String,
    /// How many seconds a program may take
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub(super) time_limit: u64,
}

/// A client, or all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Client {
    /// LMDB's test programs and tools
    Own,
    /// OpenLDAP's server and its tools, whose output is compared
    Openldap,
    /// The binding for Python, both of its modules
    PyLmdb,
    /// The binding for Java: a program over it, whose output is compared
    Lmdbjava,
    /// The typed binding for Rust, and its examples
    Heed,
    /// A binding for Rust
    LmdbZero,
    /// A binding for Rust
    LmdbRkv,
    /// The store over that binding
    Rkv,
    All,
}

impl Client {
    /// As it is given on the command line.
    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// With what clients are linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Side {
    Lmdb,
    Teak,
}

impl Side {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lmdb => "LMDB",
            Self::Teak => "Teak",
        }
    }
}

/// The parameters of running a client.
pub(super) struct ClientBench<'b> {
    pub(super) arguments: &'b LmdbClientsArguments,
    /// Where clients are built.
    pub(super) directory: PathBuf,
    /// The library that they are linked with.
    pub(super) prefix: Prefix,
}

impl ClientBench<'_> {
    pub(super) fn time_limit(&self) -> Duration {
        Duration::from_secs(self.arguments.time_limit)
    }
}
