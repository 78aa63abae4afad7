//! libmdbx, through its C functions.

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
use anyhow::{Result, bail};
use mdbx_sys as ffi;
use raw::{MdbxAccess, MdbxEnvironment, MdbxGeometry, MdbxMove, MdbxSettings, MdbxTransaction};
use std::{
    iter,
    path::{Path, PathBuf},
};

const FILE_NAME: &str = "bench.mdbx";
const MAP_BYTES_SPARE: u64 = 1 << 30;
const MAP_BYTES_PER_DATA_BYTE: u64 = 8;
/// A growth step so large that growing takes a negligible part of a load.
const GROWTH_STEP_BYTES: isize = 64 << 20;

/// An open libmdbx environment.
pub(crate) struct Mdbx {
    environment: MdbxEnvironment,
    path: PathBuf,
}

impl Mdbx {
    /// Opens the environment in `directory`, or creates it. The map has room for many times the
    /// data.
    pub(crate) fn open(
        directory: &Path,
        opening: &OpenSettings,
        writing: PageWriteMode,
    ) -> Result<Self> {
        let table_flags = match opening.keys {
            KeyOrder::Bytes => ffi::MDBX_DB_DEFAULTS,
            KeyOrder::Integers => ffi::MDBX_CREATE | ffi::MDBX_INTEGERKEY,
        };
        Self::open_with(directory, opening, writing, table_flags)
    }

    /// Like [`Self::open`], with flags of the table.
    fn open_with(
        directory: &Path,
        opening: &OpenSettings,
        writing: PageWriteMode,
        table_flags: ffi::MDBX_db_flags_t,
    ) -> Result<Self> {
        let sync = match opening.durability {
            Durability::Durable => ffi::MDBX_SYNC_DURABLE,
            Durability::Lazy => ffi::MDBX_SAFE_NOSYNC,
            Durability::Careless => ffi::MDBX_UTTERLY_NOSYNC,
            Durability::Async => bail!("libmdbx has no asynchronous commits"),
        };
        let mut flags = ffi::MDBX_NOSUBDIR | ffi::MDBX_NORDAHEAD | sync;
        if writing == PageWriteMode::Map {
            flags |= ffi::MDBX_WRITEMAP;
        }
        if opening.slots != SlotOwner::Threads {
            flags |= ffi::MDBX_NOSTICKYTHREADS;
        }
        let upper_bytes = opening.data_bytes * MAP_BYTES_PER_DATA_BYTE + MAP_BYTES_SPARE;
        let geometry = MdbxGeometry {
            upper_bytes: isize::try_from(upper_bytes)?,
            step_bytes: GROWTH_STEP_BYTES,
        };
        let settings = MdbxSettings {
            flags,
            geometry,
            max_readers: opening.slots.max(),
            table_flags,
        };
        let path = directory.join(FILE_NAME);
        let environment = MdbxEnvironment::open(&path, &settings)?;
        Ok(Self { environment, path })
    }
}

impl Engine for Mdbx {
    fn write(&mut self, records: &[Record], insertion: Insertion) -> Result<()> {
        let flags = match insertion {
            Insertion::Single | Insertion::Batch | Insertion::Presorted => ffi::MDBX_UPSERT,
            Insertion::Append => ffi::MDBX_APPEND,
        };
        let mut transaction = self.environment.begin(MdbxAccess::Write)?;
        let mut put = |record: &Record| transaction.put(&record.key, &record.value, flags);
        if insertion == Insertion::Presorted {
            in_key_order(records).into_iter().try_for_each(put)?;
        } else {
            // libmdbx has no call for many records; its users put them one by one.
            records.iter().try_for_each(&mut put)?;
        }
        transaction.commit()
    }

