//! libmdbx as the works of `compare` see it.

use super::{
    Mdbx,
    raw::{Access, Cursor, Environment, Move, Transaction},
};
use crate::engines::store::{Connection, Lookup, Pair, Read, Store, Way, Write};
use anyhow::Result;
use mdbx_sys as ffi;
use std::time::Duration;

impl Mdbx {
    /// Has a commit flush what is older than this and was not flushed.
    pub(crate) fn flush_after(&self, age: Duration) -> Result<()> {
        // In parts of 65,536 of a second.
        let parts = age.as_secs() << 16;
        self.environment.set(ffi::MDBX_opt_sync_period, parts)
    }

    /// Has write transactions keep no more than this in memory.
    pub(crate) fn limit_transactions(&self, bytes: u64) -> Result<()> {
        let pages = bytes / self.environment.page_size()?;
        self.environment.set(ffi::MDBX_opt_txn_dp_limit, pages)
    }
}

impl Store for Mdbx {
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

impl Connection for &Environment {
    type Read<'r>
        = Transaction<'r>
    where
        Self: 'r;
    type Write<'w>
        = Transaction<'w>
    where
        Self: 'w;

    #[inline]
    fn read(&mut self) -> Result<Transaction<'_>> {
        self.begin(Access::Read)
    }

    #[inline]
    fn write(&mut self) -> Result<Transaction<'_>> {
        self.begin(Access::Write)
    }
}

impl Lookup for Transaction<'_> {
    #[inline]
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        Ok(Transaction::get(self, key)?.map(&mut see).is_some())
    }
}

impl Read for Transaction<'_> {
    fn scan(&mut self, way: Way<'_>, most: u64, mut see: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let mut cursor: Cursor<'_> = self.cursor()?;
        let (mut found, step) = match way {
            Way::Forwards => (cursor.go(Move::Next)?, Move::Next),
            Way::Backwards => (cursor.go(Move::Previous)?, Move::Previous),
            Way::From(key) => (cursor.seek(key)?, Move::Next),
        };
        let mut left = most;
        while let Some((key, value)) = found {
            see(key, value);
            left -= 1;
            if left == 0 {
                break;
            }
            found = cursor.go(step)?;
        }
        Ok(())
    }
}

impl Write for Transaction<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Transaction::put(self, key, value, ffi::MDBX_UPSERT)
    }

    fn append(&mut self, records: &[Pair<'_>]) -> Result<()> {
        records
            .iter()
            .try_for_each(|(key, value)| Transaction::put(self, key, value, ffi::MDBX_APPEND))
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<()> {
        Transaction::remove(self, key)
    }

    #[inline]
    fn commit(self) -> Result<()> {
        Transaction::commit(self)
    }
}
