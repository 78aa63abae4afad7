//! The traits that every engine implements, and the settings that its databases are opened with.
//!
//! A method of [`Engine`] does a whole slice of work. The loop runs in the engine's own file, so
//! the measured calls are direct, and the call through the trait is paid once per slice.

use super::reading::{ReadStart, Reader, SlotOwner};
use crate::{
    data::{Digest, Key, Record},
    latencies::Latencies,
};
use anyhow::Result;
use serde::Serialize;
use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// The commit waits.
    Durable,
    /// The commit returns at once and is flushed soon. A thread can wait for the flush.
    Async,
    /// The commit returns at once.
    Lazy,
    /// Like `Lazy`, for work that is not measured: in engines with such a mode, a power cut may
    /// destroy the database.
    Careless,
}

/// The way to insert records into a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// At the positions of their keys, with one call each.
    Single,
    /// At the positions of their keys, with one call per transaction if the engine has such a call.
    Batch,
    /// Like `Batch`, but sorted first.
    Presorted,
    /// After the last key, with the engine's call for that.
    Append,
}

/// The new state of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordChange<'c> {
    pub(crate) key: &'c Key,
    /// The new value; `None` to remove an existing record.
    pub(crate) value: Option<&'c [u8]>,
}

/// The way to copy a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Copying {
    /// Page by page, with free pages as zeros.
    Plain,
    /// Without free pages.
    Compact,
    /// The pages that the first plain copy lacks. Only Teak supports this.
    Increment,
}

/// Records in the order of their keys, which are random and differ in their first eight bytes.
pub(super) fn in_key_order(records: &[Record]) -> Vec<&Record> {
    let lead = |record: &Record| {
        record
            .key
            .first_chunk()
            .map(|&eight| u64::from_be_bytes(eight))
    };
    let mut sorted: Vec<_> = records
        .iter()
        .map(|record| (lead(record), record))
        .collect();
    sorted.sort_unstable_by_key(|(lead, _)| *lead);
    sorted.into_iter().map(|(_, record)| record).collect()
}

/// The settings for opening a database.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(any(feature = "lmdb", feature = "mdbx")),
    expect(dead_code, reason = "Teak needs no limit for the size of the data")
)]
pub(crate) struct OpenSettings {
    pub(crate) durability: Durability,
    /// The approximate bytes of records: LMDB and libmdbx need a limit for the size of the data.
    pub(crate) data_bytes: u64,
    pub(crate) slots: SlotOwner,
    pub(crate) shrinking: Shrinking,
    /// The memory of a Teak write transaction, if it is not the default.
    pub(crate) write_bytes: Option<u64>,
    pub(crate) keys: KeyOrder,
}

/// The order of keys in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrder {
    Bytes,
    /// Unsigned integers of 8 bytes, in the processor's byte order.
    Integers,
}

impl OpenSettings {
    /// The default settings, for one transaction per thread at a time.
    pub(crate) fn usual(durability: Durability, data_bytes: u64) -> Self {
        Self {
            durability,
            data_bytes,
            slots: SlotOwner::Threads,
            shrinking: Shrinking::Usual,
            write_bytes: None,
            keys: KeyOrder::Bytes,
        }
    }
}

/// Whether Teak shortens its file. LMDB never does, nor does libmdbx with the settings used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shrinking {
    Usual,
    /// Free pages stay where they are.
    Never,
}

/// The way to write changed pages to the file.
#[cfg(any(feature = "lmdb", feature = "mdbx"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageWriteMode {
    /// From buffers, by calls to the system.
    Buffers,
    /// In place, through a writable mapping.
    Map,
}

/// Pages that the newest state does not use.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct DeadPages {
    pub(crate) count: u64,
    /// Of these, the pages that cannot be reused yet; only Teak reports them.
    pub(crate) pending: Option<u64>,
}

/// The size of a database.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Space {
    /// Length of the file.
    pub(crate) file_bytes: u64,
    /// The space that the file system has allocated for it.
    pub(crate) allocated_bytes: u64,
    /// Pages that are not free.
    pub(crate) used_bytes: u64,
}

impl Space {
    /// The size of the file at `path`, of which `used_bytes` are in use.
    pub(super) fn of_file(path: &Path, used_bytes: u64) -> Result<Self> {
        let metadata = fs::metadata(path)?;
        let (file_bytes, allocated_bytes) = (metadata.len(), metadata.blocks() * 512);
        Ok(Self {
            file_bytes,
            allocated_bytes,
            used_bytes,
        })
    }
}

/// An open database with one table.
pub(crate) trait Engine {
    /// Inserts `records` in one transaction, and replaces the values of existing keys.
    fn write(&mut self, records: &[Record], insertion: Insertion) -> Result<()>;

    /// Makes `changes` in order, in one transaction.
    fn change(&self, changes: &[RecordChange<'_>]) -> Result<()>;

    /// Commits `records`, with a transaction each that does not wait for the disk, whatever the
    /// database's mode. Records the time of each call.
    fn commit_each_lazily(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()>;

    /// Copies the newest state to a new database in `directory`. Others could write meanwhile.
    fn copy(&mut self, copying: Copying, directory: &Path) -> Result<()>;

    /// Looks up `keys` one by one, in one read transaction.
    fn get(&mut self, keys: &[Key]) -> Result<Digest>;

    /// Looks up `keys`, `group` at a time, in one read transaction.
    fn get_many(&mut self, keys: &[Key], group: usize) -> Result<Digest>;

    /// Looks up `keys`, each in a separate read transaction.
    fn get_in_transactions(&mut self, keys: &[Key], reading: ReadStart) -> Result<Digest>;

    /// Scans all records in order.
    fn scan(&mut self) -> Result<Digest>;

    /// The value of `key`, copied.
    fn value(&mut self, key: &Key) -> Result<Option<Vec<u8>>>;

    /// The size of the database now.
    fn space(&mut self) -> Result<Space>;

    /// Pages that the newest state does not use.
    fn dead_pages(&self) -> Result<DeadPages>;

    /// The interface for committing from several threads.
    fn committer(&self) -> &dyn Committer;

    /// The interface for reading from several threads.
    fn reader(&self) -> &dyn Reader;

    /// Closes the database.
    fn close(self: Box<Self>) -> Result<()>;
}

/// An open database to which several threads commit at the same time.
pub(crate) trait Committer: Sync {
    /// Commits `records`, one transaction each, and records the time of each call. Returns when all
    /// are as durable as the mode promises.
    fn commit_each(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()>;

    /// Commits `records`, one transaction each, and records how long each waited to begin.
    fn commit_in_turn(
        &self,
        records: &mut dyn Iterator<Item = Record>,
        waits: &mut Latencies,
    ) -> Result<()>;

    /// Flushes the lazy commits that a thread of the engine would flush later, so that this does
    /// not happen while another engine is measured.
    fn settle(&self) -> Result<()> {
        Ok(())
    }
}
