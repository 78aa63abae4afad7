//! One line of the result: an engine's figure for a workload.

use crate::{
    engines::{EngineKind, Space},
    statistics::{Samples, Spread},
    workloads::QuickWorkload,
};
use serde::Serialize;

/// The figure of one engine for one workload.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measurement {
    pub(crate) work: QuickWorkload,
    pub(crate) engine: EngineKind,
    /// Records that were loaded.
    pub(crate) records: u64,
    /// Operations in a round.
    pub(crate) operations: u64,
    /// The median over the rounds.
    pub(crate) ns_per_op: f64,
    /// The fastest and the slowest round.
    pub(crate) spread: Spread,
    /// Rounds.
    pub(crate) repeats: usize,
    /// For loads: the size of the database.
    #[serde(flatten)]
    pub(crate) size: Option<LoadSize>,
}

/// The size of a loaded database, and of its data.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct LoadSize {
    #[serde(flatten)]
    pub(crate) space: Space,
    pub(crate) data_bytes: u64,
}

impl Measurement {
    /// The measurement from `samples`; `None` if no round was run.
    pub(crate) fn new(
        work: QuickWorkload,
        engine: EngineKind,
        records: usize,
        operations: usize,
        samples: &Samples,
    ) -> Option<Self> {
        Some(Self {
            work,
            engine,
            records: records as u64,
            operations: operations as u64,
            ns_per_op: samples.median()?,
            spread: samples.spread()?,
            repeats: samples.len(),
            size: None,
        })
    }
}
