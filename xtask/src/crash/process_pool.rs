//! Several processes with one database, all of which this one plays, in turns.
//!
//! One of them is the current one; the others wait. Any of them may commit while a flush of that
//! one runs, and kill it there: see [`FlushDisturber`](super::during_flush::FlushDisturber).

use super::stage::StageResult;
use crate::campaign::scratch;
use std::path::PathBuf;
use teak::{Database, testing::SimDisk};
use tempfile::TempDir;

/// How many processes there are at most, with that of the stage.
pub(super) const PROCESSES_MAX: usize = 4;

/// The processes whose turn it is not.
pub(super) struct ProcessPool {
    pub(super) others: Vec<SimulatedProcess>,
    pub(super) lock_file: PathBuf,
    _directory: TempDir,
}

pub(super) struct SimulatedProcess {
    pub(super) database: Database,
    pub(super) disk: SimDisk,
}

impl ProcessPool {
    pub(super) fn new() -> StageResult<Self> {
        let directory = scratch::directory(None)
            .map_err(|error| format!("creating a directory for the lock file: {error}"))?;
        Ok(Self {
            others: Vec::new(),
            lock_file: directory.path().join("lock"),
            _directory: directory,
        })
    }

    pub(super) fn databases(&self) -> impl Iterator<Item = &Database> {
        self.others.iter().map(|process| &process.database)
    }
}
