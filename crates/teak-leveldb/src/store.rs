//! An open database.

use crate::{
    batch::{self, Entry},
    failure::Result,
    iterator::StoreIterator,
    lock_file::LockFile,
    long_keys::Tables,
    writers::Writers,
};
use std::ops::{Bound, ControlFlow};
use teak::{
    CompactOptions, Database, Durability, ReadTxn, TableDef, WriteOptions, WriteTxn, codec::Raw,
};

/// The share of free pages, in hundredths, from which on a file is worth compacting.
const FREE_PERCENT: u64 = 5;

/// From this many entries on, a batch is applied in key order.
const IN_KEY_ORDER_MIN: usize = 8;

/// An open database. All methods may be called by several threads.
pub struct Store {
    database: Database,
    tables: Tables,
    writers: Writers,
    /// Held while it is open; none for databases in memory.
    _lock: Option<LockFile>,
}

impl Store {
    pub(crate) fn new(database: Database, tables: Tables, lock: Option<LockFile>) -> Self {
        Self {
            database,
            tables,
            writers: Writers::default(),
            _lock: lock,
        }
    }

    /// The newest state.
    pub(crate) fn snapshot(&self) -> Result<ReadTxn> {
        Ok(self.database.begin_read()?)
    }

    /// Shows the value of a key in a state to `found`. Returns whether there is one.
    #[inline]
    pub(crate) fn get(
        &self,
        snapshot: Option<&ReadTxn>,
        key: &[u8],
        found: impl FnOnce(&[u8]),
    ) -> Result<bool> {
        let newest;
        let txn = match snapshot {
            Some(snapshot) => snapshot,
            None => {
                newest = self.database.begin_read()?;
                &newest
            }
        };
        let value = self.tables.get(txn, key)?;
        Ok(value.map(found).is_some())
    }

    pub(crate) fn iterator(&self, snapshot: Option<&ReadTxn>) -> Result<StoreIterator> {
        match snapshot {
            Some(snapshot) => StoreIterator::new(snapshot, &self.tables),
            None => StoreIterator::new(&self.database.begin_read()?, &self.tables),
        }
    }

    /// Writes a batch. With `is_synced` it and all earlier ones are durable afterwards. Without, it
    /// survives the end of the process, but perhaps not that of the system.
    pub(crate) fn write(&self, batch: &[u8], is_synced: bool) -> Result<()> {
        // A malformed batch fails alone, and not the others that are written with it.
        for entry in batch::entries(batch)? {
            let (Entry::Put(key, _) | Entry::Delete(key)) = entry?;
            self.tables.refuse_too_long(key)?;
        }
        self.writers.write(batch, is_synced, |batches, is_synced| {
            let options = WriteOptions::new().durability(match is_synced {
                true => Durability::Durable,
                false => Durability::Lazy,
            });
            let txn = self.database.begin_write_with(options)?;
            let mut txn = txn.expect("without a limit the lock is always acquired");
            let mut entries = Vec::new();
            for batch in batches {
                for entry in batch::entries(batch)? {
                    entries.push(entry?);
                }
            }
            self.apply(&mut txn, &entries)?;
            txn.commit()?;
            Ok(())
        })
    }

    fn apply(&self, txn: &mut WriteTxn, entries: &[Entry<'_>]) -> Result<()> {
        let in_key_order = entries.len() >= IN_KEY_ORDER_MIN && self.tables.rests.is_some();
        let mut keys = entries.iter().map(Entry::key);
        if in_key_order && keys.all(|key| key.len() < self.tables.max_len) {
            let (puts, deletes) = last_of_each_key(entries);
            self.tables.main.remove_many(txn, &deletes)?;
            self.tables.main.insert_many(txn, &puts)?;
            return Ok(());
        }
        for entry in entries {
            match entry {
                Entry::Put(key, value) => self.tables.insert(txn, key, value)?,
                Entry::Delete(key) => self.tables.remove(txn, key)?,
            }
        }
        Ok(())
    }

    /// An estimate of the bytes of the file that the records from `start` up to `limit` take.
    pub(crate) fn approximate_size(&self, start: &[u8], limit: &[u8]) -> Result<u64> {
        let txn = self.database.begin_read()?;
        let table = &self.tables.main;
        let (start, limit) = (self.tables.cut(start), self.tables.cut(limit));
        if table.compare_keys(&txn, start, limit)?.is_ge() {
            return Ok(0);
        }
        let stat = table.stat(&txn)?;
        let pages = stat.leaf_pages + stat.value_pages;
        let bytes = pages.saturating_mul(self.database.stat()?.page_size as u64);
        let range = (Bound::Included(start), Bound::Excluded(limit));
        let records = table.range(range).estimate(&txn)?.records;
        let share = bytes as f64 * records as f64 / stat.records.max(1) as f64;
        Ok(share as u64)
    }

    /// Makes the file as short as possible, if that is worth the work: pages at the end move to
    /// free ones before them. Half empty pages stay so.
    pub(crate) fn compact(&self) -> Result<()> {
        let stat = self.database.stat()?;
        if stat.free_pages + stat.pending_pages >= stat.page_count * FREE_PERCENT / 100 {
            self.database
                .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))?;
        }
        Ok(())
    }

    /// Bytes of memory of this object and of the batches that are being written or wait. Pages of
    /// the file are the system's.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (size_of::<Self>() + self.writers.batch_bytes()) as u64
    }
}

/// A key and its value.
type KeyValue<'b> = (&'b [u8], &'b [u8]);

/// The records to insert, of which the last one of a key counts, and the keys to remove.
fn last_of_each_key<'b>(entries: &[Entry<'b>]) -> (Vec<KeyValue<'b>>, Vec<&'b [u8]>) {
    let put = |entry: &Entry<'b>| match *entry {
        Entry::Put(key, value) => Some((key, value)),
        Entry::Delete(_) => None,
    };
    let puts: Vec<_> = entries.iter().filter_map(put).collect();
    if puts.len() == entries.len() {
        return (puts, Vec::new());
    }
    let mut sorted: Vec<_> = entries.iter().enumerate().collect();
    sorted.sort_by_key(|(_, entry)| entry.key());
    let of_keys = sorted.chunk_by(|(_, a), (_, b)| a.key() == b.key());
    let mut last: Vec<_> = of_keys.filter_map(<[_]>::last).collect();
    // The order of the batch tells the engine whether neighbours are changed together.
    last.sort_by_key(|(index, _)| index);
    let (mut puts, mut deletes) = (Vec::new(), Vec::new());
    for (_, last) in last {
        match put(last) {
            Some(record) => puts.push(record),
            None => deletes.push(last.key()),
        }
    }
    (puts, deletes)
}

/// The table of the records.
pub(crate) const MAIN: TableDef<'_, Raw, Raw> = TableDef::new("main");
/// Rests of long keys.
pub(crate) const RESTS: TableDef<'_, Raw, Raw> = TableDef::new("leveldb.long-keys");
/// Properties without which a database cannot be opened.
pub(crate) const PROPERTIES: TableDef<'_, Raw, Raw> = TableDef::new("leveldb.properties");