    fn change(&self, changes: &[RecordChange<'_>]) -> Result<()> {
        let mut transaction = self.environment.begin(MdbxAccess::Write)?;
        for change in changes {
            match change.value {
                Some(value) => transaction.put(change.key, value, ffi::MDBX_UPSERT)?,
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
        self.commit_each_by(MdbxAccess::WriteLazily, records, latencies)
    }

    fn copy(&mut self, copying: Copying, directory: &Path) -> Result<()> {
        let flags = match copying {
            Copying::Plain => ffi::MDBX_CP_DEFAULTS,
            Copying::Compact => ffi::MDBX_CP_COMPACT,
            Copying::Increment => bail!("libmdbx makes no incremental copies"),
        };
        self.environment.copy(&directory.join(FILE_NAME), flags)
    }

    fn get(&mut self, keys: &[Key]) -> Result<Digest> {
        let transaction = self.environment.begin(MdbxAccess::Read)?;
        let mut digest = Digest::default();
        for key in keys {
            if let Some(value) = transaction.get(key)? {
                digest.add_value(value);
            }
        }
        Ok(digest)
    }

    /// libmdbx has no call for many keys; its users look them up one by one.
    fn get_many(&mut self, keys: &[Key], _group: usize) -> Result<Digest> {
        self.get(keys)
    }

    fn get_in_transactions(&mut self, keys: &[Key], reading: ReadStart) -> Result<Digest> {
        let step = ReadStep::TransactionWithLookup(reading);
        self.read(step, &mut iter::once(keys))
    }

    fn scan(&mut self) -> Result<Digest> {
        let transaction = self.environment.begin(MdbxAccess::Read)?;
        let mut cursor = transaction.cursor()?;
        let mut digest = Digest::default();
        while let Some((key, value)) = cursor.go(MdbxMove::Next)? {
            digest.add_record(key, value);
        }
        Ok(digest)
    }

    fn value(&mut self, key: &Key) -> Result<Option<Vec<u8>>> {
        let transaction = self.environment.begin(MdbxAccess::Read)?;
        Ok(transaction.get(key)?.map(<[u8]>::to_vec))
    }

    fn space(&mut self) -> Result<Space> {
        Space::of_file(&self.path, self.used()?)
    }

    fn dead_pages(&self) -> Result<DeadPages> {
        Ok(DeadPages {
            count: self.environment.begin(MdbxAccess::Read)?.dead_pages()?,
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

impl Committer for Mdbx {
    fn commit_each(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()> {
        self.commit_each_by(MdbxAccess::Write, records, latencies)
    }

    fn commit_in_turn(
        &self,
        records: &mut dyn Iterator<Item = Record>,
        waits: &mut Latencies,
    ) -> Result<()> {
        for record in records {
            let mut transaction = waits.time(|| self.environment.begin(MdbxAccess::Write))?;
            transaction.put(&record.key, &record.value, ffi::MDBX_UPSERT)?;
            transaction.commit()?;
        }
        Ok(())
    }
}

impl Mdbx {
    /// Bytes of pages that are in use.
    fn used(&self) -> Result<u64> {
        let used_pages = self.environment.begin(MdbxAccess::Read)?.used_pages()?;
        Ok(used_pages * self.environment.page_size()?)
    }

    fn commit_each_by(
        &self,
        access: MdbxAccess,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()> {
        for record in records {
            latencies.time(|| {
                let mut transaction = self.environment.begin(access)?;
                transaction.put(&record.key, &record.value, ffi::MDBX_UPSERT)?;
                transaction.commit()
            })?;
        }
        Ok(())
    }
}

impl Reader for Mdbx {
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
        let transaction = self.environment.begin(MdbxAccess::Read)?;
        begun();
        let mut cursor = transaction.cursor()?;
        let mut fingerprint = Fingerprint::default();
        while let Some((key, value)) = cursor.go(MdbxMove::Next)? {
            fingerprint.add(key, value);
        }
        Ok(fingerprint)
    }

    fn hold(&self, count: u32) -> Result<Box<dyn Held + '_>> {
        let begun = (0..count).map(|_| self.environment.begin(MdbxAccess::Read));
        Ok(Box::new(begun.collect::<Result<Vec<_>>>()?))
    }
}

/// Batches of keys to look up.
type MdbxKeyBatches<'b, 'k> = dyn Iterator<Item = &'k [Key]> + 'b;

fn begin_each(
    environment: &MdbxEnvironment,
    batches: &mut MdbxKeyBatches<'_, '_>,
) -> Result<Digest> {
    fold_keys(batches, (), |(), _| {
        drop(environment.begin(MdbxAccess::Read)?);
        Ok(())
    })?;
    Ok(Digest::default())
}

fn renew_each(
    environment: &MdbxEnvironment,
    batches: &mut MdbxKeyBatches<'_, '_>,
) -> Result<Digest> {
    let at_rest = environment.begin(MdbxAccess::Read)?.reset()?;
    fold_keys(batches, at_rest, |at_rest, _| at_rest.renew()?.reset())?;
    Ok(Digest::default())
}

fn get_begun(
    environment: &MdbxEnvironment,
    batches: &mut MdbxKeyBatches<'_, '_>,
) -> Result<Digest> {
    let mut digest = Digest::default();
    fold_keys(batches, (), |(), key| {
        let transaction = environment.begin(MdbxAccess::Read)?;
        add(&transaction, key, &mut digest)
    })?;
    Ok(digest)
}

fn get_renewed(
    environment: &MdbxEnvironment,
    batches: &mut MdbxKeyBatches<'_, '_>,
) -> Result<Digest> {
    let mut digest = Digest::default();
    let at_rest = environment.begin(MdbxAccess::Read)?.reset()?;
    fold_keys(batches, at_rest, |at_rest, key| {
        let transaction = at_rest.renew()?;
        add(&transaction, key, &mut digest)?;
        transaction.reset()
    })?;
    Ok(digest)
}

fn get_each(environment: &MdbxEnvironment, batches: &mut MdbxKeyBatches<'_, '_>) -> Result<Digest> {
    let mut digest = Digest::default();
    let transaction = environment.begin(MdbxAccess::Read)?;
    fold_keys(batches, (), |(), key| add(&transaction, key, &mut digest))?;
    Ok(digest)
}

/// Looks up `key`.
#[inline]
fn add(transaction: &MdbxTransaction<'_>, key: &Key, digest: &mut Digest) -> Result<()> {
    if let Some(value) = transaction.get(key)? {
        digest.add_value(value);
    }
    Ok(())
}
