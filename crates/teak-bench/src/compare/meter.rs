//! Measures the time of an engine's work and the resources that it uses, in sections. The work
//! between sections is not the engine's.

use super::{
    message::PartResult,
    usage::{Usage, forget_most_memory, memory},
};
use crate::{
    bench::settle,
    data::Digest,
    engines::store::{Store, size_of_files},
    latencies::Latencies,
};
use anyhow::Result;
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// A timer for single operations, or none.
pub(super) trait OperationTimer {
    /// Runs an operation.
    fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R;
}

impl OperationTimer for Latencies {
    #[inline]
    fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R {
        Self::time(self, operation)
    }
}

/// A timer that records nothing.
pub(super) struct NoTimer;

impl OperationTimer for NoTimer {
    #[inline]
    fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R {
        operation()
    }
}

/// The figures of a part.
pub(super) struct Meter<'d> {
    directory: &'d Path,
    pub(super) latencies: Latencies,
    pub(super) digest: Digest,
    done: PartResult,
}

impl<'d> Meter<'d> {
    /// No figures yet, for an engine with its files in `directory`.
    pub(super) fn new(directory: &'d Path) -> Result<Self> {
        forget_most_memory();
        Ok(Self {
            directory,
            latencies: Latencies::new()?,
            digest: Digest::default(),
            done: PartResult::default(),
        })
    }

    /// Runs `operations` operations on the clock.
    pub(super) fn run<R>(
        &mut self,
        operations: u64,
        work: impl FnOnce(&mut Latencies, &mut Digest) -> Result<R>,
    ) -> Result<R> {
        let before = Usage::now(self.directory);
        let begin = Instant::now();
        let result = work(&mut self.latencies, &mut self.digest)?;
        self.done.seconds += begin.elapsed().as_secs_f64();
        self.done.usage += Usage::now(self.directory) - before;
        self.done.operations += operations;
        Ok(result)
    }

    /// Subtracts time that was measured but is not the engine's.
    pub(super) fn take_off(&mut self, time: Duration) {
        self.done.seconds -= time.as_secs_f64();
        self.done.usage.cpu_seconds -= time.as_secs_f64();
    }

    /// Counts commits made at the same time as the operations.
    pub(super) fn add_commits(&mut self, commits: u64) {
        self.done.commits += commits;
    }

    /// Records the current length of the files.
    pub(super) fn note_size(&mut self) -> Result<()> {
        let size = size_of_files(self.directory, 0)?;
        let point = (self.done.operations, size.allocated_bytes);
        self.done.sizes.push(point);
        Ok(())
    }

    /// The figures of work that needs no completion.
    pub(super) fn finish(mut self) -> Result<PartResult> {
        let memory = memory();
        self.done.memory_bytes = memory.peak_bytes;
        self.done.own_memory_bytes = memory.own_bytes;
        self.done.digest = self.digest;
        self.done.latencies = self.latencies.counts();
        Ok(self.done)
    }

    /// The figures of work whose commits waited for the disk. The engine's background work is not
    /// waited for.
    pub(super) fn finish_durable(mut self, store: &impl Store) -> Result<PartResult> {
        self.note_size()?;
        let directory = self.directory;
        let done = self.finish()?;
        store.rest()?;
        settle(directory)?;
        Ok(done)
    }

    /// The figures of work that must be completed first: flushes everything, and waits until the
    /// engine is idle.
    pub(super) fn finish_at_rest(mut self, store: &impl Store) -> Result<PartResult> {
        let before = Usage::now(self.directory);
        let begin = Instant::now();
        store.sync()?;
        settle(self.directory)?;
        store.rest()?;
        settle(self.directory)?;
        self.done.rest_seconds = begin.elapsed().as_secs_f64();
        self.done.usage += Usage::now(self.directory) - before;
        self.note_size()?;
        self.finish()
    }
}
