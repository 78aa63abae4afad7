//! Small transactions of one record on the loaded database: alternately a new value for an old key,
//! and a new key.

use super::{QuickWorkload, rounds};
use crate::{
    bench::{Bench, BenchContender},
    data::Record,
    engines::{Durability, Insertion},
    measurement::Measurement,
};
use anyhow::{Result, ensure};
use std::{
    slice,
    time::{Duration, Instant},
};

/// Transactions of an engine before the next takes its turn.
const SLICE_DURABLE: usize = 25;
const SLICE_LAZY: usize = 500;
const CHECK_EVERY: usize = 97;

/// Measures `count` transactions per round.
pub(super) fn run(bench: &mut Bench, work: QuickWorkload, count: u32) -> Result<Vec<Measurement>> {
    let count = usize::try_from(count)?;
    let (durability, slice_len, series) = match work {
        QuickWorkload::TxnDurable => (Durability::Durable, SLICE_DURABLE, 1),
        _ => (Durability::Lazy, SLICE_LAZY, 2),
    };
    for contender in &mut bench.contenders {
        contender.reopen(durability, &bench.data)?;
    }
    bench.settle()?;
    rounds::measure(bench, work, count, |bench, round| {
        let changes = bench.data.changes(series + 2 * round as u64, count);
        let slices: Vec<&[Record]> = changes.chunks(slice_len).collect();
        bench.take_turns(&slices, round, |contender, records| {
            commit(contender, records)
        })
    })
}

/// Writes `records`, one transaction each, and checks some of them.
fn commit(contender: &mut BenchContender, records: &[Record]) -> Result<Duration> {
    let engine = contender.engine()?;
    let start = Instant::now();
    for record in records {
        engine.write(slice::from_ref(record), Insertion::Single)?;
    }
    let elapsed = start.elapsed();
    for record in records.iter().step_by(CHECK_EVERY) {
        let value = engine.value(&record.key)?;
        ensure!(
            value.as_deref() == Some(&record.value[..]),
            "a committed record was not found"
        );
    }
    Ok(elapsed)
}
