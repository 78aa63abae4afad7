//! Tables in which keys have several values: loads, lookups and scans.

use super::{
    bench::{KindsBench, add_round, add_slice},
    contender::KindsContender,
    figure::KindsFigure,
    set::{PairSet, PairShape},
};
use crate::{
    arguments::Kinds,
    engines::{EngineKind, MultiPair, TableKind, ValueKind},
    measurement::LoadSize,
    statistics::Samples,
};
use anyhow::{Result, ensure};
use std::{path::Path, time::Duration};

/// Pairs per transaction.
const PER_TRANSACTION: usize = 10_000;
/// Pairs to look up in each round, and in each slice.
const LOOKUPS: usize = 200_000;
const PER_SLICE: usize = 20_000;

/// How pairs are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InsertMethod {
    Batches,
    OneByOne,
}

impl InsertMethod {
    /// In this order, so that reads use the table made by single insertions.
    const ALL: [Self; 2] = [Self::Batches, Self::OneByOne];

    fn name(self) -> &'static str {
        match self {
            Self::Batches => "insert_batches",
            Self::OneByOne => "insert",
        }
    }
}

/// A kind of lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookupKind {
    FirstValue,
    Pair,
    Count,
}

impl LookupKind {
    const ALL: [Self; 3] = [Self::FirstValue, Self::Pair, Self::Count];

    fn name(self) -> &'static str {
        match self {
            Self::FirstValue => "first_value",
            Self::Pair => "pair",
            Self::Count => "count",
        }
    }
}

/// A way of scanning all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanMethod {
    Packed,
    OneByOne,
}

impl ScanMethod {
    fn name(self) -> &'static str {
        match self {
            Self::Packed => "scan_packed",
            Self::OneByOne => "scan",
        }
    }
}

/// Loads and reads pairs of a shape, with values of each kind.
pub(super) fn run(kinds: &Kinds, shape: PairShape, directory: &Path) -> Result<Vec<KindsFigure>> {
    let mut figures = Vec::new();
    for values in [ValueKind::Fixed, ValueKind::Variable] {
        let mut bench = PairBench {
            set: PairSet { shape, values },
            repeats: kinds.repeat as usize,
            bench: KindsBench::new(kinds, directory),
            figures: Vec::new(),
        };
        bench.run()?;
        figures.append(&mut bench.figures);
        bench.bench.discard()?;
    }
    Ok(figures)
}

struct PairBench {
    set: PairSet,
    repeats: usize,
    bench: KindsBench,
    figures: Vec<KindsFigure>,
}

impl PairBench {
    fn run(&mut self) -> Result<()> {
        eprintln!("{}", self.set.name());
        for method in InsertMethod::ALL {
            self.load(method)?;
        }
        for lookup in LookupKind::ALL {
            // With one key, the same lookup would be repeated.
            if lookup == LookupKind::Pair || !matches!(self.set.shape, PairShape::Many(_)) {
                self.measure_lookup(lookup)?;
            }
        }
        if self.set.values == ValueKind::Fixed {
            self.scan(ScanMethod::Packed)?;
        }
        self.scan(ScanMethod::OneByOne)
    }

    fn load(&mut self, method: InsertMethod) -> Result<()> {
        let (set, data_bytes) = (self.set, self.set.data_bytes());
        let (order, expected) = (set.random_order(), set.fingerprint());
        let mut samples = self.bench.samples();
        for round in 0..self.repeats {
            let times = self.bench.in_turn(round, |contender| {
                contender.recreate(TableKind::Pairs(set.values), data_bytes)?;
                let time = match method {
                    InsertMethod::Batches => load_batches(contender, &set)?,
                    InsertMethod::OneByOne => load_one_by_one(contender, &set, &order)?,
                };
                contender.verify(set.count(), expected)?;
                contender.settle()?;
                Ok(Some(time))
            })?;
            add_round(&mut samples, &times, set.count());
        }
        let mut sizes = Vec::new();
        for contender in &mut self.bench.contenders {
            let space = contender.engine()?.space()?;
            sizes.push((contender.kind, LoadSize { space, data_bytes }));
        }
        self.add_figures(method.name(), set.count(), &samples, &sizes);
        Ok(())
    }

