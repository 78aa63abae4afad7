//! LMDB, through its C functions.

mod kinds;
mod raw;
mod store;

use super::{
    Committer, Copying, DeadPages, Durability, Engine, Held, Insertion, KeyOrder, OpenSettings,
    PageWriteMode, ReadStart, ReadStep, Reader, RecordChange, SlotOwner, Space,
    engine::in_key_order, reading::fold_keys,
};
use crate::{
    data::{Digest, Fingerprint, Key, Record},
    latencies::Latencies,
};
use anyhow::{Context, Result, bail};
use lmdb_master_sys as ffi;
use raw::{LmdbAccess, LmdbEnvironment, LmdbMove, LmdbSettings, LmdbTable, LmdbTransaction};
use std::{
    ffi::c_uint,
    iter,
    path::{Path, PathBuf},
};

const FILE_NAME: &str = "bench.mdb";
const MAP_BYTES_SPARE: u64 = 1 << 30;
const MAP_BYTES_PER_DATA_BYTE: u64 = 8;

/// An open LMDB environment.
pub(crate) struct Lmdb {
    environment: LmdbEnvironment,
    path: PathBuf,
}

impl Lmdb {
    /// Opens the environment in `directory`, or creates it. The map has room for many times the
    /// data.
    pub(crate) fn open(
        directory: &Path,
        opening: &OpenSettings,
        writing: PageWriteMode,
    ) -> Result<Self> {
        let table_flags = match opening.keys {
            KeyOrder::Bytes => 0,
            KeyOrder::Integers => ffi::MDB_INTEGERKEY,
        };
        Self::open_with(directory, opening, writing, table_flags)
    }

    /// Like [`Self::open`], with flags of the table.
    fn open_with(
        directory: &Path,
        opening: &OpenSettings,
        writing: PageWriteMode,
        table_flags: c_uint,
    ) -> Result<Self> {
        let mut flags = ffi::MDB_NOSUBDIR | ffi::MDB_NORDAHEAD;
        match opening.durability {
            Durability::Durable => {}
            Durability::Lazy | Durability::Careless => flags |= ffi::MDB_NOSYNC,
            Durability::Async => bail!("LMDB has no asynchronous commits"),
        }
        if writing == PageWriteMode::Map {
            flags |= ffi::MDB_WRITEMAP;
        }
        if opening.slots != SlotOwner::Threads {
            flags |= ffi::MDB_NOTLS;
        }
        let map_bytes = opening.data_bytes * MAP_BYTES_PER_DATA_BYTE + MAP_BYTES_SPARE;
        let settings = LmdbSettings {
            flags,
            map_bytes: usize::try_from(map_bytes)?,
            max_readers: opening.slots.max(),
            table_flags,
        };
        let path = directory.join(FILE_NAME);
        let environment = LmdbEnvironment::open(&path, &settings)?;
        Ok(Self { environment, path })
    }
}

impl Engine for Lmdb {
    fn write(&mut self, records: &[Record], insertion: Insertion) -> Result<()> {
        let flags = match insertion {
            Insertion::Single | Insertion::Batch | Insertion::Presorted => 0,
            Insertion::Append => ffi::MDB_APPEND,
        };
        let mut transaction = self.environment.begin(LmdbAccess::Write)?;
        let mut put = |record: &Record| transaction.put(&record.key, &record.value, flags);
        if insertion == Insertion::Presorted {
            in_key_order(records).into_iter().try_for_each(put)?;
        } else {
            // LMDB has no call for many records; its users put them one by one.
            records.iter().try_for_each(&mut put)?;
        }
        transaction.commit()
    }

