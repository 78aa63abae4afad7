//! The workloads of `compare`, and their requirements.

use crate::engines::Durability;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A workload. They run in this order: first those with databases of their own, then those that
/// read the database of the last load, then those that change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(crate) enum CompareWorkload {
    /// Put values of 1 MiB, each in a transaction of its own
    LargePut,
    /// Look up values of 1 MiB, and read all of their bytes
    LargeGet,
    /// Replay a chain: look up the coins that blocks spend, and flush the changes in batches
    Coins,
    /// Load records in the order of keys, 10,000 per transaction
    LoadSorted,
    /// Load records in any order with the engine's best call
    LoadBulk,
    /// Load records in any order, 10,000 per transaction
    LoadRandom,
    /// Look up existing keys, all equally often
    Get,
    /// Look up missing keys
    GetMiss,
    /// Look up existing keys, a few of them most of the time
    GetZipf,
    /// Look up existing keys, 32 at a time
    GetMany,
    /// Begin a read transaction, look up a key, end it
    GetBegin,
    /// Scan all records forwards
    Scan,
    /// Scan all records backwards
    ScanBack,
    /// Seek a random key and read 10 records from there
    Range10,
    /// Read ranges of 100 records
    Range100,
    /// Update one record, in a transaction that does not wait for the disk
    UpdateLazy,
    /// Update 1,000 records in any order in a transaction that does not wait for the disk; the
    /// latencies are those of whole transactions
    UpdateBatches,
    /// Update one record, in a durable transaction
    UpdateDurable,
    /// Insert 2, look up 1, update 1 and delete 1 in a durable transaction
    CrudDurable,
    /// The transactions of crud_durable, without waiting for the disk
    CrudLazy,
    /// The transactions of crud_durable, in the engine's least durable mode
    CrudAsync,
    /// Commit one record at a time durably from several threads
    Commits,
    /// Look up keys in several threads while one commits
    Mixed,
    /// Remove records in any order, 10,000 per transaction
    Delete,
}

/// The contents of a database when a workload begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseContent {
    /// No records.
    Nothing,
    /// The records of the run.
    Records,
    /// The large values.
    Large,
    /// Coins.
    Coins,
}

impl CompareWorkload {
    /// The contents that it requires.
    pub(super) fn content(self) -> DatabaseContent {
        match self {
            Self::LargePut | Self::LoadSorted | Self::LoadBulk | Self::LoadRandom => {
                DatabaseContent::Nothing
            }
            Self::LargeGet => DatabaseContent::Large,
            Self::Coins => DatabaseContent::Coins,
            _ => DatabaseContent::Records,
        }
    }

    /// Whether keys are of the requested kind.
    pub(super) fn has_chosen_keys(self) -> bool {
        !matches!(self, Self::LargePut | Self::LargeGet | Self::Coins)
    }

    /// The durability of its commits; `None` if there are none.
    pub(super) fn durability(self) -> Option<Durability> {
        match self {
            Self::UpdateDurable | Self::CrudDurable | Self::Commits | Self::Coins => {
                Some(Durability::Durable)
            }
            Self::CrudAsync => Some(Durability::Careless),
            _ if self.writes() => Some(Durability::Lazy),
            _ => None,
        }
    }

    /// Whether it changes the database.
    pub(super) fn writes(self) -> bool {
        !matches!(
            self,
            Self::LargeGet
                | Self::Get
                | Self::GetMiss
                | Self::GetZipf
                | Self::GetMany
                | Self::GetBegin
                | Self::Scan
                | Self::ScanBack
                | Self::Range10
                | Self::Range100
        )
    }

    /// Whether each part may make files much longer.
    pub(super) fn grows_files(self) -> bool {
        matches!(
            self,
            Self::UpdateLazy
                | Self::UpdateBatches
                | Self::CrudLazy
                | Self::CrudAsync
                | Self::Delete
                | Self::Coins
        )
    }

    /// Whether an engine does a whole round before the next takes its turn, because the round
    /// begins with an empty database.
    pub(super) fn is_whole(self) -> bool {
        self.content() == DatabaseContent::Nothing
    }
}

/// A workload, and its number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) work: CompareWorkload,
    pub(super) threads: u32,
}

impl fmt::Display for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.work.to_possible_value();
        formatter.write_str(name.as_ref().map_or("", |name| name.get_name()))?;
        match self.work {
            CompareWorkload::Commits | CompareWorkload::Mixed => {
                write!(formatter, "_{}", self.threads)
            }
            _ => Ok(()),
        }
    }
}
