//! A range of records, and a whole table, that is removed in one transaction; and small commits before and behind that.

use super::{KindsContender, KindsFigure, add_round, contenders, in_turn, records::SortedKeys};
use crate::{
    arguments::Kinds,
    data::{Fingerprint, Record},
    engines::TableKind,
    statistics::Samples,
};
use anyhow::{Result, ensure};
use std::{iter, path::Path, time::Duration};

/// For so many records that are removed one stays before them, and one behind.
const REMOVED_PER_LEFT: u64 = 10;
/// Commits of one record each.
const SMALL_COMMITS: usize = 1000;

/// Removes a range, and all.
pub(super) fn run(kinds: &Kinds, directory: &Path) -> Result<Vec<KindsFigure>> {
    eprintln!("removal");
    let (removed, left) = (kinds.records, kinds.records / REMOVED_PER_LEFT + 1);
    let sorted = SortedKeys::new(removed + 2 * left);
    let (first, end) = (left as usize, (left + removed) as usize);
    let range = (sorted.keys[first], sorted.keys[end]);
    let keys_left = sorted.keys[..first].iter().chain(&sorted.keys[end..]);
    let expected = Fingerprint::of(keys_left.map(|key| Record::new(*key, 0)));
    let count = sorted.keys.len() as u64;
    let mut contenders = contenders(kinds, directory);
    let mut timings = [
        ("remove_range", removed),
        ("clear", count),
        ("commit", SMALL_COMMITS as u64),
        ("commit_after_clear", SMALL_COMMITS as u64),
    ]
    .map(|(operation, operations)| Timing {
        operation,
        operations,
        samples: vec![Samples::default(); contenders.len()],
    });
    let [of_range, clear, before, after] = &mut timings;
    for round in 0..kinds.repeat as usize {
        of_range.add(&in_turn(&mut contenders, round, |contender| {
            contender.recreate(TableKind::Plain, sorted.bytes())?;
            contender.engine()?.load(&mut sorted.records())?;
            contender.settle()?;
            let (count, time) = contender.time(|engine| engine.remove_range(&range))?;
            ensure!(count == removed, "{count} records were removed");
            contender.verify(2 * left, expected)?;
            Ok(Some(time))
        })?);
        before.add(&in_turn(&mut contenders, round, |contender| {
            contender.recreate(TableKind::Plain, sorted.bytes())?;
            commit_some(contender, &sorted).map(Some)
        })?);
        clear.add(&in_turn(&mut contenders, round, |contender| {
            contender.recreate(TableKind::Plain, sorted.bytes())?;
            contender.engine()?.load(&mut sorted.records())?;
            contender.settle()?;
            let ((), time) = contender.time(|engine| engine.clear())?;
            contender.verify(0, Fingerprint::default())?;
            Ok(Some(time))
        })?);
        after.add(&in_turn(&mut contenders, round, |contender| {
            commit_some(contender, &sorted).map(Some)
        })?);
    }
    contenders
        .iter_mut()
        .try_for_each(KindsContender::discard)?;
    let figures = timings.iter().flat_map(|timing| {
        let of_each = contenders.iter().zip(&timing.samples);
        of_each.filter_map(|(contender, samples)| {
            let (work, kind) = ("plain".to_owned(), contender.kind);
            KindsFigure::new(work, timing.operation, kind, timing.operations, samples)
        })
    });
    Ok(figures.collect())
}

/// What is timed, and how long each engine took for it in each round.
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