    fn change(&self, changes: &[RecordChange<'_>]) -> Result<()> {
        let mut transaction = self.environment.begin(LmdbAccess::Write)?;
        for change in changes {
            match change.value {
                Some(value) => transaction.put(change.key, value, 0)?,
                None => transaction.remove(change.key)?,
            }
        }
        transaction.commit()
    }

    fn commit_each_lazily(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()> {
        self.commit_each_by(LmdbAccess::WriteLazily, records, latencies)
    }

    fn copy(&mut self, copying: Copying, directory: &Path) -> Result<()> {
        let flags = match copying {
            Copying::Plain => 0,
            Copying::Compact => ffi::MDB_CP_COMPACT,
            Copying::Increment => bail!("LMDB makes no incremental copies"),
        };
        self.environment.copy(&directory.join(FILE_NAME), flags)
    }

    fn get(&mut self, keys: &[Key]) -> Result<Digest> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        let mut digest = Digest::default();
        for key in keys {
            if let Some(value) = transaction.get(key)? {
                digest.add_value(value);
            }
        }
        Ok(digest)
    }

    /// LMDB has no call for many keys; its users look them up one by one.
    fn get_many(&mut self, keys: &[Key], group: usize) -> Result<Digest> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        let mut digest = Digest::default();
        for chunk in keys.chunks(group) {
            for key in chunk {
                if let Some(value) = transaction.get(key)? {
                    digest.add_value(value);
                }
            }
        }
        Ok(digest)
    }

    fn get_in_transactions(&mut self, keys: &[Key], reading: ReadStart) -> Result<Digest> {
        let step = ReadStep::TransactionWithLookup(reading);
        self.read(step, &mut iter::once(keys))
    }

