//! Teak, through its public interface: one table of raw bytes.

mod kinds;
mod store;

pub(super) use kinds::TeakKinds;

use super::{
    Committer, Copying, DeadPages, Durability, Engine, Held, Insertion, KeyOrder, OpenSettings,
    ReadStart, ReadStep, Reader, RecordChange, Shrinking, Space, engine::in_key_order,
    reading::fold_keys,
};
use crate::{
    data::{Digest, Fingerprint, Key, Record},
    latencies::Latencies,
};
use anyhow::Result;
use std::{
    fs::{self, File},
    ops::ControlFlow,
    path::Path,
};
use teak::{
    Database, Geometry, Options, ReadTxn, Table, TableDef, TableOptions, Ticket, codec::Bytes,
};

const FILE_NAME: &str = "bench.teak";
const INCREMENT_NAME: &str = "increment";
/// The named snapshot of the first copy.
const COPIED: &str = "copied";
const TABLE_NAME: &str = "records";

/// An open Teak database.
pub(crate) struct Teak {
    database: Database,
    table: Table<Bytes, Bytes>,
    durability: Durability,
}

impl Teak {
    /// Opens the database in `directory`, or creates it.
    pub(crate) fn open(directory: &Path, opening: &OpenSettings, options: Options) -> Result<Self> {
        let durability = opening.durability;
        let of_commits = match durability {
            Durability::Durable => teak::Durability::Durable,
            Durability::Async => teak::Durability::Async,
            Durability::Lazy | Durability::Careless => teak::Durability::Lazy,
        };
        let path = directory.join(FILE_NAME);
        let mut options = options.durability(of_commits);
        if let Some(bytes) = opening.write_bytes {
            options = options.write_memory_bytes(usize::try_from(bytes)?);
        }
        if opening.shrinking == Shrinking::Never {
            let geometry = Geometry::new().shrink_threshold_bytes(u64::MAX);
            options = options.geometry(geometry).move_percent(0);
        }
        let database = options.open(&path)?;
        let mut transaction = database.begin_write()?;
        let order = match opening.keys {
            KeyOrder::Bytes => teak::KeyOrder::Bytes,
            KeyOrder::Integers => teak::KeyOrder::Integer,
        };
        let table_options = TableOptions::new().order(order);
        let table = TableDef::new(TABLE_NAME)
            .options(table_options)
            .create(&mut transaction)?;
        transaction.commit()?;
        Ok(Self {
            database,
            table,
            durability,
        })
    }
}

