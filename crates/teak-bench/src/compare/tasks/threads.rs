//! Workloads of several threads at the same time.

use crate::{
    compare::{
        message::{PartResult, TaskPart},
        meter::{Meter, OperationTimer},
        model::{DatabaseModel, RecordBlock},
    },
    data::Digest,
    engines::store::{Connection, LookupTransaction, Store, Write},
    latencies::Latencies,
};
use anyhow::{Result, anyhow, ensure};
use fastrand::Rng;
use std::{
    path::Path,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, ScopedJoinHandle},
};

/// Records that are rewritten while others read.
const REWRITTEN: usize = 10_000;

/// Commits of one record from all threads: alternately a new value for an old key, and a new key.
pub(crate) fn commits<S: Store>(
    store: &S,
    model: &mut DatabaseModel,
    part: TaskPart,
    directory: &Path,
) -> Result<PartResult> {
    let mut rng = Rng::with_seed(part.seed);
    let mut block = RecordBlock::default();
    for index in 0..part.operations {
        let number = if index % 2 == 0 {
            let number = model.pick(&mut rng);
            model.update(number);
            number
        } else {
            model.insert()
        };
        block.add(model, number);
    }
    // Threads commit in any order, so a record that occurs twice has its last value both times.
    let numbers = block.pairs();
    let mut last = std::collections::HashMap::new();
    for (key, value) in &numbers {
        last.insert(*key, *value);
    }
    let pairs: Vec<_> = numbers.iter().map(|(key, _)| (*key, last[key])).collect();
    let (next, begin) = (
        AtomicUsize::new(0),
        Barrier::new(part.task.threads as usize),
    );
    let commit_some = || {
        let mut latencies = Latencies::new()?;
        let mut connection = store.connect()?;
        begin.wait();
        while let Some((key, value)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
            latencies.time(|| {
                let mut transaction = connection.write()?;
                transaction.put(key, value)?;
                transaction.commit()
            })?;
        }
        connection.wait()?;
        Ok(latencies)
    };
    let mut meter = Meter::new(directory)?;
    meter.run(part.operations, |latencies, _| {
        thread::scope(|scope| {
            let running: Vec<_> = (0..part.task.threads)
                .map(|_| scope.spawn(commit_some))
                .collect();
            running
                .into_iter()
                .try_for_each(|thread| latencies.add(&joined(thread)?))
        })
    })?;
    meter.finish_durable(store)
}

/// Lookups from several threads, while another one rewrites records with their current values, one
/// transaction each, without waiting for the disk, until the lookups are done.
pub(crate) fn mixed<S: Store>(
    store: &S,
    model: &DatabaseModel,
    part: TaskPart,
    directory: &Path,
) -> Result<PartResult> {
    let threads = u64::from(part.task.threads);
    let mut rng = Rng::with_seed(part.seed);
    let mut blocks = Vec::new();
    let mut expected = Digest::default();
    for _ in 0..threads {
        let mut block = RecordBlock::default();
        for _ in 0..part.operations / threads {
            let number = model.pick(&mut rng);
            block.add_key(model, number);
            model.add_found(number, &mut expected);
        }
        blocks.push(block);
    }
    let rewritten = super::block(model, (0..REWRITTEN).map(|_| model.pick(&mut rng)));
    let (is_over, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let write = || {
        let mut connection = store.connect()?;
        for (key, value) in rewritten.pairs().iter().cycle() {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let mut transaction = connection.write()?;
            transaction.put(key, value)?;
            transaction.commit()?;
            commits.fetch_add(1, Ordering::Relaxed);
        }
        connection.wait()
    };
    let read = |block: &RecordBlock| {
        let (mut latencies, mut digest) = (Latencies::new()?, Digest::default());
        let mut connection = store.connect()?;
        for key in block.keys() {
            OperationTimer::time(&mut latencies, || {
                connection.read()?.get(key, |value| digest.add_value(value))
            })?;
        }
        Ok((latencies, digest))
    };
    let mut meter = Meter::new(directory)?;
    meter.run(part.operations / threads * threads, |latencies, digest| {
        thread::scope(|scope| {
            let writer = scope.spawn(write);
            let readers: Vec<_> = blocks
                .iter()
                .map(|block| scope.spawn(|| read(block)))
                .collect();
            let read = readers.into_iter().try_for_each(|reader| {
                let (timed, found) = joined(reader)?;
                digest.add(found);
                latencies.add(&timed)
            });
            is_over.store(true, Ordering::Relaxed);
            joined(writer).and(read)
        })
    })?;
    meter.add_commits(commits.into_inner());
    let found = meter.digest;
    ensure!(
        found == expected,
        "lookups found {found:?} instead of {expected:?}"
    );
    meter.finish_at_rest(store)
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    let panicked = |_| Err(anyhow!("a thread panicked"));
    thread.join().unwrap_or_else(panicked)
}
