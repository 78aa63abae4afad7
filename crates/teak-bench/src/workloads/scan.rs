//! A scan forwards over everything.

use super::{QuickWorkload, collect};
use crate::{
    bench::{Bench, BenchContender, add_round},
    data::Digest,
    measurement::Measurement,
    statistics::Samples,
};
use anyhow::{Result, ensure};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Short scans are repeated until a round has about this many records.
const ROUND_RECORDS: usize = 1_000_000;

/// Measures scans. The first is not counted: it brings everything into memory.
pub(super) fn run(bench: &mut Bench) -> Result<Vec<Measurement>> {
    bench.settle()?;
    let expected = Digest::of_scan(&bench.data.keys);
    let records = bench.data.keys.len();
    let scans = vec![expected; ROUND_RECORDS.div_ceil(records.max(1))];
    let mut samples = vec![Samples::default(); bench.contenders.len()];
    bench.take_turns(&[expected], 0, scan)?;
    for round in 0..bench.repeats {
        let sums = bench.take_turns(&scans, round, scan)?;
        add_round(&mut samples, &sums, records * scans.len());
    }
    Ok(collect(
        bench,
        QuickWorkload::Scan,
        records * scans.len(),
        &samples,
    ))
}

fn scan(contender: &mut BenchContender, expected: &Digest) -> Result<Duration> {
    let engine = contender.engine()?;
    let start = Instant::now();
    let digest = black_box(engine.scan()?);
    let elapsed = start.elapsed();
    ensure!(
        digest == *expected,
        "the scan came by {digest:?} instead of {expected:?}"
    );
    Ok(elapsed)
}
