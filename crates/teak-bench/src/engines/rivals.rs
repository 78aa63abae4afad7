//! The engines of `compare`, and their settings: the best reasonable ones for each.

#[cfg(any(feature = "lmdb", feature = "mdbx"))]
use super::PageWriteMode;
#[cfg(feature = "lmdb")]
use super::lmdb::Lmdb;
#[cfg(feature = "mdbx")]
use super::mdbx::Mdbx;
use super::{
    Durability, OpenSettings,
    store::{CacheBudget, Store},
    teak,
};
use ::teak::Options;
use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
#[cfg(feature = "mdbx")]
use std::time::Duration;
use std::{fmt, path::Path};

/// An engine with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rival {
    /// Teak with default settings
    Teak,
    /// LMDB 0.9, which writes from buffers
    #[cfg(feature = "lmdb")]
    Lmdb,
    /// LMDB 0.9 with MDB_WRITEMAP
    #[cfg(feature = "lmdb")]
    LmdbWritemap,
    /// LMDB 1.0, which writes from buffers
    #[cfg(feature = "lmdb1")]
    Lmdb1,
    /// LMDB 1.0 with MDB_WRITEMAP
    #[cfg(feature = "lmdb1")]
    Lmdb1Writemap,
    /// libmdbx, which writes from buffers
    #[cfg(feature = "mdbx")]
    Mdbx,
    /// libmdbx with MDBX_WRITEMAP
    #[cfg(feature = "mdbx")]
    MdbxWritemap,
    /// redb
    #[cfg(feature = "redb")]
    Redb,
    /// canopydb, with its log
    #[cfg(feature = "canopydb")]
    Canopydb,
    /// SQLite, a table without row numbers, with its log
    #[cfg(feature = "sqlite")]
    Sqlite,
    /// RocksDB of the system
    #[cfg(feature = "rocksdb")]
    Rocksdb,
    /// LevelDB of the system
    #[cfg(feature = "leveldb")]
    Leveldb,
    /// fjall
    #[cfg(feature = "fjall")]
    Fjall,
    /// Berkeley DB of the system
    #[cfg(feature = "berkeleydb")]
    Berkeleydb,
    /// WiredTiger of the system
    #[cfg(feature = "wiredtiger")]
    Wiredtiger,
}

/// The age at which the engine flushes lazy commits by itself, as in Teak.
#[cfg(feature = "mdbx")]
const LAZY_FLUSH_AFTER: Duration = Duration::from_secs(5);

/// Code that runs with any engine.
pub(crate) trait Use {
    /// Runs with a function that opens the database in a directory, or creates it, for commits of a
    /// durability.
    fn with<S: Store>(
        self,
        open: impl Fn(&Path, Durability, CacheBudget) -> Result<S>,
    ) -> Result<()>;
}

impl Rival {
    /// The engines that run by default.
    pub(crate) fn usual() -> Vec<Self> {
        vec![
            Self::Teak,
            #[cfg(feature = "lmdb")]
            Self::Lmdb,
            #[cfg(feature = "lmdb")]
            Self::LmdbWritemap,
            #[cfg(feature = "mdbx")]
            Self::Mdbx,
            #[cfg(feature = "mdbx")]
            Self::MdbxWritemap,
        ]
    }

    /// Runs `work` with the engine.
    pub(crate) fn lend(self, work: impl Use) -> Result<()> {
        match self {
            Self::Teak => work.with(|directory, durability, room| {
                let opening = opening(durability, room);
                teak::Teak::open(directory, &opening, Options::new())
            }),
            #[cfg(feature = "lmdb")]
            Self::Lmdb => work.with(|directory, durability, room| {
                Lmdb::open(
                    directory,
                    &opening(durability, room),
                    PageWriteMode::Buffers,
                )
            }),
            #[cfg(feature = "lmdb")]
            Self::LmdbWritemap => work.with(|directory, durability, room| {
                Lmdb::open(directory, &opening(durability, room), PageWriteMode::Map)
            }),
            #[cfg(feature = "lmdb1")]
            Self::Lmdb1 => work.with(|directory, durability, room| {
                super::lmdb1::Lmdb1::open(directory, durability, room, PageWriteMode::Buffers)
            }),
            #[cfg(feature = "lmdb1")]
            Self::Lmdb1Writemap => work.with(|directory, durability, room| {
                super::lmdb1::Lmdb1::open(directory, durability, room, PageWriteMode::Map)
            }),
            #[cfg(feature = "mdbx")]
            Self::Mdbx => work.with(|directory, durability, room| {
                open_mdbx(directory, durability, room, PageWriteMode::Buffers)
            }),
            #[cfg(feature = "mdbx")]
            Self::MdbxWritemap => work.with(|directory, durability, room| {
                open_mdbx(directory, durability, room, PageWriteMode::Map)
            }),
            #[cfg(feature = "redb")]
            Self::Redb => work.with(super::redb::Redb::open),
            #[cfg(feature = "canopydb")]
            Self::Canopydb => work.with(super::canopydb::Canopydb::open),
            #[cfg(feature = "sqlite")]
            Self::Sqlite => work.with(super::sqlite::Sqlite::open),
            #[cfg(feature = "rocksdb")]
            Self::Rocksdb => work.with(super::log_structured::rocksdb::open),
            #[cfg(feature = "leveldb")]
            Self::Leveldb => work.with(super::log_structured::leveldb::open),
            #[cfg(feature = "fjall")]
            Self::Fjall => work.with(super::fjall::Fjall::open),
            #[cfg(feature = "berkeleydb")]
            Self::Berkeleydb => work.with(super::shims::Shim::open_berkeleydb),
            #[cfg(feature = "wiredtiger")]
            Self::Wiredtiger => work.with(super::shims::Shim::open_wiredtiger),
        }
    }

