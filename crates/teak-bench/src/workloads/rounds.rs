//! The rounds of a workload.

use super::workload::QuickWorkload;
use crate::{
    bench::{Bench, add_round},
    measurement::Measurement,
    statistics::Samples,
};
use anyhow::Result;
use std::time::Duration;

/// Runs `round` as often as asked for, with the number of the round, and returns a measurement for
/// each contender. `round` returns the time that each contender needed for `operations` operations.
pub(super) fn measure(
    bench: &mut Bench,
    work: QuickWorkload,
    operations: usize,
    mut round: impl FnMut(&mut Bench, usize) -> Result<Vec<Duration>>,
) -> Result<Vec<Measurement>> {
    let mut samples = vec![Samples::default(); bench.contenders.len()];
    for number in 0..bench.repeats {
        let sums = round(bench, number)?;
        add_round(&mut samples, &sums, operations);
    }
    let records = bench.data.keys.len();
    let pairs = bench.contenders.iter().zip(&samples);
    Ok(pairs
        .filter_map(|(contender, samples)| {
            Measurement::new(work, contender.kind, records, operations, samples)
        })
        .collect())
}
