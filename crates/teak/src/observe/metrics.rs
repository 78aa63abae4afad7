//! Counters of operations since a database was opened.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts the work of this process on a database since it was opened. See
/// [`Database::metrics`](crate::Database::metrics). The operations of a transaction count when it
/// commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Commits with changes.
    pub commits: u64,
    /// Deferred commits among them, which were written together by a later flush.
    pub deferred_commits: u64,
    /// Successful flushes; commits share them.
    pub flushes: u64,
    /// Bytes of pages and records that this process wrote and that these flushes brought to the
    /// disk.
    pub flushed_bytes: u64,
    /// Pages that commits have taken, including large values.
    pub taken_pages: u64,
    /// Pages among them that replaced a page of an earlier state, with its content.
    pub copied_pages: u64,
    /// Pages of earlier states that commits no longer use.
    pub dead_pages: u64,
    /// Pages that no state uses any more, found when a write transaction began.
    pub reclaimed_pages: u64,
    /// Leaves that were written before their commit because the memory limit was reached.
    pub early_pages: u64,
    /// Pages that were added to trees because others were full; bulk loading does not count.
    pub splits: u64,
    /// Pages whose content was moved to a neighbour.
    pub merges: u64,
    /// Values that were written to pages of their own.
    pub large_values: u64,
    /// Pages of an encrypted database that were decrypted.
    pub decrypted_pages: u64,
    /// Pages among them whose memory was given back.
    pub evicted_pages: u64,
    /// Records that were removed because they had expired; see
    /// [`ExpiringTable`](crate::ExpiringTable).
    pub expired_records: u64,
    /// Records that were removed because they were the oldest of a table above its limits.
    pub evicted_records: u64,
}

/// Operations of a transaction so far.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct WriteWork {
    pub(crate) copied_pages: u64,
    pub(crate) splits: u64,
    pub(crate) merges: u64,
    pub(crate) large_values: u64,
    pub(crate) expired_records: u64,
    pub(crate) evicted_records: u64,
}

/// Defines the counters, one for each field of [`Metrics`].
macro_rules! counters {
    ($($name:ident),+) => {
        #[cfg(feature = "metrics")]
        impl Metrics {
            /// The names and values of all counters.
            pub(super) fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),+]
            }
        }

        /// The counters. They are independent of each other.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($name: AtomicU64),+
        }

        impl Counters {
            pub(crate) fn read(&self) -> Metrics {
                Metrics {
                    $($name: self.$name.load(Relaxed)),+
                }
            }
        }
    };
}

counters!(
    commits,
    deferred_commits,
    flushes,
    flushed_bytes,
    taken_pages,
    copied_pages,
    dead_pages,
    reclaimed_pages,
    early_pages,
    splits,
    merges,
    large_values,
    decrypted_pages,
    evicted_pages,
    expired_records,
    evicted_records
);

impl Counters {
    pub(crate) fn note_commit(
        &self,
        commit_count: u64,
        (taken_pages, dead_pages): (u64, u64),
        is_deferred: bool,
        work: WriteWork,
    ) {
        self.commits.fetch_add(commit_count, Relaxed);
        self.deferred_commits.fetch_add(is_deferred.into(), Relaxed);
        self.taken_pages.fetch_add(taken_pages, Relaxed);
        self.dead_pages.fetch_add(dead_pages, Relaxed);
        self.copied_pages.fetch_add(work.copied_pages, Relaxed);
        self.splits.fetch_add(work.splits, Relaxed);
        self.merges.fetch_add(work.merges, Relaxed);
        self.large_values.fetch_add(work.large_values, Relaxed);
        if work.expired_records | work.evicted_records != 0 {
            self.note_removed(work);
        }
    }

    #[cold]
    fn note_removed(&self, work: WriteWork) {
        (self.expired_records).fetch_add(work.expired_records, Relaxed);
        (self.evicted_records).fetch_add(work.evicted_records, Relaxed);
    }

    pub(crate) fn note_flush(&self, bytes: u64) {
        self.flushes.fetch_add(1, Relaxed);
        self.flushed_bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn note_early(&self, pages: usize) {
        self.early_pages.fetch_add(pages as u64, Relaxed);
    }

    pub(crate) fn note_reclaimed(&self, pages: u64) {
        self.reclaimed_pages.fetch_add(pages, Relaxed);
    }
}
