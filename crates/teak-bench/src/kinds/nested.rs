//! Nested transactions of a few changes. Every other one is rolled back.

use super::{
    bench::{KindsBench, add_round},
    contender::KindsContender,
    figure::KindsFigure,
    records::SortedKeys,
};
use crate::{
    arguments::Kinds,
    data::{Fingerprint, Record},
    engines::{Nested, NestedEnding, TableKind},
};
use anyhow::Result;
use fastrand::Rng;
use std::{path::Path, time::Duration};

const SEED: u64 = 0x6e65_7374;
/// New values in a nested transaction.
const CHANGES: usize = 10;
/// Nested transactions in an outer one.
const PER_TRANSACTION: u64 = 100;
/// The table has one of this many records, so that it is loaded quickly.
const TABLE_PART: u64 = 10;

/// Runs nested transactions.
pub(super) fn run(kinds: &Kinds, directory: &Path) -> Result<Vec<KindsFigure>> {
    eprintln!("nested");
    let sorted = SortedKeys::new(kinds.records.div_ceil(TABLE_PART));
    let mut bench = KindsBench::new(kinds, directory);
    let mut samples = bench.samples();
    for round in 0..kinds.repeat as usize {
        let times = bench.in_turn(round, |contender| {
            contender.recreate(TableKind::Plain, sorted.bytes())?;
            contender.engine()?.load(&mut sorted.records())?;
            contender.settle()?;
            run_all(contender, &sorted, kinds.nested).map(Some)
        })?;
        add_round(&mut samples, &times, kinds.nested);
    }
    let figures = bench.figures("nested", "transaction_of_10", kinds.nested, &samples);
    bench.discard()?;
    Ok(figures)
}

/// Runs `count` nested transactions, and compares the resulting records.
fn run_all(contender: &mut KindsContender, sorted: &SortedKeys, count: u64) -> Result<Duration> {
    let (mut rng, mut sum) = (Rng::with_seed(SEED), Duration::ZERO);
    let mut versions = vec![0; sorted.keys.len()];
    for first in (0..count).step_by(PER_TRANSACTION as usize) {
        let numbers = first..count.min(first + PER_TRANSACTION);
        let nested: Vec<Nested> = numbers
            .map(|number| one(number, sorted, &mut versions, &mut rng))
            .collect();
        sum += contender.time(|engine| engine.run_nested(&nested))?.1;
    }
    let records = sorted.keys.iter().zip(&versions);
    let expected = Fingerprint::of(records.map(|(key, version)| Record::new(*key, *version)));
    contender.verify(sorted.keys.len() as u64, expected)?;
    Ok(sum)
}

/// A nested transaction. The changes that it keeps are noted in `versions`.
fn one(number: u64, sorted: &SortedKeys, versions: &mut [u64], rng: &mut Rng) -> Nested {
    let ending = match number.is_multiple_of(2) {
        true => NestedEnding::Kept,
        false => NestedEnding::RolledBack,
    };
    let version = number + 1;
    let mut change = |_| {
        let index = rng.usize(..versions.len());
        if ending == NestedEnding::Kept {
            versions[index] = version;
        }
        Record::new(sorted.keys[index], version)
    };
    Nested {
        records: (0..CHANGES).map(&mut change).collect(),
        ending,
    }
}
