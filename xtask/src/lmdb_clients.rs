//! Clients of LMDB on the library of `crates/teak-lmdb`. Their sources come from where they are published, are built below the target
//! directory, and are not committed. Of LMDB's own programs what they print is compared with what they print on LMDB; of the others the
//! tests are run, and all pass but those that a list in the repository names, with the reason.

mod crates;
mod exceptions;
pub(crate) mod library;
mod lmdbjava;
mod openldap;
mod outcomes;
mod own;
mod python;
mod running;
pub(crate) mod version_1;

use crate::{Failure, built, scratch};
use clap::ValueEnum;
use exceptions::Exceptions;
use library::Prefix;
use std::{fs, path::PathBuf, time::Duration};

/// Runs clients of LMDB on the library with its interface: their tests, and LMDB's own programs, whose output is compared
#[derive(clap::Args)]
pub(crate) struct LmdbClientsArguments {
    /// Which clients; more than one if this is given more than once
    #[arg(long, value_enum, default_value = "own")]
    client: Vec<Client>,
    /// On which library tests run: on LMDB itself it is only told which of them fail there
    #[arg(long, value_enum, default_value = "teak")]
    on: Side,
    /// Where LMDB's sources are; those of the crate lmdb-master-sys if this is not given
    #[arg(long, value_name = "DIRECTORY")]
    sources: Option<PathBuf>,
    /// The library, if it is not to be built
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The C compiler
    #[arg(long, default_value = "cc")]
    compiler: String,
    /// The Python with which py-lmdb is built and run
    #[arg(long, default_value = "python3")]
    python: String,
    /// How many seconds a program may take
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    time_limit: u64,
}

/// A client, or all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Client {
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

/// With what clients are linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Side {
    Lmdb,
    Teak,
}

/// What running a client needs.
struct ClientBench<'b> {
    arguments: &'b LmdbClientsArguments,
    /// Where clients are built.
    directory: PathBuf,
    /// The library that they are linked with.
    prefix: Prefix,
}

impl ClientBench<'_> {
    fn time_limit(&self) -> Duration {
        Duration::from_secs(self.arguments.time_limit)
    }
}

/// Runs the clients that are asked for.
pub(crate) fn run(arguments: &LmdbClientsArguments) -> Result<(), Failure> {
    let mut clients = arguments.client.clone();
    if clients.contains(&Client::All) {
        clients = Client::value_variants().to_vec();
    }
    let library = match &arguments.library {
        Some(library) => fs::canonicalize(library)?,
        None => built::library("teak-lmdb", "liblmdb.so")?,
    };
    let directory = built::target_directory()?.join("lmdb-clients");
    fs::create_dir_all(&directory)?;
    let prefix = Prefix::of_teak(&directory, &library)?;
    let bench = ClientBench {
        arguments,
        directory,
        prefix,
    };
    let mut failed = Vec::new();
    for client in clients {
        if let Err(Failure(why)) = bench.run(client) {
            eprintln!("{}: {why}", client.name());
            failed.push(client.name());
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure(format!("not as expected: {}", failed.join(", ")))),
    }
}

impl ClientBench<'_> {
    fn run(&self, client: Client) -> Result<(), Failure> {
        let outcomes = match client {
            Client::Own => return own::run(self.arguments, &self.prefix),
            Client::Openldap => return openldap::run(self),
            Client::Lmdbjava => return lmdbjava::run(self),
            Client::All => return Ok(()),
            Client::PyLmdb => python::run(self)?,
            Client::Heed => crates::run(self, &crates::HEED)?,
            Client::LmdbZero => crates::run(self, &crates::LMDB_ZERO)?,
            Client::LmdbRkv => crates::run(self, &crates::LMDB_RKV)?,
            Client::Rkv => crates::run(self, &crates::RKV)?,
        };
        let name = client.name();
        println!("{name} on {}: {outcomes}", self.arguments.on.name());
        if self.arguments.on == Side::Lmdb {
            for failed in outcomes.failed() {
                println!("  fails: {failed}");
            }
            return Ok(());
        }
        let file = format!("crates/teak-lmdb/tests/clients/{name}.txt");
        let exceptions = fs::read_to_string(scratch::workspace().join(&file))?;
        Exceptions::parse(&exceptions)?.compare(&outcomes)
    }
}

impl Client {
    /// As it is given on the command line.
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Lmdb => "LMDB",
            Self::Teak => "Teak",
        }
    }
}
