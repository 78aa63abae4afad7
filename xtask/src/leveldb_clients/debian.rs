//! Programs of Debian's packages. A script in `crates/teak-leveldb/tests/clients/debian` runs each
//! program on LevelDB and on the library, and must print the same.

use super::bench::{LeveldbBench, LeveldbClient};
use crate::{
    Context, Result, built,
    clients::{ClientEnd, debian::Unpacked},
    names::Named,
};

/// The packages of each client.
const CLIENTS: [(LeveldbClient, &[&str]); 3] = [
    (LeveldbClient::Librime, &["librime-bin"]),
    (LeveldbClient::Ceph, &["ceph-base"]),
    (
        LeveldbClient::Minetest,
        &["minetest-server", "minetest-data"],
    ),
];

/// Runs a client's script, if its packages can be downloaded.
pub(super) fn run(bench: &LeveldbBench<'_>, client: LeveldbClient) -> Result<ClientEnd> {
    let name = &client.name();
    let entry = CLIENTS.iter().find(|(one, _)| *one == client);
    let (_, packages) = entry.context(format_args!("{name} has no packages"))?;
    let Some(unpacked) = Unpacked::new(&bench.area, name, packages)? else {
        return Ok(ClientEnd::Skipped);
    };
    let script = built::workspace()
        .join("crates/teak-leveldb/tests/clients/debian")
        .join(name)
        .with_extension("sh");
    bench.compare(name, |side, _| {
        unpacked.script(&script, Some(bench.prefix(side)))
    })?;
    Ok(ClientEnd::Completed)
}
