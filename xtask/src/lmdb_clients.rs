//! Runs clients of LMDB on the library of `crates/teak-lmdb`. Their sources are downloaded from
//! where they are published, built below the target directory, and not committed. For LMDB's own
//! programs, and for bindings and programs whose tests are not published, the output is compared
//! with that on LMDB. For the others, all tests must pass except those listed in the repository
//! with a reason.

mod bench;
mod comparison;
mod crates;
mod debian;
mod exceptions;
pub(crate) mod library;
mod lmdb_js;
mod lmdbjava;
mod openldap;
mod outcomes;
mod own;
mod python;
mod running;
pub(crate) mod version_1;

use crate::{Failure, Result, built, names::Named};
use bench::{Client, ClientBench, Side};
use clap::ValueEnum;
use exceptions::Exceptions;
use library::Prefix;
use std::fs;

pub(crate) use bench::LmdbClientsArguments;

/// Runs the requested clients.
pub(crate) fn run(arguments: &LmdbClientsArguments) -> Result {
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
    ensure!(failed.is_empty(), "not as expected: {}", failed.join(", "));
    Ok(())
}

impl ClientBench<'_> {
    fn run(&self, client: Client) -> Result {
        let outcomes = match client {
            Client::Own => return own::run(self.arguments, &self.prefix),
            Client::Openldap => return openldap::run(self),
            Client::Lmdbjava => return lmdbjava::run(self),
            Client::LmdbJs => return lmdb_js::run(self),
            Client::Postfix
            | Client::Ldb
            | Client::Powerdns
            | Client::Php
            | Client::Mapcache
            | Client::DirectoryServer => return debian::run(self, client),
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
