//! The workloads, written once for every engine.
//!
//! Each does one part: it first makes the records, then works with the clock running, then checks
//! the results.

mod coins;
mod load;
mod lookup;
mod range;
mod threads;
mod write;

pub(super) use coins::{Coins, replay};
pub(super) use load::{load_bulk, load_random, load_sorted};
pub(super) use lookup::lookup;
pub(super) use range::{range, scan};
pub(super) use threads::{commits, mixed};
pub(super) use write::{crud, delete, put_each, update};

use super::model::{DatabaseModel, RecordBlock};

/// Large values that are put.
pub(super) const LARGE_VALUES: u64 = 128;

/// Bytes of records that are made ahead, and records, at most.
const AHEAD_BYTES: u64 = 16 << 20;
const AHEAD_RECORDS: u64 = 100_000;

/// How many records of a model are made ahead.
fn ahead(model: &DatabaseModel) -> u64 {
    (AHEAD_BYTES / (model.value_len as u64 + 64)).clamp(1, AHEAD_RECORDS)
}

/// The present records with these numbers.
fn block(model: &DatabaseModel, numbers: impl Iterator<Item = u64>) -> RecordBlock {
    let mut block = RecordBlock::default();
    numbers.for_each(|number| block.add(model, number));
    block
}
