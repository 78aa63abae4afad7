//! A range of records, and a whole table, that is removed in one transaction.

use super::{Contender, Figure, add_round, contenders, in_turn, records::Sorted};
use crate::{
    arguments::Kinds,
    data::{Fingerprint, Record},
    engines::TableKind,
    statistics::Samples,
};
use anyhow::{Result, ensure};
use std::path::Path;

/// For so many records that are removed one stays before them, and one behind.
const REMOVED_PER_LEFT: u64 = 10;

/// Removes a range.
pub(super) fn run(kinds: &Kinds, directory: &Path) -> Result<Vec<Figure>> {
    eprintln!("removal");
    let (removed, left) = (kinds.records, kinds.records / REMOVED_PER_LEFT + 1);
    let sorted = Sorted::new(removed + 2 * left);
    let (first, end) = (left as usize, (left + removed) as usize);
    let range = (sorted.keys[first], sorted.keys[end]);
    let keys_left = sorted.keys[..first].iter().chain(&sorted.keys[end..]);
    let expected = Fingerprint::of(keys_left.map(|key| Record::new(*key, 0)));
    let mut contenders = contenders(kinds, directory);
    let mut figures = Vec::new();
    let mut samples = vec![Samples::default(); contenders.len()];
    let mut of_all = samples.clone();
    for round in 0..kinds.repeat as usize {
        let times = in_turn(&mut contenders, round, |contender| {
            contender.start_anew(TableKind::Plain, sorted.bytes())?;
            contender.engine()?.load(&mut sorted.records())?;
            contender.settle()?;
            let (count, time) = contender.time(|engine| engine.remove_range(&range))?;
            ensure!(count == removed, "{count} records were removed");
            contender.verify(2 * left, expected)?;
            Ok(Some(time))
        })?;
        add_round(&mut samples, &times, removed);
        let times = in_turn(&mut contenders, round, |contender| {
            contender.start_anew(TableKind::Plain, sorted.bytes())?;
            contender.engine()?.load(&mut sorted.records())?;
            contender.settle()?;
            let ((), time) = contender.time(|engine| engine.clear())?;
            contender.verify(0, Fingerprint::default())?;
            Ok(Some(time))
        })?;
        add_round(&mut of_all, &times, removed + 2 * left);
    }
    for (operation, count, samples) in [
        ("remove_range", removed, &samples),
        ("clear", removed + 2 * left, &of_all),
    ] {
        for (contender, samples) in contenders.iter().zip(samples) {
            let work = "plain".to_owned();
            figures.extend(Figure::new(work, operation, contender.kind, count, samples));
        }
    }
    contenders.iter_mut().try_for_each(Contender::discard)?;
    Ok(figures)
}
