//! Flushing the log of the memtable, for durable commits that are entries in it.
//!
//! A durable commit whose changes are in the log is on the disk when the log is, as far as recovery
//! finds a commit in the trees that the log follows. So
//!
//! - it goes to the log only if the commit that the log [follows](Wal::follows) is on the disk;
//! - a half of the log is written over only if no durable commit needs it: its commits, or all
//!   durable ones, are on the disk in the trees;
//! - the name of the log is on the disk before the first durable commit goes there.
//!
//! Threads that commit share flushes: one flushes the log so far, and the others wait. Then one of
//! those whose commits came later flushes again, for all of them.
//!
//! [`Wal::follows`]: super::wal::Wal::follows

use crate::{Result, TransactionId, commit::state::failure::CommitFailure, sync::lock};
use std::{
    collections::VecDeque,
    io, mem,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Release},
    },
    thread::{self, Thread},
};

pub(crate) const FLUSHING: &str = "flushing the write-ahead log";

/// How much of the log is on the disk, and the threads that wait for more.
#[derive(Default, Debug)]
pub(crate) struct LogFlush {
    /// The last durable commit in the log that is on the disk.
    flushed: AtomicU64,
    state: Mutex<LogFlushState>,
}

#[derive(Default, Debug)]
struct LogFlushState {
    is_flushing: bool,
    /// Those that wait for a flush, in the order in which they came.
    waiting: VecDeque<Arc<LogWaiter>>,
    /// The error of a flush. No later one is trusted.
    failure: Option<CommitFailure>,
}

/// A thread that waits for a commit.
#[derive(Debug)]
struct LogWaiter {
    commit: TransactionId,
    thread: Thread,
    is_called: AtomicBool,
    /// Others that it has to call.
    calls: OnceLock<Arc<CallTree>>,
}

impl LogWaiter {
    fn call(&self) {
        self.is_called.store(true, Release);
        self.thread.unpark();
    }
}

/// Threads to call. To wake one can take as long as to append several commits, so those that were
/// called call others, two each, and the next flush begins sooner.
#[derive(Debug)]
struct CallTree(Mutex<VecDeque<Arc<LogWaiter>>>);

impl CallTree {
    /// Calls two threads.
    fn go_on(self: Arc<Self>) {
        for _ in 0..2 {
            let Some(waiting) = lock(&self.0).pop_front() else {
                return;
            };
            let _ = waiting.calls.set(Arc::clone(&self));
            waiting.call();
        }
    }
}

impl LogFlush {
    /// The last durable commit in the log that is on the disk.
    pub(crate) fn flushed(&self) -> TransactionId {
        TransactionId(self.flushed.load(Acquire))
    }

    /// Returns when `commit` is on the disk. `flush` flushes the log, and returns the last commit
    /// that is there then. One thread calls it at a time, with no lock held here.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) of a flush, for all threads that wait.
    pub(crate) fn wait(
        &self,
        commit: TransactionId,
        flush: impl Fn() -> io::Result<TransactionId>,
    ) -> Result<()> {
        while self.flushed() < commit {
            let mut state = lock(&self.state);
            if let Some(failure) = &state.failure {
                return Err(failure.to_error());
            }
            if state.is_flushing {
                let waiting = Arc::new(LogWaiter {
                    commit,
                    thread: thread::current(),
                    is_called: AtomicBool::new(false),
                    calls: OnceLock::new(),
                });
                state.waiting.push_back(Arc::clone(&waiting));
                drop(state);
                while !waiting.is_called.load(Acquire) {
                    thread::park();
                }
                if let Some(calls) = waiting.calls.get() {
                    Arc::clone(calls).go_on();
                }
            } else if self.flushed() < commit {
                state.is_flushing = true;
                drop(state);
                let unfinished = UnfinishedFlush(self);
                let flushed = flush();
                mem::forget(unfinished);
                self.end_flush(flushed);
            }
        }
        Ok(())
    }

    /// Notes the outcome of a flush. Calls the threads whose commits are decided, and one of the
    /// others, which flushes next.
    fn end_flush(&self, outcome: io::Result<TransactionId>) {
        let mut state = lock(&self.state);
        state.is_flushing = false;
        match outcome {
            Ok(last) => self.flushed.store(last.0, Release),
            Err(failure) => state.failure = Some(CommitFailure::new(FLUSHING, &failure)),
        }
        let (flushed, has_failed) = (self.flushed(), state.failure.is_some());
        let is_decided = |waiting: &Arc<LogWaiter>| has_failed || waiting.commit <= flushed;
        let waiting = mem::take(&mut state.waiting).into_iter();
        let (decided, mut undecided) = waiting.partition::<VecDeque<_>, _>(is_decided);
        let next = undecided.pop_front();
        state.waiting = undecided;
        drop(state);
        next.iter().for_each(|next| next.call());
        Arc::new(CallTree(Mutex::new(decided))).go_on();
    }
}

/// Ends a flush that panics.
struct UnfinishedFlush<'f>(&'f LogFlush);

impl Drop for UnfinishedFlush<'_> {
    fn drop(&mut self) {
        let failure = io::Error::other("the thread that flushed panicked");
        self.0.end_flush(Err(failure));
    }
}
