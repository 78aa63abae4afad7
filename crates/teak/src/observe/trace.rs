//! Spans for the crate `tracing`, with the feature of that name. Without it everything here is
//! empty, and nothing of it is in the program.
//!
//! The span of a write transaction is opened when it has the writer lock, and closed when it has
//! released it. [`events/traced.rs`](super::events) emits the events.
#![cfg_attr(not(feature = "tracing"), allow(unused_mut, unused_variables))]

use crate::{TransactionId, record::durability::Durability};
use std::path::Path;
#[cfg(feature = "tracing")]
use {
    std::{
        panic::{AssertUnwindSafe, catch_unwind},
        time::{Duration, Instant},
    },
    tracing::{
        Dispatch, Level, Span, dispatcher, field::Empty, level_filters::LevelFilter,
        span::EnteredSpan,
    },
};

#[cfg(feature = "tracing")]
macro_rules! span {
    ($($arguments:tt)*) => { TraceSpan(Some(tracing::span!(target: "teak", $($arguments)*))) };
}
#[cfg(not(feature = "tracing"))]
macro_rules! span {
    ($($arguments:tt)*) => {
        TraceSpan::default()
    };
}

/// Calls a subscriber. Its panics must not end a transaction halfway.
#[cfg(feature = "tracing")]
fn caught<T: Default>(call: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_default()
}

/// Whether a subscriber may want events of this importance.
#[inline]
pub(crate) fn is_wanted(importance: Importance) -> bool {
    #[cfg(feature = "tracing")]
    let is_wanted = match importance {
        Importance::Any => LevelFilter::current() != LevelFilter::OFF,
        Importance::Routine => Level::DEBUG <= LevelFilter::current(),
    };
    #[cfg(not(feature = "tracing"))]
    let is_wanted = false;
    is_wanted
}

/// How important events are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Importance {
    /// Any event.
    Any,
    /// One that occurs with each transaction.
    Routine,
}

