//! Several processes with one database, played in turns by this process.
//!
//! One of them is the current process; the others wait. During a flush of the current process, any
//! other one may commit, and may kill it: see
//! [`FlushDisturber`](super::during_flush::FlushDisturber).

use crate::{Context, Result, campaign::scratch};
use std::path::PathBuf;
use teak::{Database, testing::SimDisk};
use tempfile::TempDir;

/// The maximum number of processes, including the current one.
pub(super) const PROCESSES_MAX: usize = 4;

/// The processes that are not the current one.
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
    pub(super) fn new() -> Result<Self> {
        let directory =
            scratch::directory(None).context("creating a directory for the lock file")?;
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
