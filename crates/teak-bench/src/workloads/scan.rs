//! A forward scan of all records.

use super::{QuickWorkload, rounds};
use crate::{
    bench::{Bench, BenchContender},
    data::Digest,
    measurement::Measurement,
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
    bench.take_turns(&[expected], 0, scan)?;
    let operations = records * scans.len();
    rounds::measure(bench, QuickWorkload::Scan, operations, |bench, round| {
        bench.take_turns(&scans, round, scan)
    })
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
