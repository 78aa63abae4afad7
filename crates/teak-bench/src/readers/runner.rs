//! An engine opened in one way, and the lines of the result that its slices fill.

use super::slice::{self, KeyBatches};
use crate::{
    bench::BenchContender,
    engines::{ReadStart, ReadStep, SlotOwner},
    statistics::Samples,
};
use anyhow::{Context, Result};
use std::time::Duration;

/// An engine with its database, opened in one way.
pub(super) struct ReadersRunner {
    pub(super) contender: BenchContender,
    pub(super) slots: SlotOwner,
}

/// The numbers of reading threads and of other open transactions.
#[derive(Clone, Copy)]
pub(super) struct ReadersSetting {
    pub(super) open: u32,
    pub(super) threads: u32,
}

/// One line of the result, as it grows.
pub(super) struct ReadersRow<'r> {
    pub(super) runner: &'r ReadersRunner,
    pub(super) step: ReadStep,
    pub(super) samples: Samples,
    pub(super) operations: u64,
}

impl ReadersRunner {
    /// The ways to begin and end a transaction that have a line.
    pub(super) fn readings(&self, setting: ReadersSetting) -> &'static [ReadStart] {
        match self.slots {
            SlotOwner::Threads if setting.open > 0 => &[],
            SlotOwner::Transactions { .. } if self.contender.kind.knows_slots() => {
                &[ReadStart::Begin, ReadStart::Renew]
            }
            _ => &[ReadStart::Begin],
        }
    }
}

impl<'r> ReadersRow<'r> {
    pub(super) fn new(runner: &'r ReadersRunner, step: ReadStep) -> Self {
        Self {
            runner,
            step,
            samples: Samples::default(),
            operations: 0,
        }
    }

    pub(super) fn run(
        &self,
        setting: ReadersSetting,
        lookups: &KeyBatches,
        length: Duration,
    ) -> Result<slice::ReadersOutcome> {
        let contender = &self.runner.contender;
        slice::run(
            contender.reader()?,
            self.step,
            lookups,
            setting.threads,
            length,
        )
        .with_context(|| format!("{} failed", contender.kind))
    }
}
