//! Counts of work, and times of commits.

use crate::{
    database::{DATABASES, teak_db},
    error::{answer, teak_error},
    ffi::{Grows, OK, give},
    teak_code,
    transactions::{take_writer, teak_txn},
};
use std::time::Duration;
use teak::{CommitLatency, Metrics};

/// Counts since the database was opened, for this process. A transaction is counted when it
/// commits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_metrics {
    /// sizeof(teak_metrics).
    pub size: usize,
    /// Commits that changed something.
    pub commits: u64,
    /// Of these, the commits that were deferred to the next flush, to be written together.
    pub deferred_commits: u64,
    /// Flushes that succeeded; commits share them.
    pub flushes: u64,
    /// Bytes of pages and records that these flushes brought to the disk.
    pub flushed_bytes: u64,
    /// Pages that commits have taken, large values included.
    pub taken_pages: u64,
    /// Of these, the pages that replaced a page of an earlier state and started with its bytes.
    pub copied_pages: u64,
    /// Pages of earlier states that commits do not use any more.
    pub dead_pages: u64,
    /// Pages that no state uses any more, found when a write transaction began.
    pub reclaimed_pages: u64,
    /// Leaves that were written before their commit because the memory limit was reached.
    pub early_pages: u64,
    /// Pages that were added to trees because others were full. Bulk loads do not count.
    pub splits: u64,
    /// Pages whose contents were moved to a neighbour.
    pub merges: u64,
    /// Values that were written to pages of their own.
    pub large_values: u64,
    /// Pages of an encrypted database that were decrypted.
    pub decrypted_pages: u64,
    /// Of these, the pages whose memory was given back.
    pub evicted_pages: u64,
    /// Records that were removed because they had expired.
    pub expired_records: u64,
    /// Records that were removed because they were the oldest of a table above its limits.
    pub evicted_records: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_metrics {
    const NAME: &'static str = "teak_metrics";
}

impl From<Metrics> for teak_metrics {
    fn from(metrics: Metrics) -> Self {
        Self {
            size: 0,
            commits: metrics.commits,
            deferred_commits: metrics.deferred_commits,
            flushes: metrics.flushes,
            flushed_bytes: metrics.flushed_bytes,
            taken_pages: metrics.taken_pages,
            copied_pages: metrics.copied_pages,
            dead_pages: metrics.dead_pages,
            reclaimed_pages: metrics.reclaimed_pages,
            early_pages: metrics.early_pages,
            splits: metrics.splits,
            merges: metrics.merges,
            large_values: metrics.large_values,
            decrypted_pages: metrics.decrypted_pages,
            evicted_pages: metrics.evicted_pages,
            expired_records: metrics.expired_records,
            evicted_records: metrics.evicted_records,
        }
    }
}

/// Stores the counts of the work done since the database was opened. Takes no lock.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
///
/// ```c
/// teak_metrics metrics = {.size = sizeof metrics};
/// check(teak_db_metrics(db, &metrics, &error));
/// assert(metrics.commits >= metrics.deferred_commits);
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_metrics(
    db: teak_db,
    metrics: *mut teak_metrics,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let counted = DATABASES.read(db.handle)?.database.metrics();
            teak_metrics::from(counted).write_to(metrics);
            OK
        })
    }
}

/// The durations of the steps of a commit in nanoseconds. A small durable commit that arrives while
/// another one is being flushed is written together with others. All of that is in `wait_ns`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_commit_latency {
    /// sizeof(teak_commit_latency).
    pub size: usize,
    /// Releasing part of the dropped tables, and moving pages from the end of the file.
    pub tail_ns: u64,
    /// Computing checksums, and writing the roots of tables to the catalog.
    pub roots_ns: u64,
    /// Recording which pages were allocated and which became unused.
    pub space_ns: u64,
    /// Writing pages, and making the file longer.
    pub write_ns: u64,
    /// Writing the commit record.
    pub record_ns: u64,
    /// Waiting for the disk. Others may write meanwhile.
    pub wait_ns: u64,
    /// The whole commit.
    pub whole_ns: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_commit_latency {
    const NAME: &'static str = "teak_commit_latency";
}

impl From<CommitLatency> for teak_commit_latency {
    fn from(latency: CommitLatency) -> Self {
        let ns = |step: Duration| u64::try_from(step.as_nanos()).unwrap_or(u64::MAX);
        Self {
            size: 0,
            tail_ns: ns(latency.tail),
            roots_ns: ns(latency.roots),
            space_ns: ns(latency.space),
            write_ns: ns(latency.write),
            record_ns: ns(latency.record),
            wait_ns: ns(latency.wait),
            whole_ns: ns(latency.whole),
        }
    }
}

/// Commits as teak_txn_commit does, and stores how long each step took. `id` and `latency`, whose
/// size is set, may be NULL.
///
/// Threads, errors: as teak_txn_commit.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// teak_commit_latency latency = {.size = sizeof latency};
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("words"), NULL, &table, &error));
/// check(teak_txn_commit_measured(txn, NULL, &latency, &error));
/// assert(latency.wait_ns <= latency.whole_ns);
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_commit_measured(
    txn: teak_txn,
    id: *mut u64,
    latency: *mut teak_commit_latency,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (txn, _presence) = take_writer(txn)?;
            let (committed, measured) = txn.commit_measured()?;
            give(id, committed.0);
            teak_commit_latency::from(measured).write_to(latency);
            OK
        })
    }
}
