//! fjall: a keyspace. A batch serves as write transaction, a snapshot as read transaction.

use super::{
    Durability,
    store::{
        CacheBudget, Connection, LookupTransaction, Read, ScanDirection, Store, Write,
        wait_until_quiet,
    },
};
use anyhow::Result;
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot,
    config::CompressionPolicy,
};
use std::path::Path;

/// An open database.
pub(crate) struct Fjall {
    database: Database,
    records: Keyspace,
    commits: PersistMode,
}

/// A read transaction.
pub(crate) struct FjallRead<'s> {
    snapshot: Snapshot,
    fjall: &'s Fjall,
}

/// A write transaction.
pub(crate) struct FjallWrite<'s> {
    batch: fjall::OwnedWriteBatch,
    fjall: &'s Fjall,
}

impl Fjall {
    /// Opens the database in `directory`, or creates it.
    pub(crate) fn open(
        directory: &Path,
        durability: Durability,
        room: CacheBudget,
    ) -> Result<Self> {
        let database = Database::builder(directory.join("fjall"));
        let database = database.cache_size(room.cache_bytes).open()?;
        let options = || {
            let plain = CompressionPolicy::all(CompressionType::None);
            KeyspaceCreateOptions::default().data_block_compression_policy(plain)
        };
        Ok(Self {
            records: database.keyspace("records", options)?,
            database,
            commits: match durability {
                Durability::Durable => PersistMode::SyncData,
                _ => PersistMode::Buffer,
            },
        })
    }
}

impl Store for Fjall {
    type Connection<'s> = &'s Fjall;

    fn connect(&self) -> Result<&Self> {
        Ok(self)
    }

    fn sync(&self) -> Result<()> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn rest(&self) -> Result<()> {
        wait_until_quiet()
    }
}

impl Connection for &Fjall {
    type Read<'r>
        = FjallRead<'r>
    where
        Self: 'r;
    type Write<'w>
        = FjallWrite<'w>
    where
        Self: 'w;

    fn read(&mut self) -> Result<FjallRead<'_>> {
        Ok(FjallRead {
            snapshot: self.database.snapshot(),
            fjall: self,
        })
    }

    fn write(&mut self) -> Result<FjallWrite<'_>> {
        Ok(FjallWrite {
            batch: self.database.batch().durability(Some(self.commits)),
            fjall: self,
        })
    }
}

impl LookupTransaction for FjallRead<'_> {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        let found = self.snapshot.get(&self.fjall.records, key)?;
        Ok(found.map(|value| see(&value)).is_some())
    }
}

impl Read for FjallRead<'_> {
    fn scan(
        &mut self,
        direction: ScanDirection<'_>,
        most: u64,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let records = &self.fjall.records;
        let mut range = match direction {
            ScanDirection::From(key) => self.snapshot.range(records, key..),
            _ => self.snapshot.iter(records),
        };
        for _ in 0..most {
            let record = match direction {
                ScanDirection::Backwards => range.next_back(),
                _ => range.next(),
            };
            let Some(record) = record else { break };
            let (key, value) = record.into_inner()?;
            see(&key, &value);
        }
        Ok(())
    }
}

impl LookupTransaction for FjallWrite<'_> {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        let found = self.fjall.records.get(key)?;
        Ok(found.map(|value| see(&value)).is_some())
    }
}

impl Write for FjallWrite<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.batch.insert(&self.fjall.records, key, value);
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.batch.remove(&self.fjall.records, key);
        Ok(())
    }

    fn commit(self) -> Result<()> {
        Ok(self.batch.commit()?)
    }
}
