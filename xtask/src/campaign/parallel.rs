//! Work on all processors.

use crate::Result;
use std::{
    ops::{ControlFlow, Range},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

/// Calls `work` with 0, 1, 2 and so on, on all processors, until one call breaks or fails.
pub(crate) fn numbers(work: impl Fn(u64) -> Result<ControlFlow<()>> + Sync) -> Result {
    let (next, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    let run = || -> Result {
        while !is_done.load(Ordering::Relaxed) {
            if work(next.fetch_add(1, Ordering::Relaxed))?.is_break() {
                is_done.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    let count = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(run)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| failure!("a thread panicked"))?)
    })
}

/// Calls `work` with each item, on all processors.
pub(crate) fn each<T: Sync>(items: &[T], work: impl Fn(&T) -> Result + Sync) -> Result {
    numbers(|index| match items.get(index as usize) {
        Some(item) => work(item).map(ControlFlow::Continue),
        None => Ok(ControlFlow::Break(())),
    })
}

/// Calls `work` with consecutive parts of `range`, each of at most `len`, on all processors.
pub(crate) fn parts(
    range: Range<u64>,
    len: u64,
    work: impl Fn(Range<u64>) -> Result + Sync,
) -> Result {
    numbers(|part| {
        let start = range.start.saturating_add(part.saturating_mul(len));
        if start >= range.end {
            return Ok(ControlFlow::Break(()));
        }
        let end = range.end.min(start.saturating_add(len));
        work(start..end).map(ControlFlow::Continue)
    })
}
