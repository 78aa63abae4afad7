//! Loads into an empty database.

use super::{ahead, block};
use crate::{
    compare::{
        message::PartResult,
        meter::Meter,
        model::{DatabaseModel, RecordStream},
    },
    engines::store::{Connection, Store, Write},
};
use anyhow::Result;
use std::path::Path;

/// Records of a transaction.
const BATCH: usize = 10_000;
/// The number of samples of the files' size.
const SIZES: u64 = 20;

/// In any order, one batch per transaction.
pub(crate) fn load_random<S: Store>(
    store: &S,
    model: &DatabaseModel,
    directory: &Path,
) -> Result<PartResult> {
    let numbers: Vec<u64> = model.live().collect();
    load_in_batches(store, model, directory, &numbers, ArrivalOrder::Random)
}

/// In the order of keys, one batch per transaction, with the engine's call for that.
pub(crate) fn load_sorted<S: Store>(
    store: &S,
    model: &DatabaseModel,
    directory: &Path,
) -> Result<PartResult> {
    let numbers = in_key_order(model);
    load_in_batches(store, model, directory, &numbers, ArrivalOrder::Sorted)
}

/// In any order, all records at once, with the engine's best call.
pub(crate) fn load_bulk<S: Store>(
    store: &S,
    model: &DatabaseModel,
    directory: &Path,
) -> Result<PartResult> {
    let mut meter = Meter::new(directory)?;
    let mut stream = RecordStream::new(model);
    let count = model.live().count() as u64;
    meter.run(count, |_, _| store.connect()?.load(&mut stream))?;
    meter.take_off(stream.build_time);
    meter.finish_at_rest(store)
}

/// The order of the records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrivalOrder {
    Random,
    Sorted,
}

fn load_in_batches<S: Store>(
    store: &S,
    model: &DatabaseModel,
    directory: &Path,
    numbers: &[u64],
    arrival: ArrivalOrder,
) -> Result<PartResult> {
    let mut meter = Meter::new(directory)?;
    let mut connection = store.connect()?;
    let total = numbers.len() as u64;
    let (mut loaded, mut noted) = (0, 0);
    // All batches are full except the last.
    let step = (ahead(model) as usize).next_multiple_of(BATCH);
    for numbers in numbers.chunks(step) {
        let block = block(model, numbers.iter().copied());
        let pairs = block.pairs();
        meter.run(pairs.len() as u64, |latencies, _| {
            for batch in pairs.chunks(BATCH) {
                latencies.time(|| {
                    let mut transaction = connection.write()?;
                    match arrival {
                        ArrivalOrder::Random => transaction.put_all(batch)?,
                        ArrivalOrder::Sorted => transaction.append(batch)?,
                    }
                    transaction.commit()
                })?;
            }
            connection.wait()
        })?;
        loaded += pairs.len() as u64;
        if loaded * SIZES / total > noted {
            noted = loaded * SIZES / total;
            meter.note_size()?;
        }
    }
    meter.finish_at_rest(store)
}

/// The numbers of all records, as their keys are in order.
fn in_key_order(model: &DatabaseModel) -> Vec<u64> {
    let mut numbers: Vec<(Vec<u8>, u64)> = model
        .live()
        .map(|number| (model.keys.sort_key(number), number))
        .collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|(_, number)| number).collect()
}
