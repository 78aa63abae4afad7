//! redb: a table of raw bytes.

use super::{
    Durability,
    store::{
        CacheBudget, Connection, LookupTransaction, Read, ScanDirection, Store, StorePair, Write,
    },
};
use anyhow::Result;
use redb::{
    Builder, Database, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};
use self_cell::self_cell;
use std::path::Path;

const FILE_NAME: &str = "bench.redb";
const RECORDS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");

type RedbTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

self_cell!(
    /// A write transaction, with the table opened once.
    pub(crate) struct RedbWrite {
        owner: WriteTransaction,
        #[not_covariant]
        dependent: RedbTable,
    }
);

/// An open database.
pub(crate) struct Redb {
    database: Database,
    durability: redb::Durability,
    path: std::path::PathBuf,
}

impl Redb {
    /// Opens the database in `directory`, or creates it.
    pub(crate) fn open(
        directory: &Path,
        durability: Durability,
        room: CacheBudget,
    ) -> Result<Self> {
        let path = directory.join(FILE_NAME);
        let cache_bytes = usize::try_from(room.cache_bytes)?;
        let database = Builder::new().set_cache_size(cache_bytes).create(&path)?;
        let transaction = database.begin_write()?;
        transaction.open_table(RECORDS)?;
        transaction.commit()?;
        Ok(Self {
            database,
            durability: match durability {
                Durability::Durable => redb::Durability::Immediate,
                _ => redb::Durability::None,
            },
            path,
        })
    }
}

impl Store for Redb {
    type Connection<'s> = &'s Redb;

    fn connect(&self) -> Result<&Self> {
        Ok(self)
    }

    fn sync(&self) -> Result<()> {
        // A commit that waits for the disk flushes the earlier ones too.
        Ok(self.database.begin_write()?.commit()?)
    }

    fn used_bytes(&self) -> Result<Option<u64>> {
        let transaction = self.database.begin_write()?;
        let stats = transaction.stats()?;
        let bytes = stats.allocated_pages() * stats.page_size() as u64;
        transaction.abort()?;
        Ok(Some(bytes.min(std::fs::metadata(&self.path)?.len())))
    }
}

impl Connection for &Redb {
    type Read<'r>
        = ReadOnlyTable<&'static [u8], &'static [u8]>
    where
        Self: 'r;
    type Write<'w>
        = RedbWrite
    where
        Self: 'w;

    fn read(&mut self) -> Result<Self::Read<'_>> {
        Ok(self.database.begin_read()?.open_table(RECORDS)?)
    }

    fn write(&mut self) -> Result<RedbWrite> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        Ok(RedbWrite::try_new(transaction, |transaction| {
            transaction.open_table(RECORDS)
        })?)
    }
}

impl LookupTransaction for ReadOnlyTable<&'static [u8], &'static [u8]> {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        let found = ReadOnlyTable::get(self, key)?;
        Ok(found.map(|value| see(value.value())).is_some())
    }
}

impl Read for ReadOnlyTable<&'static [u8], &'static [u8]> {
    fn scan(
        &mut self,
        direction: ScanDirection<'_>,
        most: u64,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let most = usize::try_from(most)?;
        let mut range = match direction {
            ScanDirection::From(key) => ReadOnlyTable::range::<&[u8]>(self, key..)?,
            _ => self.iter()?,
        };
        for _ in 0..most {
            let record = match direction {
                ScanDirection::Backwards => range.next_back(),
                _ => range.next(),
            };
            let Some(record) = record else { break };
            let (key, value) = record?;
            see(key.value(), value.value());
        }
        Ok(())
    }
}

impl LookupTransaction for RedbWrite {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        self.with_dependent(|_, table| {
            let found = table.get(key)?;
            Ok(found.map(|value| see(value.value())).is_some())
        })
    }
}

impl Write for RedbWrite {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_all(&[(key, value)])
    }

    fn put_all(&mut self, records: &[StorePair<'_>]) -> Result<()> {
        self.with_dependent_mut(|_, table| {
            for (key, value) in records {
                table.insert(*key, *value)?;
            }
            Ok(())
        })
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.with_dependent_mut(|_, table| {
            table.remove(key)?;
            Ok(())
        })
    }

    fn commit(self) -> Result<()> {
        Ok(self.into_owner().commit()?)
    }
}
