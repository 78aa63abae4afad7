//! Removing a range of records, and a whole table, in one transaction; and small commits before and
//! after that.

use super::{
    bench::{KindsBench, add_round},
    contender::KindsContender,
    figure::KindsFigure,
    records::SortedKeys,
};
use crate::{
    arguments::Kinds,
    data::{Fingerprint, Record},
    engines::TableKind,
    statistics::Samples,
};
use anyhow::{Result, ensure};
use std::{iter, path::Path, time::Duration};

/// For each group of this many removed records, one record stays before them and one after.
const REMOVED_PER_LEFT: u64 = 10;
/// Commits of one record each.
const SMALL_COMMITS: usize = 1000;

/// Removes a range, and then all records.
pub(super) fn run(kinds: &Kinds, directory: &Path) -> Result<Vec<KindsFigure>> {
    eprintln!("removal");
    let (removed, left) = (kinds.records, kinds.records / REMOVED_PER_LEFT + 1);
    let sorted = SortedKeys::new(removed + 2 * left);
    let (first, end) = (left as usize, (left + removed) as usize);
    let range = (sorted.keys[first], sorted.keys[end]);
    let keys_left = sorted.keys[..first].iter().chain(&sorted.keys[end..]);
    let expected = Fingerprint::of(keys_left.map(|key| Record::new(*key, 0)));
    let count = sorted.keys.len() as u64;
    let mut bench = KindsBench::new(kinds, directory);
    let mut timings = [
        ("remove_range", removed),
        ("clear", count),
        ("commit", SMALL_COMMITS as u64),
        ("commit_after_clear", SMALL_COMMITS as u64),
    ]
    .map(|(operation, operations)| Timing {
        operation,
        operations,
        samples: bench.samples(),
    });
    let [of_range, clear, before, after] = &mut timings;
    for round in 0..kinds.repeat as usize {
        of_range.add(&bench.in_turn(round, |contender| {
            contender.recreate(TableKind::Plain, sorted.bytes())?;
            contender.engine()?.load(&mut sorted.records())?;
            contender.settle()?;
            let (count, time) = contender.time(|engine| engine.remove_range(&range))?;
            ensure!(count == removed, "{count} records were removed");
            contender.verify(2 * left, expected)?;
            Ok(Some(time))
        })?);
        before.add(&bench.in_turn(round, |contender| {
            contender.recreate(TableKind::Plain, sorted.bytes())?;
            commit_some(contender, &sorted).map(Some)
        })?);
        clear.add(&bench.in_turn(round, |contender| {
            contender.recreate(TableKind::Plain, sorted.bytes())?;
            contender.engine()?.load(&mut sorted.records())?;
            contender.settle()?;
            let ((), time) = contender.time(|engine| engine.clear())?;
            contender.verify(0, Fingerprint::default())?;
            Ok(Some(time))
        })?);
        after.add(&bench.in_turn(round, |contender| commit_some(contender, &sorted).map(Some))?);
    }
    let figures = timings.iter().flat_map(|timing| {
        bench.figures(
            "plain",
            timing.operation,
            timing.operations,
            &timing.samples,
        )
    });
    let figures = figures.collect();
    bench.discard()?;
    Ok(figures)
}

/// The times of each engine for one operation, in all rounds.
struct Timing {
    operation: &'static str,
    operations: u64,
    samples: Vec<Samples>,
}

impl Timing {
    fn add(&mut self, times: &[Option<Duration>]) {
        add_round(&mut self.samples, times, self.operations);
    }
}

/// Commits records one by one, in order.
fn commit_some(contender: &mut KindsContender, sorted: &SortedKeys) -> Result<Duration> {
    let ((), time) = contender.time(|engine| {
        let mut records = sorted.records().take(SMALL_COMMITS);
        records.try_for_each(|record| engine.load(&mut iter::once(record)))
    })?;
    Ok(time)
}
