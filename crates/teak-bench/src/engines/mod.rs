//! The engines, behind one trait.
//!
//! A method of [`Engine`] does a whole slice of work, so that the loop runs inside the engine's own file: the calls under
//! measurement are direct, and the one through the trait is paid once a slice.

#[cfg(feature = "canopydb")]
mod canopydb;
#[cfg(feature = "fjall")]
mod fjall;
mod kinds;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "lmdb1")]
mod lmdb1;
#[cfg(any(feature = "rocksdb", feature = "leveldb"))]
mod log_structured;
#[cfg(any(feature = "lmdb", feature = "mdbx"))]
mod mapped;
#[cfg(feature = "mdbx")]
mod mdbx;
mod reading;
#[cfg(feature = "redb")]
mod redb;
pub(crate) mod rivals;
#[cfg(any(feature = "berkeleydb", feature = "wiredtiger"))]
mod shims;
#[cfg(feature = "sqlite")]
mod sqlite;
pub(crate) mod store;
pub(crate) mod teak;

pub(crate) use kinds::{
    CountMethod, FIXED_LEN, KeyRange, KindsEngine, MultiPair, Nested, NestedEnding, PairBatch,
    TableKind, VARIABLE_LEN_MAX, ValueKind,
};
pub(crate) use reading::{Held, ReadStart, ReadStep, Reader, SlotOwner};

use crate::{
    data::{Digest, Key, Record},
    latencies::Latencies,
};
use ::teak::Verification;
use anyhow::Result;
use clap::{ValueEnum, builder::PossibleValue};
use serde::{Serialize, Serializer};
use std::{fmt, fs, os::unix::fs::MetadataExt, path::Path};

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// It does.
    Durable,
    /// It returns at once, is on its way to the disk, and can be waited for.
    Async,
    /// It returns at once.
    Lazy,
    /// The same, for work that is not measured: where the engine has such a mode, a power cut leaves nothing that can be relied on.
    Careless,
}

/// How records are put into a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// Wherever their keys belong, by one call each.
    Single,
    /// Wherever their keys belong, all of a transaction handed over at once where the engine has a
    /// call for that.
    Batch,
    /// The same, sorted before.
    Presorted,
    /// Behind the last key, by the call that the engine has for it.
    Append,
}

/// What a key is to have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordChange<'c> {
    pub(crate) key: &'c Key,
    /// The new value; none for a record that is there and is to go.
    pub(crate) value: Option<&'c [u8]>,
}

/// How a database is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Copying {
    /// Page by page, those without use as zeros.
    Plain,
    /// Without what is not in use.
    Compact,
    /// What the first plain copy lacks. Teak alone has such.
    Increment,
}

/// Records in the order of their keys, which are random and differ in their first eight bytes.
fn in_key_order(records: &[Record]) -> Vec<&Record> {
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

/// What a database is opened for.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(any(feature = "lmdb", feature = "mdbx")),
    expect(dead_code, reason = "Teak need not be told how much there will be")
)]
pub(crate) struct OpenSettings {
    pub(crate) durability: Durability,
    /// About how many bytes of records there are to be: LMDB and libmdbx have to be told how large the data may grow.
    pub(crate) data_bytes: u64,
    pub(crate) slots: SlotOwner,
    pub(crate) shrinking: Shrinking,
    /// What a write transaction of Teak's may keep in memory, if not as much as by default.
    pub(crate) write_bytes: Option<u64>,
    pub(crate) keys: KeyOrder,
}

/// What the table compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrder {
    Bytes,
    /// Unsigned integers of 8 bytes, as the processor has them.
    Integers,
}

impl OpenSettings {
    /// How databases come, for one transaction of a thread at a time.
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

/// Whether Teak makes its file shorter. LMDB never does, nor libmdbx as it is opened here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shrinking {
    Usual,
    /// What is free stays where it is.
    Never,
}

/// How changed pages get into the file.
#[cfg(any(feature = "lmdb", feature = "mdbx"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageWriteMode {
    /// From buffers, by calls to the system.
    Buffers,
    /// In place, through a writable mapping.
    Map,
}

/// Pages that the newest state has no use for.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct DeadPages {
    pub(crate) count: u64,
    /// Those of them that cannot be used again yet; Teak alone tells.
    pub(crate) pending: Option<u64>,
}

