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
    io, mem,
    sync::Mutex,
    thread::{self, Thread},
};

pub(crate) const FLUSHING: &str = "flushing the write-ahead log";

/// How much of the log is on the disk, and the threads that wait for more.
#[derive(Default, Debug)]
pub(crate) struct LogFlush {
    state: Mutex<LogFlushState>,
}

#[derive(Default, Debug)]
struct LogFlushState {
    /// The last durable commit in the log that is on the disk.
    flushed: TransactionId,
    is_flushing: bool,
    /// Threads that wait for these commits.
    waiting: Vec<(TransactionId, Thread)>,
    /// The error of a flush. No later one is trusted.
    failure: Option<CommitFailure>,
}

impl LogFlush {
    /// The last durable commit in the log that is on the disk.
    pub(crate) fn flushed(&self) -> TransactionId {
        lock(&self.state).flushed
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
        let mut state = lock(&self.state);
        while state.flushed < commit {
            if let Some(failure) = &state.failure {
                return Err(failure.to_error());
            }
            if state.is_flushing {
                let own = thread::current();
                state.waiting.push((commit, own.clone()));
                drop(state);
                thread::park();
                state = lock(&self.state);
                state.waiting.retain(|(_, thread)| thread.id() != own.id());
                continue;
            }
            state.is_flushing = true;
            drop(state);
            let unfinished = UnfinishedFlush(self);
            let flushed = flush();
            mem::forget(unfinished);
            state = lock(&self.state);
            state.is_flushing = false;
            match flushed {
                Ok(last) => state.flushed = last,
                Err(failure) => state.failure = Some(CommitFailure::new(FLUSHING, &failure)),
            }
            state.wake();
        }
        Ok(())
    }
}

/// Ends a flush that panics.
struct UnfinishedFlush<'f>(&'f LogFlush);

impl Drop for UnfinishedFlush<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.is_flushing = false;
        let failure = io::Error::other("the thread that flushed panicked");
        state.failure = Some(CommitFailure::new(FLUSHING, &failure));
        state.wake();
    }
}

impl LogFlushState {
    /// Wakes the threads whose commits are decided, and one of the others, which flushes next.
    fn wake(&mut self) {
        let is_decided = |commit| commit <= self.flushed || self.failure.is_some();
        let mut next = None;
        self.waiting.retain(|(commit, thread)| {
            if is_decided(*commit) {
                thread.unpark();
            } else if next.is_none() {
                next = Some(thread.clone());
            }
            !is_decided(*commit)
        });
        next.iter().for_each(Thread::unpark);
    }
}
