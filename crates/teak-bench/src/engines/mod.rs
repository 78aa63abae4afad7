//! The engines, each an implementation of [`Engine`].

#[cfg(feature = "canopydb")]
mod canopydb;
mod engine;
#[cfg(feature = "fjall")]
mod fjall;
mod kinds;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "lmdb1")]
mod lmdb1;
#[cfg(any(feature = "rocksdb", feature = "leveldb"))]
pub(crate) mod log_structured;
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

pub(crate) use engine::{
    Committer, Copying, DeadPages, Durability, Engine, Insertion, KeyOrder, OpenSettings,
    RecordChange, Shrinking, Space,
};
pub(crate) use kinds::{
    CountMethod, FIXED_LEN, KeyRange, KindsEngine, MultiPair, Nested, NestedEnding, PairBatch,
    TableKind, VARIABLE_LEN_MAX, ValueKind,
};
pub(crate) use reading::{Held, ReadStart, ReadStep, Reader, SlotOwner};

use ::teak::{Cipher, Compression, EncryptionKey, Options, Verification};
use anyhow::Result;
use clap::{ValueEnum, builder::PossibleValue};
#[cfg(any(feature = "lmdb", feature = "mdbx"))]
use engine::PageWriteMode;
use serde::{Serialize, Serializer};
use std::{fmt, path::Path};

/// The memory for decoded pages.
const DECODED_BYTES_MAX: u64 = 8 << 30;

/// The engines of all subcommands except `compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineKind {
    Teak,
    /// Teak without comparing pages with their checksums.
    TeakUnverified,
    /// Teak with comparing pages with their checksums on every access.
    TeakAlways,
    /// Teak without a memtable.
    TeakDirect,
    /// Teak, encrypted with AES-256-GCM.
    TeakEncrypted,
    /// Teak, encrypted with XChaCha20-Poly1305.
    TeakXChaCha,
    /// Teak, compressed with LZ4.
    TeakLz4,
    /// Teak, compressed with zstd at level 3.
    TeakZstd,
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
        Self::TeakDirect,
        Self::TeakEncrypted,
        Self::TeakXChaCha,
        Self::TeakLz4,
        Self::TeakZstd,
    ];

    /// The engines that `quick` runs by default.
    pub(crate) fn usual() -> Vec<Self> {
        vec![
            Self::Teak,
            #[cfg(feature = "lmdb")]
            Self::Lmdb,
        ]
    }

    /// The engines that run by default, except in `quick`.
    pub(crate) fn usual_except_quick() -> Vec<Self> {
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
            Self::TeakDirect => "teak-direct",
            Self::TeakEncrypted => "teak-encrypted",
            Self::TeakXChaCha => "teak-xchacha",
            Self::TeakLz4 => "teak-lz4",
            Self::TeakZstd => "teak-zstd",
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

    /// Whether an option ties its reader slots to threads or transactions.
    pub(crate) fn knows_slots(self) -> bool {
        !self.is_teak()
    }

    /// Whether it has a limit for the pages that a write transaction keeps in memory.
    pub(crate) fn has_write_budget(self) -> bool {
        self.is_teak()
    }

    fn is_teak(self) -> bool {
        matches!(
            self,
            Self::Teak
                | Self::TeakUnverified
                | Self::TeakAlways
                | Self::TeakDirect
                | Self::TeakEncrypted
                | Self::TeakXChaCha
                | Self::TeakLz4
                | Self::TeakZstd
        )
    }

    /// The options of this form of Teak.
    pub(crate) fn teak_options(self) -> Options {
        let verification = match self {
            Self::TeakUnverified => Verification::Off,
            Self::TeakAlways => Verification::Always,
            _ => Verification::default(),
        };
        let options = Options::new()
            .verification(verification)
            .memtable(self != Self::TeakDirect)
            // So that decoded pages take as much memory as those of others take in the cache of the
            // system.
            .decoded_cache_bytes(DECODED_BYTES_MAX);
        let key = EncryptionKey::from_bytes([7; 32]);
        match self {
            Self::TeakEncrypted => options.encryption_key(key).cipher(Cipher::Aes256Gcm),
            Self::TeakXChaCha => options
                .encryption_key(key)
                .cipher(Cipher::XChaCha20Poly1305),
            Self::TeakLz4 => options.compression(Compression::Lz4),
            Self::TeakZstd => options.compression(Compression::Zstd(3)),
            _ => options,
        }
    }

    /// How LMDB and libmdbx write changed pages to the file.
    #[cfg(any(feature = "lmdb", feature = "mdbx"))]
    fn page_write_mode(self) -> PageWriteMode {
        match self {
            #[cfg(feature = "lmdb")]
            Self::LmdbWritemap => PageWriteMode::Map,
            #[cfg(feature = "mdbx")]
            Self::MdbxWritemap => PageWriteMode::Map,
            _ => PageWriteMode::Buffers,
        }
    }

    /// Opens its database in `directory`, which exists. Creates the database if there is none.
    pub(crate) fn open(self, directory: &Path, opening: &OpenSettings) -> Result<Box<dyn Engine>> {
        Ok(match self {
            Self::Teak
            | Self::TeakUnverified
            | Self::TeakAlways
            | Self::TeakDirect
            | Self::TeakEncrypted
            | Self::TeakXChaCha
            | Self::TeakLz4
            | Self::TeakZstd => {
                Box::new(teak::Teak::open(directory, opening, self.teak_options())?)
            }
            #[cfg(feature = "lmdb")]
            Self::Lmdb | Self::LmdbWritemap => {
                let mode = self.page_write_mode();
                Box::new(lmdb::Lmdb::open(directory, opening, mode)?)
            }
            #[cfg(feature = "mdbx")]
            Self::Mdbx | Self::MdbxWritemap => {
                let mode = self.page_write_mode();
                Box::new(mdbx::Mdbx::open(directory, opening, mode)?)
            }
        })
    }

    /// Creates a database with a table of kind `kind` in `directory`, which exists, for lazy
    /// commits.
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
        Ok(match self {
            Self::Teak
            | Self::TeakUnverified
            | Self::TeakAlways
            | Self::TeakDirect
            | Self::TeakEncrypted
            | Self::TeakXChaCha
            | Self::TeakLz4
            | Self::TeakZstd => {
                let options = self.teak_options();
                Box::new(teak::TeakKinds::open(directory, kind, options)?)
            }
            #[cfg(feature = "lmdb")]
            Self::Lmdb | Self::LmdbWritemap => {
                let mode = self.page_write_mode();
                Box::new(lmdb::Lmdb::open_kind(directory, &opening, mode, kind)?)
            }
            #[cfg(feature = "mdbx")]
            Self::Mdbx | Self::MdbxWritemap => {
                let mode = self.page_write_mode();
                Box::new(mdbx::Mdbx::open_kind(directory, &opening, mode, kind)?)
            }
        })
    }
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
