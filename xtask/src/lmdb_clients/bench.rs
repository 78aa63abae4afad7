//! The clients, the libraries that they run on, and their command line.

use crate::clients::{Prefix, Side, WorkArea};
use clap::ValueEnum;
use std::path::PathBuf;

/// Runs clients of LMDB on the library with its interface: their tests, and LMDB's own programs,
/// whose output is compared
#[derive(clap::Args)]
pub(crate) struct LmdbClientsArguments {
    /// The clients to run; may be given several times
    #[arg(long, value_enum, default_value = "own")]
    pub(super) client: Vec<Client>,
    /// The library to run tests on. On the original, LMDB, failing tests are only listed
    #[arg(long, value_enum, default_value = "teak")]
    pub(super) on: Side,
    /// The directory of LMDB's sources; by default those of the crate lmdb-master-sys
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) sources: Option<PathBuf>,
    /// The library; built if it is not given
    #[arg(long, value_name = "FILE")]
    pub(super) library: Option<PathBuf>,
    /// The C compiler
    #[arg(long, default_value = "cc")]
    pub(super) compiler: String,
    /// The Python interpreter for building and running py-lmdb
    #[arg(long, default_value = "python3")]
    pub(super) python: String,
    /// Time limit of a program, in seconds
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
    /// The package of npm: a program over it, whose output is compared
    LmdbJs,
    /// Postfix's maps
    Postfix,
    /// Samba's tools for its database
    Ldb,
    /// PowerDNS's zones
    Powerdns,
    /// PHP's interface to databases
    Php,
    /// MapCache's tiles
    Mapcache,
    /// 389 Directory Server
    #[value(name = "389ds")]
    DirectoryServer,
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

/// The parameters of running a client.
pub(super) struct ClientBench<'b> {
    pub(super) arguments: &'b LmdbClientsArguments,
    pub(super) area: WorkArea,
    /// The library that they are linked with.
    pub(super) prefix: Prefix,
}
