//! The contenders of a run, which take turns.

use crate::{
    data::DataSet,
    engines::{Durability, Engine, EngineKind, OpenSettings, Reader},
    statistics::Samples,
};
use anyhow::{Context, Result, anyhow};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// One engine with its database.
pub(crate) struct BenchContender {
    pub(crate) kind: EngineKind,
    directory: PathBuf,
    engine: Option<Box<dyn Engine>>,
}

impl BenchContender {
    /// An engine without a database, which will be in `directory`.
    pub(crate) fn new(kind: EngineKind, directory: PathBuf) -> Self {
        Self {
            kind,
            directory,
            engine: None,
        }
    }

    /// The directory of its database.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The open database, for several reading threads.
    pub(crate) fn reader(&self) -> Result<&dyn Reader> {
        Ok(self.shared()?.reader())
    }

    /// The open database, shared with other users.
    pub(crate) fn shared(&self) -> Result<&dyn Engine> {
        match &self.engine {
            Some(engine) => Ok(engine.as_ref()),
            None => Err(anyhow!("{} has no open database", self.kind)),
        }
    }

    /// The open database.
    pub(crate) fn engine(&mut self) -> Result<&mut dyn Engine> {
        match &mut self.engine {
            Some(engine) => Ok(engine.as_mut()),
            None => Err(anyhow!("{} has no open database", self.kind)),
        }
    }

    /// Closes the database, if it is open, and opens it in `durability`.
    pub(crate) fn reopen(&mut self, durability: Durability, data: &DataSet) -> Result<()> {
        self.reopen_for(&OpenSettings::usual(durability, data.bytes()))
    }

    /// Closes the database, if it is open, and opens it with all settings given.
    pub(crate) fn reopen_for(&mut self, opening: &OpenSettings) -> Result<()> {
        self.close()?;
        let opened = self.kind.open(&self.directory, opening);
        self.engine = Some(opened.with_context(|| format!("cannot open {}", self.kind))?);
        Ok(())
    }

    /// Replaces the database by an empty one, and flushes the file system.
    pub(crate) fn recreate(&mut self, data: &DataSet) -> Result<()> {
        self.discard()?;
        fs::create_dir_all(&self.directory)?;
        settle(&self.directory)?;
        self.reopen(Durability::Lazy, data)
    }

    /// Closes the database and removes its files.
    pub(crate) fn discard(&mut self) -> Result<()> {
        self.close()?;
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        Ok(())
    }

    /// Closes the database, if it is open.
    pub(crate) fn close(&mut self) -> Result<()> {
        match self.engine.take() {
            Some(engine) => engine.close(),
            None => Ok(()),
        }
    }
}

/// Everything that a workload needs.
pub(crate) struct Bench {
    pub(crate) data: DataSet,
    pub(crate) contenders: Vec<BenchContender>,
    pub(crate) repeats: usize,
    directory: PathBuf,
}

impl Bench {
    /// A run of `kinds` with databases below `directory`. None is open yet.
    pub(crate) fn new(
        data: DataSet,
        kinds: &[EngineKind],
        repeats: usize,
        directory: &Path,
    ) -> Self {
        let mut contenders: Vec<BenchContender> = Vec::new();
        for &kind in kinds {
            if contenders.iter().all(|contender| contender.kind != kind) {
                let directory = directory.join(kind.name());
                contenders.push(BenchContender::new(kind, directory));
            }
        }
        Self {
            data,
            contenders,
            repeats,
            directory: directory.to_owned(),
        }
    }

    /// Flushes the data of earlier workloads, so that none pays for another.
    pub(crate) fn settle(&self) -> Result<()> {
        settle(&self.directory)
    }

    /// Times one round: `slice` once for each contender and slice, in changing order. Returns the
    /// sum for each contender.
    pub(crate) fn take_turns<S>(
        &mut self,
        slices: &[S],
        round: usize,
        mut slice: impl FnMut(&mut BenchContender, &S) -> Result<Duration>,
    ) -> Result<Vec<Duration>> {
        let mut sums = vec![Duration::ZERO; self.contenders.len()];
        for (turn, item) in slices.iter().enumerate() {
            for index in turn_order(self.contenders.len(), round + turn) {
                let contender = &mut self.contenders[index];
                let kind = contender.kind;
                sums[index] += slice(contender, item).with_context(|| format!("{kind} failed"))?;
            }
        }
        Ok(sums)
    }
}

/// The order of the contenders in a turn: forwards, then backwards.
pub(crate) fn turn_order(count: usize, turn: usize) -> Vec<usize> {
    let forwards = 0..count;
    if turn.is_multiple_of(2) {
        forwards.collect()
    } else {
        forwards.rev().collect()
    }
}

/// Adds a round's sums to the samples, as nanoseconds per operation.
pub(crate) fn add_round(samples: &mut [Samples], sums: &[Duration], operations: usize) {
    for (samples, sum) in samples.iter_mut().zip(sums) {
        samples.push(sum.as_secs_f64() * 1e9 / operations.max(1) as f64);
    }
}

/// Flushes the file system that `directory` is on.
pub(crate) fn settle(directory: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(fs::File::open(directory)?)?;
    #[cfg(not(target_os = "linux"))]
    rustix::fs::sync();
    Ok(())
}

#[cfg(test)]
#[path = "bench_tests.rs"]
mod tests;
