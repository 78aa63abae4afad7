//! Programs that Debian's packages have. The packages are unpacked below the target directory, and
//! not installed. A script in `crates/teak-lmdb/tests/clients/debian` runs each program on LMDB and
//! on the library, and must print the same.

use super::bench::{Client, ClientBench};
use crate::{
    Context, Result, built,
    clients::{ClientEnd, Side, comparison, debian::Unpacked},
    names::Named,
};

/// The packages of each client.
const CLIENTS: [(Client, &[&str]); 6] = [
    (Client::Postfix, &["postfix", "postfix-lmdb"]),
    (Client::Ldb, &["ldb-tools"]),
    (Client::Powerdns, &["pdns-server", "pdns-backend-lmdb"]),
    (Client::Php, &["php8.2-cli", "php8.2-dba"]),
    (Client::Mapcache, &["mapcache-tools"]),
    (Client::DirectoryServer, &["389-ds-base", "ldap-utils"]),
];

/// Runs a client's script, if its packages can be downloaded.
pub(super) fn run(bench: &ClientBench<'_>, client: Client) -> Result<ClientEnd> {
    let name = &client.name();
    let entry = CLIENTS.iter().find(|(one, _)| *one == client);
    let (_, packages) = entry.context(format_args!("{name} has no packages"))?;
    let Some(unpacked) = Unpacked::new(&bench.area, name, packages)? else {
        return Ok(ClientEnd::Skipped);
    };
    let script = built::workspace()
        .join("crates/teak-lmdb/tests/clients/debian")
        .join(name)
        .with_extension("sh");
    comparison::compare(&bench.area, name, |side, _| {
        unpacked.script(&script, (side == Side::Teak).then_some(&bench.prefix))
    })?;
    Ok(ClientEnd::Completed)
}