/// A span, which is open until this and the guards of it are dropped.
#[derive(Debug, Default)]
pub(crate) struct TraceSpan(#[cfg(feature = "tracing")] Option<Span>);

/// Makes a span the current one of this thread until it is dropped.
#[derive(Debug)]
pub(crate) struct TraceGuard {
    #[cfg(feature = "tracing")]
    _entered: Option<EnteredSpan>,
}

impl TraceSpan {
    /// The span of opening a database.
    pub(crate) fn open(path: &Path) -> Self {
        span!(Level::INFO, "open", database = %path.display())
    }

    /// The span of a compaction.
    pub(crate) fn compact(path: &Path) -> Self {
        let database = path.display();
        span!(Level::INFO, "compact", %database, moved_pages = Empty, file_bytes = Empty)
    }

    /// Notes the result of a compaction.
    pub(crate) fn note_compacted(&self, moved_pages: u64, file_bytes: u64) {
        #[cfg(feature = "tracing")]
        if let Some(span) = &self.0 {
            span.record("moved_pages", moved_pages);
            span.record("file_bytes", file_bytes);
        }
    }

    /// Notes how a write transaction ended.
    #[inline]
    fn note_outcome(&self, outcome: &'static str) {
        #[cfg(feature = "tracing")]
        if let Some(span) = &self.0 {
            caught(|| {
                span.record("outcome", outcome);
            });
        }
    }

    #[inline]
    pub(crate) fn enter(&self) -> TraceGuard {
        TraceGuard {
            #[cfg(feature = "tracing")]
            _entered: caught(|| self.0.clone().map(Span::entered)),
        }
    }
}

/// When, and in which span of which subscriber, a write transaction was asked for. Another thread,
/// with another subscriber, may begin it.
#[derive(Clone, Debug)]
pub(crate) struct TraceOrigin(#[cfg(feature = "tracing")] Option<(Instant, Dispatch, Span)>);

impl TraceOrigin {
    #[inline]
    pub(crate) fn now() -> Self {
        #[cfg(feature = "tracing")]
        let origin = Self(is_wanted(Importance::Routine).then(|| {
            let subscriber = dispatcher::get_default(Dispatch::clone);
            (Instant::now(), subscriber, Span::current())
        }));
        #[cfg(not(feature = "tracing"))]
        let origin = Self();
        origin
    }
}

/// The spans of a write transaction.
#[derive(Debug, Default)]
pub(crate) struct WriteSpans {
    /// The subscriber that has these spans.
    #[cfg(feature = "tracing")]
    subscriber: Dispatch,
    transaction: TraceSpan,
    /// The span of its commit.
    commit: TraceSpan,
}

impl WriteSpans {
    /// The transaction has the writer lock.
    #[inline]
    pub(crate) fn begun(path: &Path, origin: TraceOrigin) -> Self {
        let mut spans = Self::default();
        #[cfg(feature = "tracing")]
        if let TraceOrigin(Some((asked, subscriber, parent))) = origin {
            let waited_us = microseconds(asked.elapsed());
            let open = || {
                span!(
                    parent: &parent, Level::DEBUG, "write",
                    database = %path.display(), waited_us, outcome = Empty
                )
            };
            spans.transaction = caught(|| dispatcher::with_default(&subscriber, open));
            spans.subscriber = subscriber;
        }
        spans
    }

    /// Opens the span of the commit with which the transaction ends.
    #[inline]
    pub(crate) fn enter_last_commit(&mut self, durability: Durability) -> LastCommitSpan {
        LastCommitSpan {
            _entered: self.enter_commit(durability),
            transaction: std::mem::take(&mut self.transaction),
        }
    }

    /// Opens the span of a commit.
    #[inline]
    pub(crate) fn enter_commit(&mut self, durability: Durability) -> TraceGuard {
        #[cfg(feature = "tracing")]
        if let TraceSpan(Some(parent)) = &self.transaction {
            let durability = name_of(durability);
            let open = || {
                span!(
                    parent: parent, Level::DEBUG, "commit",
                    durability, transaction = Empty, pages = Empty, bytes = Empty
                )
            };
            self.commit = caught(|| dispatcher::with_default(&self.subscriber, open));
        }
        self.commit.enter()
    }

    /// Closes the span of a commit after which the transaction continues.
    #[inline]
    pub(crate) fn end_commit(&mut self) {
        self.commit = TraceSpan::default();
    }

    /// Notes what a commit has written.
    #[inline]
    pub(crate) fn note_commit(&self, transaction: TransactionId, pages: u64, bytes: u64) {
        #[cfg(feature = "tracing")]
        if let TraceSpan(Some(commit)) = &self.commit {
            caught(|| {
                commit.record("transaction", transaction.0);
                commit.record("pages", pages);
                commit.record("bytes", bytes);
            });
        }
    }

    /// Notes that the transaction ends without a commit, unless it ends with one.
    #[inline]
    pub(crate) fn note_aborted(&self) {
        self.transaction.note_outcome("aborted");
    }
}

/// The spans of a transaction that ends with a commit.
#[derive(Debug)]
pub(crate) struct LastCommitSpan {
    _entered: TraceGuard,
    transaction: TraceSpan,
}

impl LastCommitSpan {
    /// Notes that the transaction was committed. Without this call it has failed.
    #[inline]
    pub(crate) fn end(mut self, is_changed: bool) {
        let outcome = if is_changed { "committed" } else { "unchanged" };
        std::mem::take(&mut self.transaction).note_outcome(outcome);
    }
}

impl Drop for LastCommitSpan {
    #[inline]
    fn drop(&mut self) {
        self.transaction.note_outcome("failed");
    }
}

/// The name of a durability in events.
pub(super) fn name_of(durability: Durability) -> &'static str {
    match durability {
        Durability::Durable => "durable",
        Durability::Async => "asynchronous",
        Durability::Lazy => "lazy",
    }
}

/// A duration as a field.
#[cfg(feature = "tracing")]
pub(super) fn microseconds(duration: Duration) -> u64 {
    duration.as_micros().try_into().unwrap_or(u64::MAX)
}