    /// Whether its tables are ordered by native integers here.
    pub(crate) fn compares_integers(self) -> bool {
        match self {
            Self::Teak => true,
            #[cfg(feature = "lmdb")]
            Self::Lmdb | Self::LmdbWritemap => true,
            #[cfg(feature = "mdbx")]
            Self::Mdbx | Self::MdbxWritemap => true,
            #[cfg(feature = "lmdb1")]
            Self::Lmdb1 | Self::Lmdb1Writemap => true,
            #[allow(unreachable_patterns, reason = "where these are all")]
            _ => false,
        }
    }

    /// The promise of its commits after a power cut.
    pub(crate) fn promise(self, durability: Durability) -> &'static str {
        match (self, durability) {
            (_, Durability::Durable) => "every commit that returned",
            (Self::Teak, _) => "the newest commit that is whole; never corrupt",
            #[cfg(feature = "lmdb")]
            (Self::Lmdb, _) => "may be corrupt, unless the file system keeps the order of writes",
            #[cfg(feature = "lmdb")]
            (Self::LmdbWritemap, _) => "may be corrupt",
            #[cfg(feature = "lmdb1")]
            (Self::Lmdb1, _) => "may be corrupt, unless the file system keeps the order of writes",
            #[cfg(feature = "lmdb1")]
            (Self::Lmdb1Writemap, _) => "may be corrupt",
            #[cfg(feature = "mdbx")]
            (Self::Mdbx | Self::MdbxWritemap, Durability::Careless) => "may be corrupt",
            #[cfg(feature = "mdbx")]
            (Self::Mdbx | Self::MdbxWritemap, _) => {
                "the last commit that was flushed; never corrupt"
            }
            #[cfg(feature = "redb")]
            (Self::Redb, _) => "the last durable commit; never corrupt",
            #[cfg(feature = "sqlite")]
            (Self::Sqlite, Durability::Careless) => "may be corrupt",
            #[cfg(any(
                feature = "canopydb",
                feature = "sqlite",
                feature = "rocksdb",
                feature = "leveldb",
                feature = "fjall",
                feature = "berkeleydb",
                feature = "wiredtiger"
            ))]
            _ => "commits up to one of the newest, as far as the log was written; never corrupt",
        }
    }
}

/// The default settings, for this much data.
fn opening(durability: Durability, room: CacheBudget) -> OpenSettings {
    OpenSettings {
        write_bytes: room.write_bytes,
        keys: room.keys,
        ..OpenSettings::usual(durability, room.data_bytes)
    }
}

/// libmdbx does not reuse pages that a commit has freed before the next flush, and never flushes
/// lazy commits by itself: without a limit its file would grow by all data ever written. It gets
/// the same flush interval as Teak.
#[cfg(feature = "mdbx")]
fn open_mdbx(
    directory: &Path,
    durability: Durability,
    room: CacheBudget,
    writing: PageWriteMode,
) -> Result<Mdbx> {
    let mdbx = Mdbx::open(directory, &opening(durability, room), writing)?;
    if durability == Durability::Lazy {
        mdbx.flush_after(LAZY_FLUSH_AFTER)?;
    }
    if let Some(bytes) = room.write_bytes {
        mdbx.limit_transactions(bytes)?;
    }
    Ok(mdbx)
}

impl fmt::Display for Rival {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        formatter.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