/// The size of a database.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Space {
    /// Length of the file.
    pub(crate) file_bytes: u64,
    /// What the file system has set aside for it.
    pub(crate) allocated_bytes: u64,
    /// Pages that are not free.
    pub(crate) used_bytes: u64,
}

impl Space {
    /// The size of the file at `path`, of which `used_bytes` are in use.
    fn of_file(path: &Path, used_bytes: u64) -> Result<Self> {
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
    /// Inserts `records` in one transaction; a key that is there gets the new value.
    fn write(&mut self, records: &[Record], insertion: Insertion) -> Result<()>;

    /// Makes `changes`, one after the other, in one transaction.
    fn change(&self, changes: &[RecordChange<'_>]) -> Result<()>;

    /// Commits `records`, a transaction each that does not wait for the disk, however the database was opened, and notes how
    /// long each took to return.
    fn commit_each_lazily(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()>;

    /// Copies the newest state to a new database in `directory`, while others could go on.
    fn copy(&mut self, copying: Copying, directory: &Path) -> Result<()>;

    /// Looks up `keys`, one after the other, in one read transaction.
    fn get(&mut self, keys: &[Key]) -> Result<Digest>;

    /// Looks up `keys`, `group` at a time, in one read transaction.
    fn get_many(&mut self, keys: &[Key], group: usize) -> Result<Digest>;

    /// Looks up `keys`, each in a read transaction of its own.
    fn get_in_transactions(&mut self, keys: &[Key], reading: ReadStart) -> Result<Digest>;

    /// Goes over every record in order.
    fn scan(&mut self) -> Result<Digest>;

    /// The value of `key`, copied.
    fn value(&mut self, key: &Key) -> Result<Option<Vec<u8>>>;

    /// The size of the database now.
    fn space(&mut self) -> Result<Space>;

    /// Pages that the newest state has no use for.
    fn dead_pages(&self) -> Result<DeadPages>;

    /// What threads share to commit to the database.
    fn committer(&self) -> &dyn Committer;

    /// What threads share to read it.
    fn reader(&self) -> &dyn Reader;

    /// Closes the database.
    fn close(self: Box<Self>) -> Result<()>;
}

/// An open database that many threads commit to at the same time.
pub(crate) trait Committer: Sync {
    /// Commits `records`, a transaction each, and notes how long each took to return. Returns when
    /// all are as durable as they are to become.
    fn commit_each(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()>;

    /// Commits `records`, a transaction each, and notes how long each waited until it had begun.
    fn commit_in_turn(
        &self,
        records: &mut dyn Iterator<Item = Record>,
        waits: &mut Latencies,
    ) -> Result<()>;

    /// Brings to the disk what lazy commits left to be flushed by a thread of the engine's own, so
    /// that it does not do that while another engine is measured.
    fn settle(&self) -> Result<()> {
        Ok(())
    }
}

/// The engines that this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineKind {
    Teak,
    /// Teak that compares no page with its checksum.
    TeakUnverified,
    /// Teak that compares each page with its checksum whenever it comes to it.
    TeakAlways,
    #[cfg(feature = "lmdb")]
    Lmdb,
    #[cfg(feature = "lmdb")]
    LmdbWritemap,
    #[cfg(feature = "mdbx")]
    Mdbx,
    #[cfg(feature = "mdbx")]
    MdbxWritemap,
}

impl EngineKind {
    const ALL: &[Self] = &[
        Self::Teak,
        #[cfg(feature = "lmdb")]
        Self::Lmdb,
        #[cfg(feature = "lmdb")]
        Self::LmdbWritemap,
        #[cfg(feature = "mdbx")]
        Self::Mdbx,
        #[cfg(feature = "mdbx")]
        Self::MdbxWritemap,
        Self::TeakUnverified,
        Self::TeakAlways,
    ];

    /// The engines that `quick` runs unless others are asked for.
    pub(crate) fn usual() -> Vec<Self> {
        vec![
            Self::Teak,
            #[cfg(feature = "lmdb")]
            Self::Lmdb,
        ]
    }

    /// The engines that are run unless others are asked for, but for `quick`.
    pub(crate) fn usual_beside_quick() -> Vec<Self> {
        vec![
            Self::Teak,
            #[cfg(feature = "lmdb")]
            Self::Lmdb,
            #[cfg(feature = "mdbx")]
            Self::Mdbx,
        ]
    }

    /// Its name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Teak => "teak",
            Self::TeakUnverified => "teak-unverified",
            Self::TeakAlways => "teak-always",
            #[cfg(feature = "lmdb")]
            Self::Lmdb => "lmdb",
            #[cfg(feature = "lmdb")]
            Self::LmdbWritemap => "lmdb-writemap",
            #[cfg(feature = "mdbx")]
            Self::Mdbx => "mdbx",
            #[cfg(feature = "mdbx")]
            Self::MdbxWritemap => "mdbx-writemap",
        }
    }

    /// Whether it is told what a reader's slot is tied to.
    pub(crate) fn knows_slots(self) -> bool {
        !matches!(self, Self::Teak | Self::TeakUnverified | Self::TeakAlways)
    }

    /// Whether it has a limit for the pages that a write transaction keeps in memory.
    pub(crate) fn has_write_budget(self) -> bool {
        matches!(self, Self::Teak | Self::TeakUnverified | Self::TeakAlways)
    }

    /// Opens its database in `directory`, which is there; creates it if there is none.
    pub(crate) fn open(self, directory: &Path, opening: &OpenSettings) -> Result<Box<dyn Engine>> {
        Ok(match self {
            Self::Teak => open_teak(directory, opening, Verification::default())?,
            Self::TeakUnverified => open_teak(directory, opening, Verification::Off)?,
            Self::TeakAlways => open_teak(directory, opening, Verification::Always)?,
            #[cfg(feature = "lmdb")]
            Self::Lmdb => {
                let writing = PageWriteMode::Buffers;
                Box::new(lmdb::Lmdb::open(directory, opening, writing)?)
            }
            #[cfg(feature = "lmdb")]
            Self::LmdbWritemap => {
                let writing = PageWriteMode::Map;
                Box::new(lmdb::Lmdb::open(directory, opening, writing)?)
            }
            #[cfg(feature = "mdbx")]
            Self::Mdbx => {
                let writing = PageWriteMode::Buffers;
                Box::new(mdbx::Mdbx::open(directory, opening, writing)?)
            }
            #[cfg(feature = "mdbx")]
            Self::MdbxWritemap => {
                let writing = PageWriteMode::Map;
                Box::new(mdbx::Mdbx::open(directory, opening, writing)?)
            }
        })
    }

    /// Creates a database in `directory`, which is there, with a table of some kind, for lazy commits.
    pub(crate) fn open_kind(
        self,
        directory: &Path,
        kind: TableKind,
        data_bytes: u64,
    ) -> Result<Box<dyn KindsEngine>> {
        #[cfg(any(feature = "lmdb", feature = "mdbx"))]
        let opening = OpenSettings::usual(Durability::Lazy, data_bytes);
        #[cfg(not(any(feature = "lmdb", feature = "mdbx")))]
        let _ = data_bytes;
        let teak = |verification| teak::Kinds::open(directory, kind, verification);
        Ok(match self {
            Self::Teak => Box::new(teak(Verification::default())?),
            Self::TeakUnverified => Box::new(teak(Verification::Off)?),
            Self::TeakAlways => Box::new(teak(Verification::Always)?),
            #[cfg(feature = "lmdb")]
            Self::Lmdb => {
                let writing = PageWriteMode::Buffers;
                Box::new(lmdb::Lmdb::open_kind(directory, &opening, writing, kind)?)
            }
            #[cfg(feature = "lmdb")]
            Self::LmdbWritemap => {
                let writing = PageWriteMode::Map;
                Box::new(lmdb::Lmdb::open_kind(directory, &opening, writing, kind)?)
            }
            #[cfg(feature = "mdbx")]
            Self::Mdbx => {
                let writing = PageWriteMode::Buffers;
                Box::new(mdbx::Mdbx::open_kind(directory, &opening, writing, kind)?)
            }
            #[cfg(feature = "mdbx")]
            Self::MdbxWritemap => {
                let writing = PageWriteMode::Map;
                Box::new(mdbx::Mdbx::open_kind(directory, &opening, writing, kind)?)
            }
        })
    }
}

fn open_teak(
    directory: &Path,
    opening: &OpenSettings,
    verification: Verification,
) -> Result<Box<dyn Engine>> {
    let opened = teak::Teak::open(directory, opening, verification)?;
    Ok(Box::new(opened))
}

impl fmt::Display for EngineKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for EngineKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl ValueEnum for EngineKind {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}