    fn scan(&mut self) -> Result<Digest> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        let mut cursor = transaction.cursor(LmdbTable::Records)?;
        let mut digest = Digest::default();
        while let Some((key, value)) = cursor.go(LmdbMove::Next)? {
            digest.add_record(key, value);
        }
        Ok(digest)
    }

    fn value(&mut self, key: &Key) -> Result<Option<Vec<u8>>> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        Ok(transaction.get(key)?.map(<[u8]>::to_vec))
    }

    fn space(&mut self) -> Result<Space> {
        Space::of_file(&self.path, self.used()?)
    }

    fn dead_pages(&self) -> Result<DeadPages> {
        Ok(DeadPages {
            count: free_pages(&self.environment)?,
            pending: None,
        })
    }

    fn committer(&self) -> &dyn Committer {
        self
    }

    fn reader(&self) -> &dyn Reader {
        self
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Committer for Lmdb {
    fn commit_each(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()> {
        self.commit_each_by(LmdbAccess::Write, records, latencies)
    }

    fn commit_in_turn(
        &self,
        records: &mut dyn Iterator<Item = Record>,
        waits: &mut Latencies,
    ) -> Result<()> {
        for record in records {
            let mut transaction = waits.time(|| self.environment.begin(LmdbAccess::Write))?;
            transaction.put(&record.key, &record.value, 0)?;
            transaction.commit()?;
        }
        Ok(())
    }
}

impl Lmdb {
    /// Bytes of pages that are in use.
    fn used(&self) -> Result<u64> {
        let info = self.environment.info()?;
        let page_size = u64::from(self.environment.stat()?.ms_psize);
        let pages = info.me_last_pgno as u64 + 1;
        Ok((pages - free_pages(&self.environment)?) * page_size)
    }

    fn commit_each_by(
        &self,
        access: LmdbAccess,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()> {
        for record in records {
            latencies.time(|| {
                let mut transaction = self.environment.begin(access)?;
                transaction.put(&record.key, &record.value, 0)?;
                transaction.commit()
            })?;
        }
        Ok(())
    }
}

impl Reader for Lmdb {
    fn read(&self, step: ReadStep, batches: &mut dyn Iterator<Item = &[Key]>) -> Result<Digest> {
        match step {
            ReadStep::Transaction(ReadStart::Begin) => begin_each(&self.environment, batches),
            ReadStep::Transaction(ReadStart::Renew) => renew_each(&self.environment, batches),
            ReadStep::TransactionWithLookup(ReadStart::Begin) => {
                get_begun(&self.environment, batches)
            }
            ReadStep::TransactionWithLookup(ReadStart::Renew) => {
                get_renewed(&self.environment, batches)
            }
            ReadStep::Lookup => get_each(&self.environment, batches),
        }
    }

    fn fingerprint(&self, begun: &mut dyn FnMut()) -> Result<Fingerprint> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        begun();
        let mut cursor = transaction.cursor(LmdbTable::Records)?;
        let mut fingerprint = Fingerprint::default();
        while let Some((key, value)) = cursor.go(LmdbMove::Next)? {
            fingerprint.add(key, value);
        }
        Ok(fingerprint)
    }

    fn hold(&self, count: u32) -> Result<Box<dyn Held + '_>> {
        let begun = (0..count).map(|_| self.environment.begin(LmdbAccess::Read));
        Ok(Box::new(begun.collect::<Result<Vec<_>>>()?))
    }
}

/// Batches of keys to look up.
type LmdbKeyBatches<'b, 'k> = dyn Iterator<Item = &'k [Key]> + 'b;

fn begin_each(
    environment: &LmdbEnvironment,
    batches: &mut LmdbKeyBatches<'_, '_>,
) -> Result<Digest> {
    fold_keys(batches, (), |(), _| {
        drop(environment.begin(LmdbAccess::Read)?);
        Ok(())
    })?;
    Ok(Digest::default())
}

fn renew_each(
    environment: &LmdbEnvironment,
    batches: &mut LmdbKeyBatches<'_, '_>,
) -> Result<Digest> {
    let at_rest = environment.begin(LmdbAccess::Read)?.reset();
    fold_keys(batches, at_rest, |at_rest, _| Ok(at_rest.renew()?.reset()))?;
    Ok(Digest::default())
}

fn get_begun(
    environment: &LmdbEnvironment,
    batches: &mut LmdbKeyBatches<'_, '_>,
) -> Result<Digest> {
    let mut digest = Digest::default();
    fold_keys(batches, (), |(), key| {
        let transaction = environment.begin(LmdbAccess::Read)?;
        add(&transaction, key, &mut digest)
    })?;
    Ok(digest)
}

fn get_renewed(
    environment: &LmdbEnvironment,
    batches: &mut LmdbKeyBatches<'_, '_>,
) -> Result<Digest> {
    let mut digest = Digest::default();
    let at_rest = environment.begin(LmdbAccess::Read)?.reset();
    fold_keys(batches, at_rest, |at_rest, key| {
        let transaction = at_rest.renew()?;
        add(&transaction, key, &mut digest)?;
        Ok(transaction.reset())
    })?;
    Ok(digest)
}

fn get_each(environment: &LmdbEnvironment, batches: &mut LmdbKeyBatches<'_, '_>) -> Result<Digest> {
    let mut digest = Digest::default();
    let transaction = environment.begin(LmdbAccess::Read)?;
    fold_keys(batches, (), |(), key| add(&transaction, key, &mut digest))?;
    Ok(digest)
}

/// Looks up `key`.
#[inline]
fn add(transaction: &LmdbTransaction<'_>, key: &Key, digest: &mut Digest) -> Result<()> {
    if let Some(value) = transaction.get(key)? {
        digest.add_value(value);
    }
    Ok(())
}

/// Pages on the free list. Each of its records is an array of numbers, the first of which is their
/// count.
fn free_pages(environment: &LmdbEnvironment) -> Result<u64> {
    let transaction = environment.begin(LmdbAccess::Read)?;
    let mut cursor = transaction.cursor(LmdbTable::FreeList)?;
    let mut count = 0;
    while let Some((_, value)) = cursor.go(LmdbMove::Next)? {
        let first = value
            .first_chunk()
            .context("a record of LMDB's free list is too short")?;
        count += usize::from_ne_bytes(*first) as u64;
    }
    Ok(count)
}
