//! Counts of the records in ranges, in a counted table and in one that is not counted.

use super::{
    bench::{KindsBench, add_round, add_slice},
    contender::KindsContender,
    figure::KindsFigure,
    records::SortedKeys,
};
use crate::{
    arguments::Kinds,
    engines::{CountMethod, EngineKind, KeyRange, TableKind},
    statistics::Samples,
};
use anyhow::{Result, ensure};
use fastrand::Rng;
use std::path::Path;

const SEED: u64 = 0x7261_6e67;
/// A range has one of this many records.
const RANGE_PART: u64 = 100;
/// Ranges of each round, and of each slice.
const RANGES: usize = 400;
const PER_SLICE: usize = 40;

/// The workloads: table, method, and their names in results.
const WORKS: [(TableKind, CountMethod, &str, &str); 4] = [
    (
        TableKind::Counted,
        CountMethod::Exact,
        "counted",
        "count_range",
    ),
    (TableKind::Plain, CountMethod::Exact, "plain", "count_range"),
    (
        TableKind::Plain,
        CountMethod::About,
        "plain",
        "estimate_range",
    ),
    (TableKind::Plain, CountMethod::Walk, "plain", "walk_range"),
];

/// Counts records of ranges.
pub(super) fn run(kinds: &Kinds, directory: &Path) -> Result<Vec<KindsFigure>> {
    eprintln!("ranges");
    let sorted = SortedKeys::new(kinds.records);
    let mut bench = KindsBench::new(kinds, directory);
    let (mut figures, mut loaded) = (Vec::new(), None);
    for (table, counting, work, operation) in WORKS {
        if loaded != Some(table) {
            load(&mut bench.contenders, table, &sorted)?;
            loaded = Some(table);
        }
        let (samples, deviations) = count(&mut bench, counting, &sorted, kinds.repeat as usize)?;
        for figure in bench.figures(work, operation, RANGES as u64, &samples) {
            let deviation = deviations.iter().find(|(kind, _)| *kind == figure.engine);
            let deviation = deviation.map(|(_, percent)| *percent);
            figures.push(KindsFigure {
                deviation_percent: deviation.filter(|_| counting == CountMethod::About),
                ..figure
            });
        }
    }
    bench.discard()?;
    Ok(figures)
}

fn load(contenders: &mut [KindsContender], table: TableKind, sorted: &SortedKeys) -> Result<()> {
    let expected = sorted.fingerprint();
    for contender in contenders {
        contender.recreate(table, sorted.bytes())?;
        contender.engine()?.load(&mut sorted.records())?;
        contender.verify(sorted.keys.len() as u64, expected)?;
        contender.settle()?;
    }
    Ok(())
}

/// An engine, and the mean deviation of its counts from the exact ones, in percent.
type Deviation = (EngineKind, f64);

/// The times of each contender, and the mean deviation of its counts from the exact ones, in
/// percent.
fn count(
    bench: &mut KindsBench,
    counting: CountMethod,
    sorted: &SortedKeys,
    repeats: usize,
) -> Result<(Vec<Samples>, Vec<Deviation>)> {
    let in_range = (sorted.keys.len() as u64 / RANGE_PART).max(1);
    let ranges = ranges(sorted, in_range as usize);
    let mut samples = bench.samples();
    let mut deviations = Vec::new();
    for round in 0..=repeats {
        let mut times = bench.times();
        let mut sums: Vec<Deviation> = Vec::new();
        for (turn, ranges) in ranges.chunks(PER_SLICE).enumerate() {
            let slice = bench.in_turn(round + turn, |contender| {
                let (counts, time) =
                    contender.time(|engine| engine.count_ranges(counting, ranges))?;
                let is_known = counts.is_some();
                let counts = counts.unwrap_or_default();
                let sum: f64 = counts.iter().map(|&count| off(count, in_range)).sum();
                sums.push((contender.kind, sum));
                Ok(is_known.then_some(time))
            })?;
            add_slice(&mut times, &slice);
        }
        let of_kind = |kind| {
            let of_slices = sums.iter().filter(move |(known, _)| *known == kind);
            of_slices.map(|(_, sum)| sum).sum::<f64>() / ranges.len() as f64
        };
        let kinds = bench.contenders.iter().map(|contender| contender.kind);
        deviations = kinds.map(|kind| (kind, of_kind(kind))).collect();
        for (kind, deviation) in &deviations {
            ensure!(
                counting == CountMethod::About || *deviation == 0.0,
                "{kind} counted something else"
            );
        }
        if round > 0 {
            add_round(&mut samples, &times, ranges.len() as u64);
        }
    }
    Ok((samples, deviations))
}

/// The deviation of a count from the exact one, in percent.
fn off(count: u64, right: u64) -> f64 {
    count.abs_diff(right) as f64 / right as f64 * 100.0
}

/// Random ranges with `in_range` records each.
fn ranges(sorted: &SortedKeys, in_range: usize) -> Vec<KeyRange> {
    let mut rng = Rng::with_seed(SEED);
    let range = |_| {
        let low = rng.usize(..sorted.keys.len() - in_range);
        (sorted.keys[low], sorted.keys[low + in_range])
    };
    (0..RANGES).map(range).collect()
}
