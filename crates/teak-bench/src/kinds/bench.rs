//! The engines of a part, which take turns.

use super::{contender::KindsContender, figure::KindsFigure};
use crate::{arguments::Kinds, bench::turn_order, engines::EngineKind, statistics::Samples};
use anyhow::{Context, Result};
use std::{path::Path, time::Duration};

/// The contenders of a part.
pub(super) struct KindsBench {
    pub(super) contenders: Vec<KindsContender>,
}

impl KindsBench {
    /// The engines that `kinds` asks for, without databases.
    pub(super) fn new(kinds: &Kinds, directory: &Path) -> Self {
        let new = |&kind: &EngineKind| KindsContender::new(kind, directory.join(kind.name()));
        Self {
            contenders: kinds.engines.iter().map(new).collect(),
        }
    }

    /// No samples yet, for each contender.
    pub(super) fn samples(&self) -> Vec<Samples> {
        vec![Samples::default(); self.contenders.len()]
    }

    /// No times yet, for each contender.
    pub(super) fn times(&self) -> Vec<Option<Duration>> {
        vec![None; self.contenders.len()]
    }

    /// Times `work` by each contender, in an order that changes from turn to turn. The time is
    /// `None` for a contender that has no call for the work.
    pub(super) fn in_turn(
        &mut self,
        turn: usize,
        mut work: impl FnMut(&mut KindsContender) -> Result<Option<Duration>>,
    ) -> Result<Vec<Option<Duration>>> {
        let mut times = self.times();
        for index in turn_order(self.contenders.len(), turn) {
            let contender = &mut self.contenders[index];
            let kind = contender.kind;
            times[index] = work(contender).with_context(|| format!("{kind} failed"))?;
        }
        Ok(times)
    }

    /// The figure of each contender that has samples.
    pub(super) fn figures(
        &self,
        work: &str,
        operation: &'static str,
        operations: u64,
        samples: &[Samples],
    ) -> Vec<KindsFigure> {
        let of_each = self.contenders.iter().zip(samples);
        of_each
            .filter_map(|(contender, samples)| {
                KindsFigure::new(work, operation, contender.kind, operations, samples)
            })
            .collect()
    }

    /// Closes the databases and removes their files.
    pub(super) fn discard(mut self) -> Result<()> {
        self.contenders
            .iter_mut()
            .try_for_each(KindsContender::discard)
    }
}

/// Adds the times of a round to the samples, as nanoseconds per operation.
pub(super) fn add_round(samples: &mut [Samples], times: &[Option<Duration>], operations: u64) {
    for (samples, time) in samples.iter_mut().zip(times) {
        if let Some(time) = time {
            samples.push(time.as_secs_f64() * 1e9 / operations.max(1) as f64);
        }
    }
}

/// Adds the times of a slice to those of the round.
pub(super) fn add_slice(round: &mut [Option<Duration>], slice: &[Option<Duration>]) {
    for (sum, time) in round.iter_mut().zip(slice) {
        if let Some(time) = time {
            *sum = Some(sum.unwrap_or_default() + *time);
        }
    }
}