impl Engine for Teak {
    fn write(&mut self, records: &[Record], insertion: Insertion) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        match insertion {
            Insertion::Single => {
                for record in records {
                    self.table
                        .insert(&mut transaction, &record.key[..], &record.value[..])?;
                }
            }
            Insertion::Batch => {
                let pairs: Vec<_> = records
                    .iter()
                    .map(|record| (&record.key[..], &record.value[..]))
                    .collect();
                self.table.insert_many(&mut transaction, &pairs)?;
            }
            Insertion::Presorted => {
                let pairs: Vec<_> = in_key_order(records)
                    .into_iter()
                    .map(|record| (&record.key[..], &record.value[..]))
                    .collect();
                self.table.insert_many(&mut transaction, &pairs)?;
            }
            Insertion::Append => {
                let pairs = records
                    .iter()
                    .map(|record| (&record.key[..], &record.value[..]));
                self.table.bulk_load(&mut transaction, pairs)?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn change(&self, changes: &[RecordChange<'_>]) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        for change in changes {
            let key = &change.key[..];
            match change.value {
                Some(value) => drop(self.table.insert(&mut transaction, key, value)?),
                None => drop(self.table.remove(&mut transaction, key)?),
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn commit_each_lazily(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()> {
        for record in records {
            latencies.time(|| {
                let mut transaction = self.database.begin_write()?;
                transaction.set_durability(teak::Durability::Lazy);
                self.table
                    .insert(&mut transaction, &record.key[..], &record.value[..])?;
                transaction.commit()
            })?;
        }
        Ok(())
    }

    fn copy(&mut self, copying: Copying, directory: &Path) -> Result<()> {
        let target = directory.join(FILE_NAME);
        match copying {
            Copying::Plain => {
                // An increment can start from it.
                if self.database.snapshots()?.is_empty() {
                    self.database.create_snapshot(COPIED)?;
                }
                self.database
                    .backup(target, None, &mut |_| ControlFlow::Continue(()))?;
            }
            Copying::Compact => {
                self.database
                    .begin_read()?
                    .copy_dense(target, &mut |_| ControlFlow::Continue(()))?;
            }
            Copying::Increment => {
                let since = self.database.open_snapshot(COPIED)?;
                let target = directory.join(INCREMENT_NAME);
                self.database
                    .backup(target, Some(&since), &mut |_| ControlFlow::Continue(()))?;
            }
        }
        Ok(())
    }

    fn get(&mut self, keys: &[Key]) -> Result<Digest> {
        let transaction = self.database.begin_read()?;
        let mut digest = Digest::default();
        for key in keys {
            if let Some(value) = self.table.get(&transaction, &key[..])? {
                digest.add_value(value);
            }
        }
        Ok(digest)
    }

    fn get_many(&mut self, keys: &[Key], group: usize) -> Result<Digest> {
        let transaction = self.database.begin_read()?;
        let mut digest = Digest::default();
        let mut wanted: Vec<&[u8]> = Vec::with_capacity(group);
        for chunk in keys.chunks(group) {
            wanted.clear();
            wanted.extend(chunk.iter().map(|key| &key[..]));
            for value in self
                .table
                .get_many(&transaction, &wanted)?
                .into_iter()
                .flatten()
            {
                digest.add_value(value);
            }
        }
        Ok(digest)
    }

    fn get_in_transactions(&mut self, keys: &[Key], _reading: ReadStart) -> Result<Digest> {
        let mut digest = Digest::default();
        for key in keys {
            let transaction = self.database.begin_read()?;
            if let Some(value) = self.table.get(&transaction, &key[..])? {
                digest.add_value(value);
            }
        }
        Ok(digest)
    }

    fn scan(&mut self) -> Result<Digest> {
        let transaction = self.database.begin_read()?;
        let mut cursor = self.table.cursor(&transaction)?;
        let mut digest = Digest::default();
        let mut found = cursor.first()?;
        while found {
            digest.add_record(cursor.key(), cursor.value()?);
            found = cursor.next()?;
        }
        Ok(digest)
    }

    fn value(&mut self, key: &Key) -> Result<Option<Vec<u8>>> {
        let transaction = self.database.begin_read()?;
        Ok(self.table.get(&transaction, &key[..])?.map(<[u8]>::to_vec))
    }

    fn space(&mut self) -> Result<Space> {
        let stat = self.database.stat()?;
        let used_bytes = stat.used_pages * stat.page_size as u64;
        Space::of_file(self.database.path(), used_bytes)
    }

    fn dead_pages(&self) -> Result<DeadPages> {
        let stat = self.database.stat()?;
        Ok(DeadPages {
            count: stat.free_pages + stat.pending_pages,
            pending: Some(stat.pending_pages),
        })
    }

    fn committer(&self) -> &dyn Committer {
        self
    }

    fn reader(&self) -> &dyn Reader {
        self
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.database.close()?)
    }
}

impl Committer for Teak {
    fn commit_each(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()> {
        let mut last = None;
        for record in records {
            last = latencies.time(|| self.commit_one(record))?;
        }
        // Commits become durable in order, so the last one stands for all.
        if let Some(ticket) = last {
            ticket.wait()?;
        }
        Ok(())
    }

    fn commit_in_turn(
        &self,
        records: &mut dyn Iterator<Item = Record>,
        waits: &mut Latencies,
    ) -> Result<()> {
        for record in records {
            let mut transaction = waits.time(|| self.database.begin_write())?;
            self.table
                .insert(&mut transaction, &record.key[..], &record.value[..])?;
            transaction.commit()?;
        }
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        Ok(self.database.sync()?)
    }
}

impl Reader for Teak {
    /// Teak has nothing to renew: every transaction is a new one.
    fn read(&self, step: ReadStep, batches: &mut dyn Iterator<Item = &[Key]>) -> Result<Digest> {
        let mut digest = Digest::default();
        match step {
            ReadStep::Transaction(_) => fold_keys(batches, (), |(), _| {
                drop(self.database.begin_read()?);
                Ok(())
            })?,
            ReadStep::TransactionWithLookup(_) => fold_keys(batches, (), |(), key| {
                let transaction = self.database.begin_read()?;
                self.add(&transaction, key, &mut digest)
            })?,
            ReadStep::Lookup => {
                let transaction = self.database.begin_read()?;
                fold_keys(batches, (), |(), key| {
                    self.add(&transaction, key, &mut digest)
                })?;
            }
        }
        Ok(digest)
    }

    fn fingerprint(&self, begun: &mut dyn FnMut()) -> Result<Fingerprint> {
        let transaction = self.database.begin_read()?;
        begun();
        let mut cursor = self.table.cursor(&transaction)?;
        let mut fingerprint = Fingerprint::default();
        let mut found = cursor.first()?;
        while found {
            fingerprint.add(cursor.key(), cursor.value()?);
            found = cursor.next()?;
        }
        Ok(fingerprint)
    }

    fn hold(&self, count: u32) -> Result<Box<dyn Held + '_>> {
        let begun = (0..count).map(|_| self.database.begin_read());
        let held = begun.collect::<Result<Vec<ReadTxn>, teak::Error>>()?;
        Ok(Box::new(held))
    }
}

impl Teak {
    /// Looks up `key`.
    #[inline]
    fn add(&self, transaction: &ReadTxn, key: &Key, digest: &mut Digest) -> Result<()> {
        if let Some(value) = self.table.get(transaction, &key[..])? {
            digest.add_value(value);
        }
        Ok(())
    }

    /// Commits one record; returns the ticket of an asynchronous commit.
    fn commit_one(&self, record: &Record) -> Result<Option<Ticket>> {
        let mut transaction = self.database.begin_write()?;
        self.table
            .insert(&mut transaction, &record.key[..], &record.value[..])?;
        if self.durability == Durability::Async {
            return Ok(Some(transaction.commit_async()?));
        }
        transaction.commit()?;
        Ok(None)
    }
}

/// Makes a database from a plain copy and an increment, in place of the increment.
pub(crate) fn apply_increment(copy: &Path, increment: &Path) -> Result<()> {
    let path = increment.join(INCREMENT_NAME);
    let (mut full, mut part) = (File::open(copy.join(FILE_NAME))?, File::open(&path)?);
    let target = increment.join(FILE_NAME);
    teak::restore(&mut full, &mut [&mut part], &[], target, &mut |_| {
        ControlFlow::Continue(())
    })?;
    Ok(fs::remove_file(path)?)
}
