//! Lookups of single keys.

use crate::{
    compare::{
        message::{PartResult, TaskPart},
        meter::{Meter, NoTimer, OperationTimer},
        model::{DatabaseModel, RecordBlock},
        work::CompareWorkload,
    },
    data::Digest,
    engines::store::{Connection, LookupTransaction, Read, Store},
};
use anyhow::{Result, ensure};
use fastrand::Rng;
use rand::{SeedableRng, rngs::SmallRng};
use rand_distr::{Distribution, Zipf};
use std::{hint::black_box, path::Path};

/// Keys in a group that is looked up by one call.
const GROUP: usize = 32;
/// One lookup of this many more is timed individually.
const TIMED_EVERY: u64 = 5;
/// The exponent of YCSB's Zipf distribution.
const ZIPF_EXPONENT: f64 = 0.99;

/// Looks up keys, first without individual times, then others with them.
pub(crate) fn lookup<S: Store>(
    store: &S,
    model: &DatabaseModel,
    part: TaskPart,
    directory: &Path,
) -> Result<PartResult> {
    let timed = (part.operations / TIMED_EVERY).max(1);
    let (block, expected) = keys(model, part, timed + part.operations)?;
    let keys = block.keys();
    let (timed, keys) = keys.split_at(timed as usize);
    let mut connection = store.connect()?;
    let mut meter = Meter::new(directory)?;
    let work = part.task.work;
    let mut digest = get_each(&mut connection, work, timed, &mut meter.latencies)?;
    meter.run(part.operations, |_, found| {
        *found = get_each(&mut connection, work, black_box(keys), &mut NoTimer)?;
        Ok(())
    })?;
    digest.add(meter.digest);
    ensure!(
        digest == expected,
        "lookups found {digest:?} instead of {expected:?}"
    );
    meter.finish()
}

/// Keys to look up, and the expected digest.
fn keys(model: &DatabaseModel, part: TaskPart, count: u64) -> Result<(RecordBlock, Digest)> {
    let (mut block, mut expected) = (RecordBlock::default(), Digest::default());
    let live = model.live();
    let records = live.end - live.start;
    let mut rng = Rng::with_seed(part.seed);
    let mut skewed = SmallRng::seed_from_u64(part.seed);
    let zipf = Zipf::new(records as f64, ZIPF_EXPONENT)?;
    for _ in 0..count {
        let number = match part.task.work {
            CompareWorkload::GetZipf => live.start + zipf.sample(&mut skewed) as u64 - 1,
            _ => model.pick(&mut rng),
        };
        if part.task.work == CompareWorkload::GetMiss {
            block.add_missing(model, number);
        } else {
            block.add_key(model, number);
            model.add_found(number, &mut expected);
        }
    }
    Ok((block, expected))
}

fn get_each(
    connection: &mut impl Connection,
    work: CompareWorkload,
    keys: &[&[u8]],
    watch: &mut impl OperationTimer,
) -> Result<Digest> {
    let mut digest = Digest::default();
    match work {
        CompareWorkload::GetBegin => {
            for key in keys {
                watch.time(|| {
                    let mut transaction = connection.read()?;
                    transaction.get(key, |value| digest.add_value(value))
                })?;
            }
        }
        CompareWorkload::GetMany => {
            let mut transaction = connection.read()?;
            for group in keys.chunks(GROUP) {
                watch.time(|| transaction.get_many(group, |value| digest.add_value(value)))?;
            }
        }
        CompareWorkload::LargeGet => {
            let mut transaction = connection.read()?;
            for key in keys {
                let mut see = |value: &[u8]| {
                    digest.add_value(value);
                    black_box(read(value));
                };
                watch.time(|| transaction.get(key, &mut see))?;
            }
        }
        _ => {
            let mut transaction = connection.read()?;
            for key in keys {
                watch.time(|| transaction.get(key, |value| digest.add_value(value)))?;
            }
        }
    }
    Ok(digest)
}

/// Reads each byte, because some engines have copied the value and others have not.
fn read(value: &[u8]) -> u64 {
    value.iter().map(|&byte| u64::from(byte)).sum()
}
