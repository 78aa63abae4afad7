//! The figures of an engine for one workload.

use super::{
    message::{DatabaseSize, PartResult},
    usage::Usage,
    work::Task,
};
use crate::{
    engines::rivals::Rival,
    latencies::Latencies,
    report::duration,
    statistics::{Samples, Spread},
};
use anyhow::Result;
use serde::Serialize;

/// The percentiles of latencies that are reported.
pub(super) const PERCENTILES: [f64; 12] = [
    10.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999, 100.0,
];

/// One line of the result.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CompareFigure {
    /// The workload, with its number of threads.
    pub(super) work: String,
    pub(super) engine: Rival,
    /// The commits that survive a power cut, if there were any.
    pub(super) promise: Option<&'static str>,
    /// Of all rounds.
    pub(super) operations: u64,
    pub(super) rounds: usize,
    /// The median over the rounds, of the time until the last operation returned.
    pub(super) ns_per_op: f64,
    /// The fastest and the slowest round.
    pub(super) spread: Spread,
    /// The mean additional time until everything was on the disk and the engine idle.
    pub(super) rest_ns_per_op: f64,
    /// The mean processor time.
    pub(super) cpu_ns_per_op: f64,
    /// The mean number of bytes read from the disk.
    pub(super) read_bytes_per_op: f64,
    /// The mean number of bytes written to the device.
    pub(super) device_written_bytes_per_op: f64,
    /// Requests to flush the device's cache, on average.
    pub(super) device_flushes_per_op: f64,
    /// The peak of the process's memory, including mapped pages of files.
    pub(super) memory_bytes: u64,
    /// The peak of the memory of the process alone, after a part.
    pub(super) own_memory_bytes: u64,
    /// The number of operations timed individually: blocks in `coins`, transactions in loads and
    /// `delete`, groups in `get_many`.
    pub(super) timed: u64,
    /// Latencies of single operations: percentile and nanoseconds.
    pub(super) latencies: Vec<(f64, u64)>,
    /// Commits a second of the thread that wrote while others read.
    pub(super) commits_per_second: Option<f64>,
    /// The database after the last round.
    pub(super) size: Option<DatabaseSize>,
    /// Numbers of operations, and the allocated bytes of the files after them: of a load's last
    /// round, otherwise of all rounds.
    pub(super) sizes: Vec<(u64, u64)>,
}

impl CompareFigure {
    /// A latency percentile as text; empty if none was measured.
    pub(super) fn latency(&self, percent: f64) -> String {
        let found = self.latencies.iter().find(|(known, _)| *known == percent);
        found.map_or_else(String::new, |(_, ns)| duration(*ns as f64))
    }
}

/// The results of an engine's rounds so far.
pub(super) struct CompareTally {
    samples: Samples,
    latencies: Latencies,
    operations: u64,
    seconds: f64,
    rest_seconds: f64,
    usage: Usage,
    memory_bytes: u64,
    own_memory_bytes: u64,
    commits: u64,
    pub(super) size: Option<DatabaseSize>,
    sizes: Vec<(u64, u64)>,
}

impl CompareTally {
    /// No rounds yet.
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            samples: Samples::default(),
            latencies: Latencies::new()?,
            operations: 0,
            seconds: 0.0,
            rest_seconds: 0.0,
            usage: Usage::default(),
            memory_bytes: 0,
            own_memory_bytes: 0,
            commits: 0,
            size: None,
            sizes: Vec::new(),
        })
    }

    /// Adds the parts of a round.
    pub(super) fn add_round(&mut self, task: Task, parts: &[PartResult]) {
        if task.work.is_whole() {
            self.sizes.clear();
        }
        let (mut seconds, mut operations) = (0.0, 0);
        for done in parts {
            let before = if task.work.is_whole() {
                0
            } else {
                self.operations + operations
            };
            let sizes = done.sizes.iter();
            self.sizes
                .extend(sizes.map(|(count, bytes)| (before + count, *bytes)));
            seconds += done.seconds;
            operations += done.operations;
            self.rest_seconds += done.rest_seconds;
            self.usage += done.usage;
            self.memory_bytes = self.memory_bytes.max(done.memory_bytes);
            self.own_memory_bytes = self.own_memory_bytes.max(done.own_memory_bytes);
            self.commits += done.commits;
            self.latencies.add_counts(&done.latencies);
        }
        self.seconds += seconds;
        self.operations += operations;
        self.samples.push(seconds * 1e9 / operations.max(1) as f64);
    }

    /// The figure; `None` if there was no round.
    pub(super) fn figure(&self, task: Task, engine: Rival) -> Option<CompareFigure> {
        let each = |figure: f64| figure / self.operations.max(1) as f64;
        let latencies = PERCENTILES.map(|percent| (percent, self.latencies.percentile_ns(percent)));
        let durability = task.work.durability();
        Some(CompareFigure {
            work: task.to_string(),
            engine,
            promise: durability.map(|durability| engine.promise(durability)),
            operations: self.operations,
            rounds: self.samples.len(),
            ns_per_op: self.samples.median()?,
            spread: self.samples.spread()?,
            rest_ns_per_op: each(self.rest_seconds * 1e9),
            cpu_ns_per_op: each(self.usage.cpu_seconds * 1e9),
            read_bytes_per_op: each(self.usage.read_bytes as f64),
            device_written_bytes_per_op: each(self.usage.device_written_bytes as f64),
            device_flushes_per_op: each(self.usage.device_flushes as f64),
            memory_bytes: self.memory_bytes,
            own_memory_bytes: self.own_memory_bytes,
            timed: self.latencies.count(),
            latencies: match self.latencies.count() {
                0 => Vec::new(),
                _ => latencies.to_vec(),
            },
            commits_per_second: (self.commits > 0).then(|| self.commits as f64 / self.seconds),
            size: self.size,
            sizes: self.sizes.clone(),
        })
    }
}

/// An engine that failed, and the reason.
#[derive(Debug, Serialize)]
pub(crate) struct EngineFailure {
    pub(super) work: String,
    pub(super) engine: Rival,
    pub(super) reason: String,
}
