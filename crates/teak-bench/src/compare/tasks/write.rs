//! Transactions that change a few records, or many, from one thread.

use super::{ahead, block};
use crate::{
    compare::{
        message::{PartResult, TaskPart},
        meter::Meter,
        model::{DatabaseModel, RecordBlock},
        work::CompareWorkload,
    },
    data::Digest,
    engines::{
        Durability,
        store::{Connection, LookupTransaction, Store, Write},
    },
};
use anyhow::{Result, ensure};
use fastrand::Rng;
use std::path::Path;

/// Records per transaction of a removal.
const BATCH: usize = 10_000;
/// Records per transaction of `update_batches`.
const UPDATE_BATCH: usize = 1000;

/// New values for random records, a transaction each, or for many of them.
pub(crate) fn update<S: Store>(
    store: &S,
    model: &mut DatabaseModel,
    part: TaskPart,
    directory: &Path,
) -> Result<PartResult> {
    let mut rng = Rng::with_seed(part.seed);
    let mut meter = Meter::new(directory)?;
    let mut left = part.operations;
    while left > 0 {
        let count = left.min(ahead(model));
        let mut block = RecordBlock::default();
        for _ in 0..count {
            let number = model.pick(&mut rng);
            model.update(number);
            block.add(model, number);
        }
        let batch = match part.task.work {
            CompareWorkload::UpdateBatches => UPDATE_BATCH,
            _ => 1,
        };
        put_block(store, &mut meter, &block, batch)?;
        left -= count;
    }
    match part.task.work.durability() {
        Some(Durability::Durable) => meter.finish_durable(store),
        _ => meter.finish_at_rest(store),
    }
}

/// All records of a model, a transaction each.
pub(crate) fn put_each<S: Store>(
    store: &S,
    model: &DatabaseModel,
    directory: &Path,
) -> Result<PartResult> {
    let mut meter = Meter::new(directory)?;
    let numbers: Vec<u64> = model.live().collect();
    for numbers in numbers.chunks(ahead(model) as usize) {
        put_block(store, &mut meter, &block(model, numbers.iter().copied()), 1)?;
    }
    meter.finish_at_rest(store)
}

/// Puts records, `batch` in each transaction.
fn put_block<S: Store>(
    store: &S,
    meter: &mut Meter<'_>,
    block: &RecordBlock,
    batch: usize,
) -> Result<()> {
    let mut connection = store.connect()?;
    let pairs = block.pairs();
    meter.run(pairs.len() as u64, |latencies, _| {
        for pairs in pairs.chunks(batch) {
            latencies.time(|| {
                let mut transaction = connection.write()?;
                for (key, value) in pairs {
                    transaction.put(key, value)?;
                }
                transaction.commit()
            })?;
        }
        connection.wait()
    })
}

/// Transactions of two new records, one lookup, one new value, one removal.
pub(crate) fn crud<S: Store>(
    store: &S,
    model: &mut DatabaseModel,
    part: TaskPart,
    directory: &Path,
) -> Result<PartResult> {
    let mut rng = Rng::with_seed(part.seed);
    let mut meter = Meter::new(directory)?;
    let mut connection = store.connect()?;
    let mut expected = Digest::default();
    let mut left = part.operations;
    while left > 0 {
        let count = left.min(ahead(model) / 4 + 1);
        let mut block = RecordBlock::default();
        for _ in 0..count {
            let lookup = model.pick(&mut rng);
            block.add_key(model, lookup);
            model.add_found(lookup, &mut expected);
            let (updated, removed) = (model.pick(&mut rng), model.remove());
            for _ in 0..2 {
                let number = model.insert();
                block.add(model, number);
            }
            // A removed record would be inserted again.
            let updated = updated.max(removed + 1);
            model.update(updated);
            block.add(model, updated);
            block.add_key(model, removed);
        }
        let pairs = block.pairs();
        let (transactions, _) = pairs.as_chunks();
        meter.run(count, |latencies, digest| {
            for [lookup, first, second, updated, removed] in transactions {
                latencies.time(|| {
                    let mut transaction = connection.write()?;
                    transaction.put(first.0, first.1)?;
                    transaction.put(second.0, second.1)?;
                    transaction.get(lookup.0, |value| digest.add_value(value))?;
                    transaction.put(updated.0, updated.1)?;
                    transaction.remove(removed.0)?;
                    transaction.commit()
                })?;
            }
            connection.wait()
        })?;
        left -= count;
    }
    let found = meter.digest;
    ensure!(
        found == expected,
        "lookups found {found:?} instead of {expected:?}"
    );
    match part.task.work.durability() {
        Some(Durability::Durable) => meter.finish_durable(store),
        _ => meter.finish_at_rest(store),
    }
}

/// Removes the oldest records, whose keys are in random order.
pub(crate) fn delete<S: Store>(
    store: &S,
    model: &mut DatabaseModel,
    part: TaskPart,
    directory: &Path,
) -> Result<PartResult> {
    let mut meter = Meter::new(directory)?;
    let mut connection = store.connect()?;
    let mut block = RecordBlock::default();
    for _ in 0..part.operations {
        let number = model.remove();
        block.add_key(model, number);
    }
    let keys = block.keys();
    meter.run(keys.len() as u64, |latencies, _| {
        for batch in keys.chunks(BATCH) {
            latencies.time(|| {
                let mut transaction = connection.write()?;
                transaction.remove_all(batch)?;
                transaction.commit()
            })?;
        }
        connection.wait()
    })?;
    meter.finish_at_rest(store)
}
