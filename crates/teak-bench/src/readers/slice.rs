//! One slice: threads that perform the same reads for a fixed time.

use crate::{
    data::{DataSet, Digest, Key},
    engines::{ReadStep, Reader},
};
use anyhow::{Result, anyhow, ensure};
use std::{
    hint::black_box,
    iter,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

/// Large enough that reading the clock between batches is negligible, small enough that a slice
/// ends in time.
const BATCH_KEYS: usize = 128;

/// A batch of keys, and the digest of looking them up.
struct KeyBatch {
    keys: Vec<Key>,
    expected: Digest,
}

/// All keys, in batches.
pub(super) struct KeyBatches {
    batches: Vec<KeyBatch>,
}

impl KeyBatches {
    /// Every key that `data` has for lookups.
    pub(super) fn new(data: &DataSet) -> Self {
        let batch = |keys: &[Key]| KeyBatch {
            keys: keys.to_vec(),
            expected: Digest::of_lookups(keys),
        };
        Self {
            batches: data.lookups.chunks(BATCH_KEYS).map(batch).collect(),
        }
    }

    /// The batches in a loop, for thread `number` of `threads`.
    fn series(&self, number: u32, threads: u32) -> impl Iterator<Item = &KeyBatch> {
        let first = self.batches.len() * number as usize / threads as usize;
        self.batches.iter().cycle().skip(first)
    }
}

/// The result of a slice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadersOutcome {
    pub(super) operations: u64,
    /// The sum over the threads.
    elapsed: Duration,
}

impl ReadersOutcome {
    /// The thread time per operation.
    pub(super) fn ns_per_operation(&self) -> f64 {
        self.elapsed.as_secs_f64() * 1e9 / self.operations.max(1) as f64
    }
}

/// Performs `step` for about `length` on `threads` threads, which begin together.
pub(super) fn run(
    reader: &dyn Reader,
    step: ReadStep,
    lookups: &KeyBatches,
    threads: u32,
    length: Duration,
) -> Result<ReadersOutcome> {
    let start = Barrier::new(threads as usize);
    let read_share = |number| {
        let mut series = lookups.series(number, threads);
        start.wait();
        read(reader, step, &mut series, length)
    };
    let read_share = &read_share;
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || read_share(number)))
            .collect();
        let mut sum = ReadersOutcome::default();
        for thread in running {
            let panicked = |_| Err(anyhow!("a thread that reads panicked"));
            let outcome = thread.join().unwrap_or_else(panicked)?;
            sum.operations += outcome.operations;
            sum.elapsed += outcome.elapsed;
        }
        Ok(sum)
    })
}

/// One thread's part: at least one batch.
fn read(
    reader: &dyn Reader,
    step: ReadStep,
    series: &mut dyn Iterator<Item = &KeyBatch>,
    length: Duration,
) -> Result<ReadersOutcome> {
    let (mut operations, mut expected) = (0, Digest::default());
    let begin = Instant::now();
    let mut batches = iter::from_fn(|| {
        if operations > 0 && begin.elapsed() >= length {
            return None;
        }
        let batch = series.next()?;
        operations += batch.keys.len() as u64;
        if !matches!(step, ReadStep::Transaction(_)) {
            expected.add(batch.expected);
        }
        Some(black_box(&batch.keys[..]))
    });
    let found = black_box(reader.read(step, &mut batches)?);
    let elapsed = begin.elapsed();
    ensure!(
        found == expected,
        "lookups found {found:?} instead of {expected:?}"
    );
    Ok(ReadersOutcome {
        operations,
        elapsed,
    })
}

#[cfg(test)]
#[path = "slice_tests.rs"]
mod tests;
