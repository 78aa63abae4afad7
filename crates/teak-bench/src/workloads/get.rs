//! Point lookups of existing keys, in one thread, with everything in memory.

use super::{QuickWorkload, rounds};
use crate::{
    bench::{Bench, BenchContender},
    data::{Digest, Key},
    engines::ReadStart,
    measurement::Measurement,
};
use anyhow::{Result, ensure};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Long enough that the cold start of a slice is negligible, short enough that all engines share
/// fast and slow phases of the machine.
const SLICE_KEYS: usize = 20_000;
const GROUP_KEYS: usize = 32;

/// Keys, and the digest of looking them up.
struct LookupSlice {
    keys: Vec<Key>,
    expected: Digest,
}

/// Measures one kind of lookup. The first round is not counted: it brings everything into memory.
pub(super) fn run(bench: &mut Bench, work: QuickWorkload) -> Result<Vec<Measurement>> {
    bench.settle()?;
    let slices: Vec<LookupSlice> = bench.data.lookups.chunks(SLICE_KEYS).map(slice).collect();
    let operations = bench.data.lookups.len();
    bench.take_turns(&slices, 0, |contender, slice| {
        lookup(contender, work, slice)
    })?;
    rounds::measure(bench, work, operations, |bench, round| {
        bench.take_turns(&slices, round, |contender, slice| {
            lookup(contender, work, slice)
        })
    })
}

fn slice(keys: &[Key]) -> LookupSlice {
    LookupSlice {
        keys: keys.to_vec(),
        expected: Digest::of_lookups(keys),
    }
}

fn lookup(
    contender: &mut BenchContender,
    work: QuickWorkload,
    slice: &LookupSlice,
) -> Result<Duration> {
    let engine = contender.engine()?;
    let keys = black_box(&slice.keys[..]);
    let start = Instant::now();
    let digest = black_box(match work {
        QuickWorkload::GetMany32 => engine.get_many(keys, GROUP_KEYS)?,
        QuickWorkload::GetTxn => engine.get_in_transactions(keys, ReadStart::Begin)?,
        QuickWorkload::GetTxnRenew => engine.get_in_transactions(keys, ReadStart::Renew)?,
        _ => engine.get(keys)?,
    });
    let elapsed = start.elapsed();
    ensure!(
        digest == slice.expected,
        "lookups found {digest:?} instead of {:?}",
        slice.expected
    );
    Ok(elapsed)
}
