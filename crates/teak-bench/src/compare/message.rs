//! What the one process tells those of the engines, and what they answer: lines of JSON.

use super::{keys::KeyKind, usage::Usage, work::Task};
use crate::data::Digest;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What an engine's process is to do next.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EngineCommand {
    /// Know what the run is about: comes first.
    Setup(Setup),
    /// Have the database as the task needs it.
    Prepare(Task),
    /// Do a part of a task.
    Work(TaskPart),
    /// Say how large the database is.
    Measure,
}

/// What a run is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// Where the engine has its files. It is there, and nobody else's.
    pub(super) directory: PathBuf,
    pub(super) records: u64,
    pub(super) keys: KeyKind,
    pub(super) value_len: usize,
    /// Where the paths are that keys are made of.
    pub(super) paths: PathBuf,
    /// Coins that there are before the first block.
    pub(super) coins: u64,
    /// The largest size of what changes in memory before it is flushed, when coins change.
    pub(super) coin_flush_bytes: u64,
    /// What engines with a cache of their own may keep in it; all if this is not said.
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

/// What an engine's process answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EngineAnswer {
    Ready {
        /// What the process holds by itself to know what should be found, and to make records.
        held_bytes: u64,
    },
    Done(Box<PartResult>),
    Size(DatabaseSize),
    /// It went wrong, and this is why.
    Failed(String),
}

/// What a part came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PartResult {
    pub(super) operations: u64,
    /// Until the last operation returned.
    pub(super) seconds: f64,
    /// How much longer until all was on the disk, and the engine at rest.
    pub(super) rest_seconds: f64,
    pub(super) usage: Usage,
    /// The most memory meanwhile, with pages of files that are mapped.
    pub(super) memory_bytes: u64,
    /// Memory of the process alone behind the work.
    pub(super) own_memory_bytes: u64,
    /// What reads found: each engine has to find the same.
    pub(super) digest: Digest,
    /// How often operations took so many nanoseconds.
    pub(super) latencies: Vec<(u64, u64)>,
    /// After so many operations the files took up so many bytes.
    pub(super) sizes: Vec<(u64, u64)>,
    /// Commits of the thread that writes while others read.
    pub(super) commits: u64,
}

/// The size of a database.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct DatabaseSize {
    pub(super) file_bytes: u64,
    pub(super) allocated_bytes: u64,
    /// Bytes of pages in use, where the engine tells.
    pub(super) used_bytes: Option<u64>,
    pub(super) data_bytes: u64,
}
