//! Clients in Rust: published crates.

use crate::clients::crates::{ClientCrate, LinkMethod, LinkedLibrary};

const LMDB: LinkedLibrary = LinkedLibrary {
    name: "lmdb",
    file: "liblmdb.so.0",
    function: "mdb_env_open",
};

pub(super) const HEED: ClientCrate = ClientCrate {
    name: "heed",
    version: "0.22.0",
    features: &["serde-rmp"],
    library: &LMDB,
    link: LinkMethod::Patch("lmdb-master-sys"),
};
pub(super) const LMDB_ZERO: ClientCrate = ClientCrate {
    name: "lmdb-zero",
    version: "0.4.4",
    features: &[],
    library: &LMDB,
    link: LinkMethod::Override,
};
pub(super) const LMDB_RKV: ClientCrate = ClientCrate {
    name: "lmdb-rkv",
    version: "0.14.0",
    features: &[],
    library: &LMDB,
    link: LinkMethod::PackageConfiguration,
};
pub(super) const RKV: ClientCrate = ClientCrate {
    name: "rkv",
    version: "0.19.0",
    features: &["lmdb"],
    library: &LMDB,
    link: LinkMethod::PackageConfiguration,
};
