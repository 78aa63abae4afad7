//! One line of the result: the cost of one way of reading, of one engine in one setting.

use super::runner::{ReadersRow, ReadersSetting};
use crate::{
    arguments::Readers,
    engines::{EngineKind, ReadStart, ReadStep, SlotOwner},
    statistics::Spread,
};
use serde::Serialize;

/// The thread time of an operation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReadersFigure {
    pub(crate) work: &'static str,
    /// The operation.
    pub(crate) step: &'static str,
    pub(crate) engine: EngineKind,
    /// How the transaction is begun, if there is one: new or renewed, and whether it uses its
    /// thread's slot.
    #[serde(rename = "way")]
    pub(crate) start: Option<&'static str>,
    pub(crate) threads: u32,
    /// Other transactions that are open.
    pub(crate) open: u32,
    /// Records that were loaded.
    pub(crate) records: u64,
    /// Operations of all rounds and threads.
    pub(crate) operations: u64,
    /// The median over the rounds.
    pub(crate) ns_per_op: f64,
    /// The fastest and the slowest round.
    pub(crate) spread: Spread,
    /// Rounds.
    pub(crate) repeats: usize,
}

impl ReadersFigure {
    /// The figure of a line's rounds; `None` if there were none.
    pub(super) fn new(
        readers: &Readers,
        setting: ReadersSetting,
        row: &ReadersRow<'_>,
    ) -> Option<Self> {
        let engine = row.runner.contender.kind;
        Some(Self {
            work: "readers",
            step: step_name(row.step),
            engine,
            start: start_name(engine, row.step, row.runner.slots),
            threads: setting.threads,
            open: setting.open,
            records: readers.records,
            operations: row.operations,
            ns_per_op: row.samples.median()?,
            spread: row.samples.spread()?,
            repeats: row.samples.len(),
        })
    }

    /// The name of its line.
    pub(super) fn name(&self) -> String {
        let start = self
            .start
            .map_or_else(String::new, |start| format!(" {start}"));
        format!("{}{start}", self.engine)
    }

    /// Whether it belongs to the same operation in the same setting.
    pub(super) fn is_same_setting(&self, other: &Self) -> bool {
        (self.step, self.threads, self.open) == (other.step, other.threads, other.open)
    }
}

fn step_name(step: ReadStep) -> &'static str {
    match step {
        ReadStep::Transaction(_) => "begin_end",
        ReadStep::TransactionWithLookup(_) => "begin_lookup_end",
        ReadStep::Lookup => "lookup",
    }
}

/// The name of the start of a transaction. `None` if the engine has only one.
fn start_name(engine: EngineKind, step: ReadStep, slots: SlotOwner) -> Option<&'static str> {
    if !engine.knows_slots() {
        return None;
    }
    match step {
        ReadStep::Lookup => None,
        ReadStep::Transaction(reading) | ReadStep::TransactionWithLookup(reading) => {
            Some(match (reading, slots) {
                (ReadStart::Renew, _) => "renew",
                (ReadStart::Begin, SlotOwner::Threads) => "begin, slots of threads",
                (ReadStart::Begin, SlotOwner::Transactions { .. }) => "begin",
            })
        }
    }
}
