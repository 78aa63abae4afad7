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
    /// Look up values of a MiB each, and read all of them
    LargeGet,
    /// Replay a chain: look up the coins that blocks spend, and flush the changes in batches
    Coins,
    /// Load records in the order of keys, 10,000 a transaction
    LoadSorted,
    /// Load records in any order by the best call that the engine has
    LoadBulk,
    /// Load records in any order, 10,000 a transaction
    LoadRandom,
    /// Look up present keys, any as often as another
    Get,
    /// Look up keys that are not there
    GetMiss,
    /// Look up present keys, few of them most of the time
    GetZipf,
    /// Look up present keys, 32 at a time
    GetMany,
    /// Begin a read transaction, look up a key, end it
    GetBegin,
    /// Go over everything, forwards
    Scan,
    /// Go over everything, backwards
    ScanBack,
    /// Go to a random key, and over 10 records from there
    Range10,
    /// Read ranges of 100 records
    Range100,
    /// Give one record a new value, in a transaction that does not wait for the disk
    UpdateLazy,
    /// Give a record a new value, on the disk before it returns
    UpdateDurable,
    /// In one transaction insert 2, look up 1, update 1, delete 1, on the disk before it returns
    CrudDurable,
    /// The transactions of crud_durable, without waiting for the disk
    CrudLazy,
    /// The transactions of crud_durable, in the engine's least careful mode
    CrudAsync,
    /// Commit one record at a time from several threads, on the disk before each returns
    Commits,
    /// Look up keys in several threads while one commits
    Mixed,
    /// Remove records in any order, 10,000 a transaction
    Delete,
}

/// The contents of a database when a workload begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseContent {
    /// Nothing.
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

    /// Whether keys are of the kind that was asked for.
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
            Self::UpdateLazy | Self::CrudLazy | Self::CrudAsync | Self::Delete | Self::Coins
        )
    }

    /// Whether all of a round is done by one engine before the next has its turn: it begins with an empty database.
    pub(super) fn is_whole(self) -> bool {
        self.content() == DatabaseContent::Nothing
    }
}

/// A work, and from how many threads.
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
