//! libmdbx for the workloads of `compare`.

use super::{
    Mdbx,
    raw::{MdbxAccess, MdbxEnvironment, MdbxMove, MdbxTransaction},
};
use crate::engines::{
    mapped::mapped_connection,
    store::{Connection, LookupTransaction, Read, ScanDirection, Store, StorePair, Write},
};
use anyhow::Result;
use mdbx_sys as ffi;
use std::time::Duration;

impl Mdbx {
    /// Sets the age at which unflushed commits are flushed by a later one.
    pub(crate) fn flush_after(&self, age: Duration) -> Result<()> {
        // In units of 1/65,536 of a second.
        let parts = age.as_secs() << 16;
        self.environment.set(ffi::MDBX_opt_sync_period, parts)
    }

    /// Limits the memory of write transactions.
    pub(crate) fn limit_transactions(&self, bytes: u64) -> Result<()> {
        let pages = bytes / self.environment.page_size()?;
        self.environment.set(ffi::MDBX_opt_txn_dp_limit, pages)
    }
}

impl Store for Mdbx {
    type Connection<'s> = &'s MdbxEnvironment;

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

mapped_connection!(types: (MdbxEnvironment, MdbxTransaction, MdbxAccess, MdbxMove), cursor: (), put: ffi::MDBX_UPSERT, append: ffi::MDBX_APPEND);
