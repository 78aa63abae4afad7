//! Scans of all records, and short ranges.

use crate::{
    compare::{
        message::{PartResult, TaskPart},
        meter::{Meter, NoTimer, OperationTimer},
        model::{DatabaseModel, RecordBlock},
        work::CompareWorkload,
    },
    data::Digest,
    engines::store::{Connection, Read, ScanDirection, Store},
};
use anyhow::{Result, ensure};
use fastrand::Rng;
use std::path::Path;

/// One range of this many more is timed individually.
const TIMED_EVERY: u64 = 5;

/// Scans all records.
pub(crate) fn scan<S: Store>(
    store: &S,
    model: &DatabaseModel,
    part: TaskPart,
    directory: &Path,
) -> Result<PartResult> {
    let expected = model.digest();
    let direction = match part.task.work {
        CompareWorkload::ScanBack => ScanDirection::Backwards,
        _ => ScanDirection::Forwards,
    };
    let mut connection = store.connect()?;
    let mut meter = Meter::new(directory)?;
    let live = model.live();
    meter.run(live.end - live.start, |_, digest| {
        let mut transaction = connection.read()?;
        transaction.scan(direction, u64::MAX, |key, value| {
            digest.add_record(key, value)
        })
    })?;
    let found = meter.digest;
    ensure!(
        found == expected,
        "the scan came by {found:?} instead of {expected:?}"
    );
    meter.finish()
}

/// Reads ranges from random keys on. The parent process compares the results of the engines.
pub(crate) fn range<S: Store>(
    store: &S,
    model: &DatabaseModel,
    part: TaskPart,
    directory: &Path,
) -> Result<PartResult> {
    let most = match part.task.work {
        CompareWorkload::Range100 => 100,
        _ => 10,
    };
    let timed = (part.operations / TIMED_EVERY).max(1);
    let mut rng = Rng::with_seed(part.seed);
    let mut block = RecordBlock::default();
    for _ in 0..timed + part.operations {
        block.add_key(model, model.pick(&mut rng));
    }
    let keys = block.keys();
    let (timed, keys) = keys.split_at(timed as usize);
    let mut connection = store.connect()?;
    let mut meter = Meter::new(directory)?;
    let mut early = Digest::default();
    go_over(
        &mut connection,
        most,
        timed,
        &mut meter.latencies,
        &mut early,
    )?;
    meter.run(part.operations, |_, digest| {
        go_over(&mut connection, most, keys, &mut NoTimer, digest)
    })?;
    meter.digest.add(early);
    meter.finish()
}

fn go_over(
    connection: &mut impl Connection,
    most: u64,
    keys: &[&[u8]],
    watch: &mut impl OperationTimer,
    digest: &mut Digest,
) -> Result<()> {
    let mut transaction = connection.read()?;
    for key in keys {
        watch.time(|| {
            transaction.scan(ScanDirection::From(key), most, |key, value| {
                digest.add_record(key, value);
            })
        })?;
    }
    Ok(())
}
