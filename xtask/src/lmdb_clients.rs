//! Runs clients of LMDB on the library of `crates/teak-lmdb`. Their sources are downloaded from
//! where they are published, built below the target directory, and not committed. For LMDB's own
//! programs, and for bindings and programs whose tests are not published, the output is compared
//! with that on LMDB. For the others, all tests must pass except those listed in the repository
//! with a reason.

mod bench;
mod crates;
mod debian;
pub(crate) mod library;
mod lmdb_js;
mod lmdbjava;
mod openldap;
mod own;
mod python;
pub(crate) mod version_1;

use crate::{
    Result, built,
    clients::{
        self, ClientEnd, Side, WorkArea, crates::ClientCrate, exceptions::Exceptions,
        outcomes::TestOutcomes,
    },
    names::Named,
};
use bench::{Client, ClientBench};
use std::{fs, time::Duration};

pub(crate) use bench::LmdbClientsArguments;

/// Runs the requested clients.
pub(crate) fn run(arguments: &LmdbClientsArguments) -> Result {
    let library = match &arguments.library {
        Some(library) => fs::canonicalize(library)?,
        None => built::library("teak-lmdb", built::CAMPAIGN, "liblmdb.so")?,
    };
    let directory = built::target_directory()?.join("lmdb-clients");
    fs::create_dir_all(&directory)?;
    let prefix = library::of_teak(&directory, &library)?;
    let bench = ClientBench {
        arguments,
        area: WorkArea {
            directory,
            time_limit: Duration::from_secs(arguments.time_limit),
        },
        prefix,
    };
    clients::run_all(&arguments.client, Client::All, |client| bench.run(client))
}

impl ClientBench<'_> {
    fn run(&self, client: Client) -> Result<ClientEnd> {
        let outcomes = match client {
            Client::Own => {
                own::run(self.arguments, &self.prefix)?;
                return Ok(ClientEnd::Completed);
            }
            Client::Openldap => return openldap::run(self),
            Client::Lmdbjava => return lmdbjava::run(self),
            Client::LmdbJs => return lmdb_js::run(self),
            Client::Postfix
            | Client::Ldb
            | Client::Powerdns
            | Client::Php
            | Client::Mapcache
            | Client::DirectoryServer => return debian::run(self, client),
            Client::All => return Ok(ClientEnd::Skipped),
            Client::PyLmdb => python::run(self)?,
            Client::Heed => self.run_crate(&crates::HEED)?,
            Client::LmdbZero => self.run_crate(&crates::LMDB_ZERO)?,
            Client::LmdbRkv => self.run_crate(&crates::LMDB_RKV)?,
            Client::Rkv => self.run_crate(&crates::RKV)?,
        };
        let name = client.name();
        println!("{name} on {}: {outcomes}", self.arguments.on.name());
        if self.arguments.on == Side::Original {
            for failed in outcomes.failed() {
                println!("  fails: {failed}");
            }
            return Ok(ClientEnd::Completed);
        }
        let file = format!("crates/teak-lmdb/tests/clients/{name}.txt");
        let exceptions = fs::read_to_string(built::workspace().join(&file))?;
        Exceptions::parse(&exceptions)?.compare(&outcomes)?;
        Ok(ClientEnd::Completed)
    }

    fn run_crate(&self, package: &ClientCrate) -> Result<TestOutcomes> {
        let side = self.arguments.on;
        let prefix = (side == Side::Teak).then_some(&self.prefix);
        clients::crates::run(&self.area, package, side, prefix)
    }
}
