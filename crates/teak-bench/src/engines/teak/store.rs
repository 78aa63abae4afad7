//! Teak for the workloads of `compare`.

use super::Teak;
use crate::engines::{
    Durability,
    store::{
        Connection, LookupTransaction, Read, RecordBatches, ScanDirection, Store, StorePair, Write,
    },
};
use anyhow::Result;
use std::iter;
use teak::{BulkOptions, ReadTxn, SeekOp, Ticket, WriteTxn};

/// Records per request while unsorted records are loaded.
const LOAD_BATCH: usize = 10_000;

/// A key and its value.
type OwnedPair = (Box<[u8]>, Box<[u8]>);

/// Teak, and the ticket of the thread's last commit, if nothing has waited for it yet.
pub(crate) struct TeakConnection<'s> {
    teak: &'s Teak,
    last: Option<Ticket>,
}

/// A read transaction.
pub(crate) struct TeakRead<'s> {
    teak: &'s Teak,
    transaction: ReadTxn,
}

/// A write transaction.
pub(crate) struct TeakWrite<'s> {
    teak: &'s Teak,
    transaction: WriteTxn,
    last: &'s mut Option<Ticket>,
}

impl Store for Teak {
    type Connection<'s> = TeakConnection<'s>;

    fn connect(&self) -> Result<TeakConnection<'_>> {
        Ok(TeakConnection {
            teak: self,
            last: None,
        })
    }

    fn sync(&self) -> Result<()> {
        Ok(self.database.sync()?)
    }

    fn used_bytes(&self) -> Result<Option<u64>> {
        let stat = self.database.stat()?;
        Ok(Some(stat.used_pages * stat.page_size as u64))
    }

    fn close(self) -> Result<()> {
        Ok(self.database.close()?)
    }
}

impl Connection for TeakConnection<'_> {
    type Read<'r>
        = TeakRead<'r>
    where
        Self: 'r;
    type Write<'w>
        = TeakWrite<'w>
    where
        Self: 'w;

    #[inline]
    fn read(&mut self) -> Result<TeakRead<'_>> {
        Ok(TeakRead {
            teak: self.teak,
            transaction: self.teak.database.begin_read()?,
        })
    }

    #[inline]
    fn write(&mut self) -> Result<TeakWrite<'_>> {
        Ok(TeakWrite {
            teak: self.teak,
            transaction: self.teak.database.begin_write()?,
            last: &mut self.last,
        })
    }

    fn load(&mut self, records: &mut dyn RecordBatches) -> Result<()> {
        let mut transaction = self.teak.database.begin_write()?;
        let mut batch: Vec<OwnedPair> = Vec::new();
        let records = iter::from_fn(|| {
            if batch.is_empty() {
                let next = records.next_batch(LOAD_BATCH)?;
                let next = next.into_iter().rev();
                batch.extend(next.map(|(key, value)| (key.into(), value.into())));
            }
            batch.pop()
        });
        let (options, table) = (BulkOptions::default(), &self.teak.table);
        table.bulk_load_unsorted(&mut transaction, records, options, &mut |_| {})?;
        transaction.commit()?;
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        // Commits become durable in order, so the last one stands for all.
        if let Some(ticket) = self.last.take() {
            ticket.wait()?;
        }
        Ok(())
    }
}

impl LookupTransaction for TeakRead<'_> {
    #[inline]
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        let found = self.teak.table.get(&self.transaction, key)?;
        Ok(found.map(&mut see).is_some())
    }
}

impl Read for TeakRead<'_> {
    fn get_many(&mut self, keys: &[&[u8]], see: impl FnMut(&[u8])) -> Result<()> {
        let found = self.teak.table.get_many(&self.transaction, keys)?;
        found.into_iter().flatten().for_each(see);
        Ok(())
    }

    fn scan(
        &mut self,
        direction: ScanDirection<'_>,
        most: u64,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let mut cursor = self.teak.table.cursor(&self.transaction)?;
        let mut found = match direction {
            ScanDirection::Forwards => cursor.first()?,
            ScanDirection::Backwards => cursor.last()?,
            ScanDirection::From(key) => cursor.seek(SeekOp::GreaterOrEqual, key)?,
        };
        let mut left = most;
        while found {
            see(cursor.key(), cursor.value()?);
            left -= 1;
            if left == 0 {
                break;
            }
            found = match direction {
                ScanDirection::Backwards => cursor.prev()?,
                ScanDirection::Forwards | ScanDirection::From(_) => cursor.next()?,
            };
        }
        Ok(())
    }
}

impl LookupTransaction for TeakWrite<'_> {
    #[inline]
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        let found = self.teak.table.get(&self.transaction, key)?;
        Ok(found.map(&mut see).is_some())
    }
}

impl Write for TeakWrite<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.teak.table.insert(&mut self.transaction, key, value)?)
    }

    fn put_all(&mut self, records: &[StorePair<'_>]) -> Result<()> {
        let table = &self.teak.table;
        table.insert_many(&mut self.transaction, records)?;
        Ok(())
    }

    fn append(&mut self, records: &[StorePair<'_>]) -> Result<()> {
        let records = records.iter().copied();
        self.teak.table.bulk_load(&mut self.transaction, records)?;
        Ok(())
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.teak.table.remove(&mut self.transaction, key)?;
        Ok(())
    }

    fn remove_all(&mut self, keys: &[&[u8]]) -> Result<()> {
        let table = &self.teak.table;
        table.remove_many(&mut self.transaction, keys)?;
        Ok(())
    }

    #[inline]
    fn commit(self) -> Result<()> {
        if self.teak.durability == Durability::Async {
            *self.last = Some(self.transaction.commit_async()?);
        } else {
            self.transaction.commit()?;
        }
        Ok(())
    }
}
