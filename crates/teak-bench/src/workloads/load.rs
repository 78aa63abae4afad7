//! Loads into an empty database: 10,000 records per transaction, no flush.

use super::{QuickWorkload, rounds};
use crate::{
    bench::{Bench, BenchContender, turn_order},
    data::{DataSet, Key, Record},
    engines::{Insertion, Space},
    measurement::{LoadSize, Measurement},
};
use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};

const BATCH_RECORDS: usize = 10_000;
const CHECK_EVERY: usize = 997;

/// Measures a load. The databases of the last round stay open for the following workloads.
pub(super) fn run(bench: &mut Bench, work: QuickWorkload) -> Result<Vec<Measurement>> {
    let mut spaces: Vec<Option<Space>> = vec![None; bench.contenders.len()];
    let (keys, insertion) = plan(&bench.data, work);
    let mut measurements = rounds::measure(bench, work, keys.len(), |bench, round| {
        let mut sums = vec![Duration::ZERO; bench.contenders.len()];
        for index in turn_order(bench.contenders.len(), round) {
            let contender = &mut bench.contenders[index];
            let kind = contender.kind;
            contender.recreate(&bench.data)?;
            let loaded = load(contender, &keys, insertion);
            sums[index] = loaded.with_context(|| format!("{kind} failed"))?;
            spaces[index] = Some(contender.engine()?.space()?);
            check(contender, &keys).with_context(|| format!("{kind} lost a record"))?;
        }
        Ok(sums)
    })?;
    let data_bytes = bench.data.bytes();
    for (measurement, space) in measurements.iter_mut().zip(spaces) {
        measurement.size = space.map(|space| LoadSize { space, data_bytes });
    }
    Ok(measurements)
}

/// Loads every database in random order, without measuring.
pub(super) fn prepare(bench: &mut Bench) -> Result<()> {
    for contender in &mut bench.contenders {
        fill(contender, &bench.data)?;
    }
    Ok(())
}

/// Loads a database in random order, without measuring.
pub(crate) fn fill(contender: &mut BenchContender, data: &DataSet) -> Result<()> {
    contender.recreate(data)?;
    load(contender, &data.keys, Insertion::Single)
        .with_context(|| format!("{} failed", contender.kind))?;
    Ok(())
}

/// The keys in the order of the load, and the way to insert them.
fn plan(data: &DataSet, work: QuickWorkload) -> (Vec<Key>, Insertion) {
    let mut keys = data.keys.clone();
    if matches!(
        work,
        QuickWorkload::LoadSortedLazy | QuickWorkload::LoadSortedAppend
    ) {
        keys.sort_unstable();
    }
    let insertion = match work {
        QuickWorkload::LoadRandomLazy => Insertion::Batch,
        QuickWorkload::LoadPresortedLazy => Insertion::Presorted,
        QuickWorkload::LoadSortedAppend => Insertion::Append,
        _ => Insertion::Single,
    };
    (keys, insertion)
}

fn load(contender: &mut BenchContender, keys: &[Key], insertion: Insertion) -> Result<Duration> {
    let engine = contender.engine()?;
    let mut sum = Duration::ZERO;
    let mut records = Vec::with_capacity(BATCH_RECORDS);
    for batch in keys.chunks(BATCH_RECORDS) {
        records.clear();
        records.extend(batch.iter().map(|key| Record::new(*key, 0)));
        let start = Instant::now();
        engine.write(&records, insertion)?;
        sum += start.elapsed();
    }
    Ok(sum)
}

/// Compares a sample of the values with those that were loaded.
pub(crate) fn check(contender: &mut BenchContender, keys: &[Key]) -> Result<()> {
    let engine = contender.engine()?;
    for key in keys.iter().step_by(CHECK_EVERY) {
        let value = engine.value(key)?;
        ensure!(
            value.as_deref() == Some(&Record::new(*key, 0).value[..]),
            "key {key:02x?}"
        );
    }
    Ok(())
}
