//! Deferred commits: small durable commits whose pages stay in memory until the next flush.

use crate::{
    TransactionId,
    commit::disk::UnwrittenPage,
    read::snapshot::Snapshot,
    record::{Record, record_ref::RecordRef},
};
use std::sync::Arc;

/// Deferred commits, combined into one. They are not in the file yet.
#[derive(Debug)]
pub(crate) struct DeferredCommits {
    /// The state after the last of them.
    pub(crate) snapshot: Arc<Snapshot>,
    /// The pages of that state that were not in the file when it was made, sorted.
    pub(crate) pages: Arc<[UnwrittenPage]>,
}

/// Deferred commits that a thread has taken to write them.
#[derive(Debug)]
pub(crate) struct TakenDeferred {
    deferred: DeferredCommits,
    /// The reference to their record.
    pub(crate) written: RecordRef,
    /// The newest commit in the file when they were taken. No other commit is written until these
    /// are: the taker holds the deferred-write lock.
    newest: TransactionId,
}

impl TakenDeferred {
    /// The pages that no commit in the file wrote.
    pub(crate) fn unwritten_pages(&self) -> impl Iterator<Item = &UnwrittenPage> {
        let pages = self.deferred.pages.iter();
        pages.filter(|page| page.transaction > self.newest)
    }

    /// The record of the last of the commits.
    pub(crate) fn record(&self) -> Record {
        debug_assert_eq!(
            self.written.transaction,
            self.deferred.snapshot.transaction(),
            "the record is that of the last commit"
        );
        Record {
            slot: self.written.slot,
            sequence: self.written.sequence,
            ..self.deferred.snapshot.record.clone()
        }
    }
}

/// The deferred commits of a process.
#[derive(Default, Debug)]
pub(crate) struct DeferredQueue {
    /// Those that nobody has taken to write them.
    queued: Option<DeferredCommits>,
    /// Whether some are not in the file: queued ones, or those that are being written.
    has_unwritten: bool,
}

impl DeferredQueue {
    /// Whether there are deferred commits that are not in the file.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.has_unwritten
    }

    /// Adds a commit, which includes the earlier ones.
    pub(crate) fn add(&mut self, deferred: DeferredCommits) {
        if let Some(earlier) = &self.queued {
            debug_assert!(
                earlier.snapshot.transaction() < deferred.snapshot.transaction(),
                "deferred commits come in order"
            );
        }
        debug_assert!(
            deferred.pages.is_sorted_by(|a, b| a.number < b.number),
            "each page is deferred once, in the order of the file"
        );
        debug_assert!(
            deferred.pages.iter().all(|page| {
                page.transaction <= deferred.snapshot.transaction()
                    && u64::from(page.number.0) < deferred.snapshot.record.page_count
            }),
            "deferred pages are those of the last commit and of earlier ones"
        );
        self.queued = Some(deferred);
        self.has_unwritten = true;
    }

    /// Takes the queued commits to write them. They count as unwritten until
    /// [`Self::note_written`].
    pub(crate) fn take(&mut self, newest: RecordRef, slot: u8) -> Option<TakenDeferred> {
        let deferred = self.queued.take()?;
        Some(TakenDeferred {
            written: RecordRef {
                transaction: deferred.snapshot.transaction(),
                slot,
                sequence: newest.sequence + 1,
            },
            newest: newest.transaction,
            deferred,
        })
    }

    /// Notes that the taken commits are in the file.
    pub(crate) fn note_written(&mut self) {
        self.has_unwritten = self.queued.is_some();
    }

    /// Drops all of them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Checks that queued commits are unwritten and newer than the newest commit in the file.
    pub(crate) fn assert_invariants(&self, newest: TransactionId) {
        if let Some(queued) = &self.queued {
            assert!(self.has_unwritten, "queued commits are not in the file");
            assert!(
                queued.snapshot.transaction() > newest,
                "deferred commits are newer than those in the file"
            );
        }
    }
}
