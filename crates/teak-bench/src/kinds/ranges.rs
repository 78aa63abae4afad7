//! Records of ranges counted, in a table that counts, and in one that does not.

use super::{
    KindsContender, KindsFigure, add_round, add_slice, contenders, in_turn, records::SortedKeys,
};
use crate::{
    arguments::Kinds,
    engines::{CountMethod, KeyRange, TableKind},
    statistics::Samples,
};
use anyhow::{Result, ensure};
use fastrand::Rng;
use std::path::Path;

const SEED: u64 = 0x7261_6e67;
/// One of so many records is in a range.
const RANGE_PART: u64 = 100;
/// Ranges of a round, and of a slice.
const RANGES: usize = 400;
const PER_SLICE: usize = 40;

/// Works, each with what it is called.
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
    let mut contenders = contenders(kinds, directory);
    let (mut figures, mut loaded) = (Vec::new(), None);
    for (table, counting, work, operation) in WORKS {
        if loaded != Some(table) {
            load(&mut contenders, table, &sorted)?;
            loaded = Some(table);
        }
        let measured = count(&mut contenders, counting, &sorted, kinds.repeat as usize)?;
        for (contender, (samples, deviation)) in contenders.iter().zip(measured) {
            let ranges = RANGES as u64;
            let figure =
                KindsFigure::new(work.to_owned(), operation, contender.kind, ranges, &samples);
            figures.extend(figure.map(|figure| KindsFigure {
                deviation_percent: (counting == CountMethod::About).then_some(deviation),
                ..figure
            }));
        }
    }
    contenders
        .iter_mut()
        .try_for_each(KindsContender::discard)?;
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

/// The times of each contender, and how far what it said is from what there is, in the mean, in percent.
fn count(
    contenders: &mut [KindsContender],
    counting: CountMethod,
    sorted: &SortedKeys,
    repeats: usize,
) -> Result<Vec<(Samples, f64)>> {
    let in_range = (sorted.keys.len() as u64 / RANGE_PART).max(1);
    let ranges = ranges(sorted, in_range as usize);
    let mut measured = vec![(Samples::default(), 0.0); contenders.len()];
    for round in 0..=repeats {
        let mut times = vec![None; contenders.len()];
        let mut deviations = vec![0.0; contenders.len()];
        for (turn, ranges) in ranges.chunks(PER_SLICE).enumerate() {
            let mut said = Vec::new();
            let slice = in_turn(contenders, round + turn, |contender| {
                let (counts, time) =
                    contender.time(|engine| engine.count_ranges(counting, ranges))?;
                let is_known = counts.is_some();
                said.push((contender.kind, counts.unwrap_or_default()));
                Ok(is_known.then_some(time))
            })?;
            add_slice(&mut times, &slice);
            for (deviation, contender) in deviations.iter_mut().zip(&*contenders) {
                let counts = said.iter().find(|(kind, _)| *kind == contender.kind);
                let counts = counts.map_or(&[][..], |(_, counts)| counts);
                *deviation += counts
                    .iter()
                    .map(|&count| off(count, in_range))
                    .sum::<f64>();
            }
        }
        for ((index, (samples, deviation)), time) in measured.iter_mut().enumerate().zip(&times) {
            *deviation = deviations[index] / ranges.len() as f64;
            let is_right = counting == CountMethod::About || *deviation == 0.0;
            ensure!(
                is_right,
                "{} counted something else",
                contenders[index].kind
            );
            if round > 0 {
                add_round(std::slice::from_mut(samples), &[*time], ranges.len() as u64);
            }
        }
    }
    Ok(measured)
}

/// How far a count is from the right one, in percent.
fn off(count: u64, right: u64) -> f64 {
    count.abs_diff(right) as f64 / right as f64 * 100.0
}

/// Ranges of so many records each, anywhere.
fn ranges(sorted: &SortedKeys, in_range: usize) -> Vec<KeyRange> {
    let mut rng = Rng::with_seed(SEED);
    let range = |_| {
        let low = rng.usize(..sorted.keys.len() - in_range);
        (sorted.keys[low], sorted.keys[low + in_range])
    };
    (0..RANGES).map(range).collect()
}
