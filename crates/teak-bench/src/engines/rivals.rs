//! The engines that `compare` knows, and how each is opened: with the best settings for it that make sense.

#[cfg(any(feature = "lmdb", feature = "mdbx"))]
use super::Writing;
#[cfg(feature = "lmdb")]
use super::lmdb::Lmdb;
#[cfg(feature = "mdbx")]
use super::mdbx::Mdbx;
use super::{Durability, Opening, store::Store, teak};
use ::teak::Verification;
use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::{fmt, path::Path};

/// An engine, and how it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rival {
    /// Teak, as it comes
    Teak,
    /// LMDB 0.9, which writes from buffers
    #[cfg(feature = "lmdb")]
    Lmdb,
    /// LMDB 0.9 with MDB_WRITEMAP
    #[cfg(feature = "lmdb")]
    LmdbWritemap,
    /// libmdbx, which writes from buffers
    #[cfg(feature = "mdbx")]
    Mdbx,
    /// libmdbx with MDBX_WRITEMAP
    #[cfg(feature = "mdbx")]
    MdbxWritemap,
}

/// What is done with an engine, whichever it is.
pub(crate) trait Use {
    /// Does it, with what opens the database in a directory, or creates it, for commits of some durability and about so many bytes of records.
    fn with<S: Store>(self, open: impl Fn(&Path, Durability, u64) -> Result<S>) -> Result<()>;
}

impl Rival {
    /// The engines that are run unless others are asked for.
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

    /// Has `work` use the engine.
    pub(crate) fn lend(self, work: impl Use) -> Result<()> {
        match self {
            Self::Teak => work.with(|directory, durability, data_bytes| {
                let opening = Opening::usual(durability, data_bytes);
                teak::Teak::open(directory, &opening, Verification::default())
            }),
            #[cfg(feature = "lmdb")]
            Self::Lmdb => work.with(|directory, durability, data_bytes| {
                let opening = Opening::usual(durability, data_bytes);
                Lmdb::open(directory, &opening, Writing::Buffers)
            }),
            #[cfg(feature = "lmdb")]
            Self::LmdbWritemap => work.with(|directory, durability, data_bytes| {
                let opening = Opening::usual(durability, data_bytes);
                Lmdb::open(directory, &opening, Writing::Map)
            }),
            #[cfg(feature = "mdbx")]
            Self::Mdbx => work.with(|directory, durability, data_bytes| {
                let opening = Opening::usual(durability, data_bytes);
                Mdbx::open(directory, &opening, Writing::Buffers)
            }),
            #[cfg(feature = "mdbx")]
            Self::MdbxWritemap => work.with(|directory, durability, data_bytes| {
                let opening = Opening::usual(durability, data_bytes);
                Mdbx::open(directory, &opening, Writing::Map)
            }),
        }
    }

    /// What its commits promise after a power cut.
    pub(crate) fn promise(self, durability: Durability) -> &'static str {
        match (self, durability) {
            (_, Durability::Durable) => "every commit that returned",
            (Self::Teak, _) => "the newest commit that is whole; never corrupt",
            #[cfg(feature = "lmdb")]
            (Self::Lmdb, _) => "may be corrupt, unless the file system keeps the order of writes",
            #[cfg(feature = "lmdb")]
            (Self::LmdbWritemap, _) => "may be corrupt",
            #[cfg(feature = "mdbx")]
            (Self::Mdbx | Self::MdbxWritemap, Durability::Careless) => "may be corrupt",
            #[cfg(feature = "mdbx")]
            (Self::Mdbx | Self::MdbxWritemap, _) => {
                "the last commit that was flushed; never corrupt"
            }
        }
    }
}

impl fmt::Display for Rival {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        formatter.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
