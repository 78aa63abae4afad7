//! The orders to the processes of the engines, and their answers, in lines of JSON.

use super::{keys::KeyKind, usage::Usage, work::Task};
use crate::data::Digest;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// An order to an engine's process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EngineCommand {
    /// The setup of the run; comes first.
    Setup(Setup),
    /// Prepare the database for a task.
    Prepare(Task),
    /// Do a part of a task.
    Work(TaskPart),
    /// Report the size of the database.
    Measure,
}

/// The setup of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// The engine's own directory, which exists.
    pub(super) directory: PathBuf,
    pub(super) records: u64,
    pub(super) keys: KeyKind,
    pub(super) value_len: usize,
    /// The file with the paths that keys are made of.
    pub(super) paths: PathBuf,
    /// The number of coins before the first block.
    pub(super) coins: u64,
    /// The size of changed coins in memory at which they are flushed.
    pub(super) coin_flush_bytes: u64,
    /// The size of an engine's own cache; unlimited if absent.
    pub(super) cache_bytes: Option<u64>,
    /// Whether the database may be larger than memory, so that it is not read into memory first.
    pub(super) is_cold: bool,
}

/// A part of a task, which is the same for each engine.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct TaskPart {
    pub(super) task: Task,
    /// A number that no other part has.
    pub(super) seed: u64,
    pub(super) operations: u64,
}

/// An answer of an engine's process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EngineAnswer {
    Ready {
        /// The memory that the process holds for its models and for making records.
        held_bytes: u64,
    },
    Done(Box<PartResult>),
    Size(DatabaseSize),
    /// The reason for a failure.
    Failed(String),
}

/// The result of a part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PartResult {
    pub(super) operations: u64,
    /// The time until the last operation returned.
    pub(super) seconds: f64,
    /// The additional time until everything was on the disk and the engine idle.
    pub(super) rest_seconds: f64,
    pub(super) usage: Usage,
    /// The peak of the memory, including mapped pages of files.
    pub(super) memory_bytes: u64,
    /// The memory of the process alone, after the work.
    pub(super) own_memory_bytes: u64,
    /// The digest of the results of reads, which must be equal for all engines.
    pub(super) digest: Digest,
    /// A histogram: nanoseconds and the number of operations.
    pub(super) latencies: Vec<(u64, u64)>,
    /// Numbers of operations, and the allocated bytes of the files after them.
    pub(super) sizes: Vec<(u64, u64)>,
    /// Commits of the thread that writes while others read.
    pub(super) commits: u64,
}

/// The size of a database.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct DatabaseSize {
    pub(super) file_bytes: u64,
    pub(super) allocated_bytes: u64,
    /// Bytes of pages in use, if the engine reports them.
    pub(super) used_bytes: Option<u64>,
    pub(super) data_bytes: u64,
}
