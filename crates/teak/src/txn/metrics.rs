//! Counts of what was done since a database was opened.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What this process has done to a database since it opened it; see [`Database::metrics`](crate::Database::metrics).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Commits that changed something.
    pub commits: u64,
    /// Those of them that were left to the next flush, to be written together.
    pub deferred_commits: u64,
    /// Flushes that succeeded; commits share them.
    pub flushes: u64,
    /// Pages that commits have taken, large values included.
    pub taken_pages: u64,
    /// Pages of earlier states that commits do not use any more.
    pub dead_pages: u64,
    /// Leaves that were written before their commit, since there was no more memory for them.
    pub early_pages: u64,
}

/// The counters. None of them says anything of another one.
#[derive(Debug, Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    deferred_commits: AtomicU64,
    flushes: AtomicU64,
    taken_pages: AtomicU64,
    dead_pages: AtomicU64,
    early_pages: AtomicU64,
}

impl Counters {
    pub(super) fn note_commit(&self, taken_pages: u64, dead_pages: u64, is_deferred: bool) {
        self.commits.fetch_add(1, Relaxed);
        self.deferred_commits.fetch_add(is_deferred.into(), Relaxed);
        self.taken_pages.fetch_add(taken_pages, Relaxed);
        self.dead_pages.fetch_add(dead_pages, Relaxed);
    }

    pub(super) fn note_flush(&self) {
        self.flushes.fetch_add(1, Relaxed);
    }

    pub(super) fn note_early(&self, pages: usize) {
        self.early_pages.fetch_add(pages as u64, Relaxed);
    }

    pub(super) fn read(&self) -> Metrics {
        Metrics {
            commits: self.commits.load(Relaxed),
            deferred_commits: self.deferred_commits.load(Relaxed),
            flushes: self.flushes.load(Relaxed),
            taken_pages: self.taken_pages.load(Relaxed),
            dead_pages: self.dead_pages.load(Relaxed),
            early_pages: self.early_pages.load(Relaxed),
        }
    }
}
