//! An engine with its database, which is recreated for each load.

use crate::{
    bench::settle,
    data::Fingerprint,
    engines::{EngineKind, KindsEngine, TableKind},
};
use anyhow::{Result, anyhow, ensure};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// One engine with its database.
pub(super) struct KindsContender {
    pub(super) kind: EngineKind,
    directory: PathBuf,
    engine: Option<Box<dyn KindsEngine>>,
}

impl KindsContender {
    /// An engine without a database, which will be in `directory`.
    pub(super) fn new(kind: EngineKind, directory: PathBuf) -> Self {
        Self {
            kind,
            directory,
            engine: None,
        }
    }

    /// Replaces the database by an empty one, for about `data_bytes` bytes of data, and flushes the
    /// file system.
    pub(super) fn recreate(&mut self, table: TableKind, data_bytes: u64) -> Result<()> {
        self.discard()?;
        fs::create_dir_all(&self.directory)?;
        settle(&self.directory)?;
        let opened = self.kind.open_kind(&self.directory, table, data_bytes)?;
        self.engine = Some(opened);
        Ok(())
    }

    /// The open database.
    pub(super) fn engine(&mut self) -> Result<&mut dyn KindsEngine> {
        match &mut self.engine {
            Some(engine) => Ok(engine.as_mut()),
            None => Err(anyhow!("{} has no open database", self.kind)),
        }
    }

    /// Waits until the disk and the engine's own threads have nothing to write.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.engine()?.settle()?;
        settle(&self.directory)
    }

    /// Times `work` with the database.
    pub(super) fn time<R>(
        &mut self,
        work: impl FnOnce(&mut dyn KindsEngine) -> Result<R>,
    ) -> Result<(R, Duration)> {
        let engine = self.engine()?;
        let start = Instant::now();
        let result = work(engine)?;
        Ok((result, start.elapsed()))
    }

    /// Fails unless the table has `count` pairs or records with the fingerprint `expected`.
    pub(super) fn verify(&mut self, count: u64, expected: Fingerprint) -> Result<()> {
        let engine = self.engine()?;
        let len = engine.len()?;
        ensure!(len == count, "its table has {len} records and not {count}");
        let mut found = Fingerprint::default();
        engine.visit(&mut |key, value| found.add(key, value))?;
        ensure!(found == expected, "its table has other records");
        Ok(())
    }

    /// Closes the database and removes its files.
    pub(super) fn discard(&mut self) -> Result<()> {
        self.engine = None;
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        Ok(())
    }
}