    fn measure_lookup(&mut self, lookup: LookupKind) -> Result<()> {
        let set = self.set;
        let numbers = set.some(LOOKUPS);
        let mut samples = self.bench.samples();
        // The first one is not measured.
        for round in 0..=self.repeats {
            let mut times = self.bench.times();
            for (turn, numbers) in numbers.chunks(PER_SLICE).enumerate() {
                let pairs: Vec<MultiPair> =
                    numbers.iter().map(|&number| set.pair(number)).collect();
                let slice = self.bench.in_turn(round + turn, |contender| {
                    lookup_slice(contender, lookup, &set, numbers, &pairs).map(Some)
                })?;
                add_slice(&mut times, &slice);
            }
            if round > 0 {
                add_round(&mut samples, &times, numbers.len() as u64);
            }
        }
        self.add_figures(lookup.name(), LOOKUPS as u64, &samples, &[]);
        Ok(())
    }

    fn scan(&mut self, scan: ScanMethod) -> Result<()> {
        let (set, scanned, packed) = (self.set, self.set.scanned(), self.set.packed());
        let mut samples = self.bench.samples();
        for round in 0..=self.repeats {
            let times = self.bench.in_turn(round, |contender| {
                let (is_right, time) = match scan {
                    ScanMethod::Packed => {
                        let (found, time) = contender.time(|engine| engine.scan_packed())?;
                        (found == packed, time)
                    }
                    ScanMethod::OneByOne => {
                        let (found, time) = contender.time(|engine| engine.scan())?;
                        (found == scanned, time)
                    }
                };
                ensure!(is_right, "a scan found something else");
                Ok(Some(time))
            })?;
            if round > 0 {
                add_round(&mut samples, &times, set.count());
            }
        }
        self.add_figures(scan.name(), set.count(), &samples, &[]);
        Ok(())
    }

    fn add_figures(
        &mut self,
        operation: &'static str,
        operations: u64,
        samples: &[Samples],
        sizes: &[(EngineKind, LoadSize)],
    ) {
        let figures = self
            .bench
            .figures(&self.set.name(), operation, operations, samples);
        for figure in figures {
            let KindsFigure {
                engine, ns_per_op, ..
            } = figure;
            // Progress report, since large sets take long.
            eprintln!("  {operation} by {engine}: {ns_per_op:.1} ns");
            let size = sizes.iter().find(|(kind, _)| *kind == engine);
            let size = size.map(|(_, size)| *size);
            self.figures.push(KindsFigure { size, ..figure });
        }
    }
}

fn load_batches(contender: &mut KindsContender, set: &PairSet) -> Result<Duration> {
    let mut sum = Duration::ZERO;
    for from in (0..set.count()).step_by(PER_TRANSACTION) {
        let batch = set.batch(from, PER_TRANSACTION as u64);
        sum += contender.time(|engine| engine.insert_batch(&batch))?.1;
    }
    Ok(sum)
}

fn load_one_by_one(
    contender: &mut KindsContender,
    set: &PairSet,
    order: &[u32],
) -> Result<Duration> {
    let mut sum = Duration::ZERO;
    for numbers in order.chunks(PER_TRANSACTION) {
        let pairs = numbers.iter().map(|&number| set.pair(u64::from(number)));
        let pairs: Vec<MultiPair> = pairs.collect();
        sum += contender.time(|engine| engine.insert_pairs(&pairs))?.1;
    }
    Ok(sum)
}

/// Looks up pairs with these numbers, or values of their keys, and compares the results.
fn lookup_slice(
    contender: &mut KindsContender,
    lookup: LookupKind,
    set: &PairSet,
    numbers: &[u64],
    pairs: &[MultiPair],
) -> Result<Duration> {
    let (is_right, time) = match lookup {
        LookupKind::FirstValue => {
            let (found, time) = contender.time(|engine| engine.first_values(pairs))?;
            (found == set.first_values(numbers), time)
        }
        LookupKind::Pair => {
            let (found, time) = contender.time(|engine| engine.find_pairs(pairs))?;
            (found == pairs.len() as u64, time)
        }
        LookupKind::Count => {
            let (found, time) = contender.time(|engine| engine.count_values(pairs))?;
            (found == pairs.len() as u64 * set.per_key(), time)
        }
    };
    ensure!(is_right, "{} found something else", lookup.name());
    Ok(time)
}
