//! Transitions of the commit state after a failure, in recovery, and when the database is closed.

use super::{CommitState, failure::CommitFailure};
#[cfg(test)]
use crate::record::record_ref::RecordRef;
use crate::{Result, TransactionId};
use std::{io, task::Waker};

impl CommitState {
    /// Notes that nothing becomes durable any more, except the target of a running flush.
    pub(crate) fn fail(&mut self, operation: &'static str, error: &io::Error) {
        self.failure
            .get_or_insert_with(|| CommitFailure::new(operation, error));
    }

    /// Like [`Self::fail`], for a failure in another process.
    pub(super) fn fail_elsewhere(&mut self) {
        let error = io::Error::other("a write or flush by another process failed");
        self.fail("writing", &error);
    }

    /// After a failure, when no flush runs: drops unpublished and deferred commits, and returns the
    /// wakers of all tickets.
    pub(crate) fn give_up(&mut self) -> Vec<Waker> {
        assert!(self.has_failed(), "commits are given up after a failure");
        self.unpublished = None;
        self.deferred.clear();
        self.waiters.take_all_wakers()
    }

    /// Notes that nothing after `durable` is known to be on the disk: a database that is opened
    /// for reading flushes nothing.
    pub(crate) fn distrust_after(&mut self, durable: TransactionId) {
        self.records.distrust_after(durable);
    }

    /// Makes `durable` the last durable and flushed commit.
    #[cfg(test)]
    pub(crate) fn set_durable(&mut self, durable: RecordRef) {
        (self.records.durable, self.records.flushed) = (durable, durable);
    }

    /// Notes that this process closes and leaves lazy commits as a killed process would.
    pub(crate) fn leave_lazy(&mut self) {
        assert!(
            !self.has_deferred() && !self.has_failed(),
            "commits that closing leaves are in the file"
        );
        self.has_left_lazy = true;
    }

    /// The outcome of a commit for its ticket: an error if closing has left it, since nothing waits
    /// for it any more.
    pub(crate) fn ticket_outcome(&self, transaction: TransactionId) -> Option<Result<()>> {
        let outcome = self.outcome(transaction);
        let is_left = outcome.is_none() && self.has_left_lazy() && !self.is_flushing();
        match is_left {
            true => Some(Err(CommitFailure::new("closing", &closed()).to_error())),
            false => outcome,
        }
    }

    /// Tells the background thread to end.
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
    }
}

/// The error of a commit that is not durable when the database is closed.
pub(crate) fn closed() -> io::Error {
    io::Error::other("the database was closed before this commit was flushed")
}
