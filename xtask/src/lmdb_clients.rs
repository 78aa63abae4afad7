//! Clients of LMDB on the library of `crates/teak-lmdb`. Their sources come from where they are
//! published, are built below the target directory, and are not committed. Of LMDB's own programs
//! what they print is compared with what they print on LMDB; of the others the tests are run, and
//! all pass but those that a list in the repository names, with the reason.

mod bench;
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

use crate::{Failure, built};
use bench::{Client, ClientBench, Side};
use clap::ValueEnum;
use exceptions::Exceptions;
use library::Prefix;
use std::fs;

pub(crate) use bench::LmdbClientsArguments;

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
        let exceptions = fs::read_to_string(built::workspace().join(&file))?;
        Exceptions::parse(&exceptions)?.compare(&outcomes)
    }
}
