//! LMDB for the workloads of `compare`.

use super::{
    Lmdb,
    raw::{LmdbAccess, LmdbEnvironment, LmdbMove, LmdbTable, LmdbTransaction},
};
use crate::engines::{
    mapped::mapped_connection,
    store::{Connection, LookupTransaction, Read, ScanDirection, Store, StorePair, Write},
};
use anyhow::Result;
use lmdb_master_sys as ffi;

impl Store for Lmdb {
    type Connection<'s> = &'s LmdbEnvironment;

    fn connect(&self) -> Result<Self::Connection<'_>> {
        Ok(&self.environment)
    }

    fn sync(&self) -> Result<()> {
        self.environment.sync()
    }

    fn used_bytes(&self) -> Result<Option<u64>> {
        self.used().map(Some)
    }
}

mapped_connection!(types: (LmdbEnvironment, LmdbTransaction, LmdbAccess, LmdbMove), cursor: (LmdbTable::Records), put: 0, append: ffi::MDB_APPEND);
