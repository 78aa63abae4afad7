//! LMDB as the works of `compare` see it.

use super::{
    Lmdb,
    raw::{Access, Environment, Move, Table, Transaction},
};
use crate::engines::{
    mapped::mapped_connection,
    store::{Connection, Lookup, Pair, Read, Store, Way, Write},
};
use anyhow::Result;
use lmdb_master_sys as ffi;

impl Store for Lmdb {
    type Connection<'s> = &'s Environment;

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

mapped_connection!(cursor: (Table::Records), put: 0, append: ffi::MDB_APPEND);
