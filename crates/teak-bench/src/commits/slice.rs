//! One slice: records that threads commit together, one transaction each.

use crate::{data::Record, engines::Committer, latencies::Latencies};
use anyhow::{Result, anyhow};
use std::{
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The result of a slice.
pub(super) struct CommitsOutcome {
    /// The time from the beginning of the first thread to the end of the last.
    pub(super) elapsed: Duration,
    pub(super) latencies: Latencies,
}

/// One thread's part of a slice.
struct ThreadShare {
    begin: Instant,
    end: Instant,
    latencies: Latencies,
}

/// The state that the threads of a slice share.
struct CommitsSlice<'s> {
    records: &'s [Record],
    /// The number of records taken. At the end it exceeds the number of records.
    taken: AtomicUsize,
    start: Barrier,
}

impl<'s> CommitsSlice<'s> {
    /// The next record that no thread has taken.
    fn take(&self) -> Option<&'s Record> {
        self.records.get(self.taken.fetch_add(1, Ordering::Relaxed))
    }

    fn commit_share(
        &self,
        committer: &dyn Committer,
        mut latencies: Latencies,
    ) -> Result<ThreadShare> {
        self.start.wait();
        let begin = Instant::now();
        committer.commit_each(&mut std::iter::from_fn(|| self.take()), &mut latencies)?;
        Ok(ThreadShare {
            begin,
            end: Instant::now(),
            latencies,
        })
    }
}

/// Commits `records` from `threads` threads, which begin together.
pub(super) fn run(
    committer: &dyn Committer,
    records: &[Record],
    threads: usize,
) -> Result<CommitsOutcome> {
    let slice = CommitsSlice {
        records,
        taken: AtomicUsize::new(0),
        start: Barrier::new(threads),
    };
    let none = Latencies::new()?;
    let shares = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| slice.commit_share(committer, none.clone())))
            .collect();
        let ended = running.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(anyhow!("a thread that commits panicked")))
        });
        ended.collect::<Result<Vec<ThreadShare>>>()
    })?;
    let begin = shares.iter().map(|share| share.begin).min();
    let end = shares.iter().map(|share| share.end).max();
    let (begin, end) = begin.zip(end).ok_or_else(|| anyhow!("no thread ran"))?;
    let mut latencies = none;
    for share in &shares {
        latencies.add(&share.latencies)?;
    }
    Ok(CommitsOutcome {
        elapsed: end - begin,
        latencies,
    })
}

#[cfg(test)]
#[path = "slice_tests.rs"]
mod tests;
