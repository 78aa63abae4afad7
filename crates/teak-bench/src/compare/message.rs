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
    /// Have the database as the task needs it.
    Prepare(Task),
    /// Do a part of a task.
    Work(TaskPart),
    /// Say how large the database is.
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
    /// Where the paths are that keys are made of.
    pub(super) paths: PathBuf,
    /// Coins that there are before the first block.
    pub(super) coins: u64,
    /// The size of changed coins in memory at which they are flushed.
    pub(super) coin_flush_bytes: u64,
    /// The size of an engine's own cache; unlimited if absent.
    pub(super) cache_bytes: Option<u64>,
    /// Whether the database need not fit the memory: nothing is read before to have it there.
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
    /// It went wrong, and this is why.
    Failed(String),
}

/// The result of a part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PartResult {
    pub(super) operations: u64,
    /// Until the last operation returned.
    pub(super) seconds: f64,
    /// How much longer until all was on the disk, and the engine at rest.
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
