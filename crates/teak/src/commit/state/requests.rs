//! Requests to flush that no thread waits for: asynchronous commits, and lazy commits that reach
//! their limits.
//!
//! Invariant: lazy commits have an age while, and only while, some of them wait for a flush.

use crate::{TransactionId, record::FlushLimits};
use std::time::Instant;

/// When the background thread has to flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlushDue {
    Now,
    At(Instant),
    Never,
}

/// Commits that the background thread is to flush.
#[derive(Debug)]
pub(super) struct FlushRequests {
    /// Commits up to this one should be flushed at once.
    wanted: TransactionId,
    /// Bytes of lazy commits for which no flush has begun.
    lazy_bytes: u64,
    /// When the oldest of them was made.
    lazy_since: Option<Instant>,
}

impl FlushRequests {
    /// No requests. A process that joins others requests no flush of their commits.
    pub(super) fn none() -> Self {
        Self {
            wanted: TransactionId(0),
            lazy_bytes: 0,
            lazy_since: None,
        }
    }

    /// Requests an immediate flush of all commits up to `transaction`.
    pub(super) fn want(&mut self, transaction: TransactionId) {
        self.wanted = self.wanted.max(transaction);
    }

    /// Notes a lazy commit of `bytes`. Returns whether the background thread has to be notified.
    pub(super) fn note_lazy(&mut self, bytes: u64, limits: FlushLimits) -> bool {
        self.lazy_bytes += bytes;
        if self.lazy_since.is_some() {
            return self.lazy_bytes >= limits.bytes;
        }
        self.lazy_since = Some(Instant::now());
        true
    }

    /// Notes that a flush of all lazy commits has begun, or that they are durable.
    pub(super) fn forget_lazy(&mut self) {
        (self.lazy_bytes, self.lazy_since) = (0, None);
    }

    /// Whether lazy commits have reached the limits.
    pub(super) fn is_due(&self, limits: FlushLimits) -> bool {
        let is_due =
            |since: Instant| self.lazy_bytes >= limits.bytes || since.elapsed() >= limits.age;
        self.lazy_since.is_some_and(is_due)
    }

    /// Whether an immediate flush of a commit was requested that is not durable yet.
    pub(super) fn wants_flush(&self, durable: TransactionId) -> bool {
        self.wanted > durable
    }

    /// Whether commits should be flushed now.
    pub(super) fn needs_flush(&self, durable: TransactionId, limits: FlushLimits) -> bool {
        self.wants_flush(durable) || self.is_due(limits)
    }

    /// When the background thread should flush.
    pub(super) fn due(&self, durable: TransactionId, limits: FlushLimits) -> FlushDue {
        if self.needs_flush(durable, limits) {
            return FlushDue::Now;
        }
        let since = self.lazy_since;
        let due_at = since.and_then(|since| since.checked_add(limits.age));
        due_at.map_or(FlushDue::Never, FlushDue::At)
    }

    pub(super) fn assert_invariants(&self) {
        assert!(
            self.lazy_bytes == 0 || self.lazy_since.is_some(),
            "lazy commits that wait have an age"
        );
    }
}
