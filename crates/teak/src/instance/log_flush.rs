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
//! Threads that commit share flushes: one flushes what is in the log, and the others wait. Then one
//! of those whose commits came later flushes again, for all of them.
//!
//! [`Wal::follows`]: super::wal::Wal::follows

use crate::{Error, Result, TransactionId, instance::engine::Engine, planted::planted, sync::lock};
use std::{
    io,
    sync::{Arc, Mutex},
    thread::{self, Thread},
};

const FLUSHING: &str = "flushing the write-ahead log";

/// What is known of the log on the disk.
#[derive(Default, Debug)]
pub(crate) struct LogFlush {
    state: Mutex<LogFlushState>,
}

#[derive(Default, Debug)]
struct LogFlushState {
    /// The last commit that is on the disk in the log.
    flushed: TransactionId,
    is_flushing: bool,
    /// Threads that wait for these commits.
    waiting: Vec<(TransactionId, Thread)>,
    /// The error of a flush. No later one is trusted.
    failure: Option<io::Error>,
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

impl LogFlush {
    /// The last commit that is on the disk in the log.
    pub(super) fn flushed(&self) -> TransactionId {
        lock(&self.state).flushed
    }
}

impl Engine {
    /// Returns when a durable commit that was added to the log is on the disk. The caller holds no
    /// lock.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if a flush fails. The database takes no writes any more then.
    pub(crate) fn flush_log(self: &Arc<Self>, commit: TransactionId) -> Result<()> {
        let flush = &self.memtable.log_flush;
        let mut state = lock(&flush.state);
        while state.flushed < commit {
            if let Some(failure) = &state.failure {
                // A merge may have been flushed.
                return match self.durable_in_trees() >= commit {
                    true => Ok(()),
                    false => Err(Error::io(FLUSHING)(again(failure))),
                };
            }
            if state.is_flushing {
                let own = thread::current();
                state.waiting.push((commit, own.clone()));
                drop(state);
                thread::park();
                state = lock(&flush.state);
                state.waiting.retain(|(_, thread)| thread.id() != own.id());
                continue;
            }
            state.is_flushing = true;
            drop(state);
            let flushed = self.flush_log_now();
            state = lock(&flush.state);
            state.is_flushing = false;
            match flushed {
                Ok(last) => state.flushed = last,
                Err(failure) => state.failure = Some(failure),
            }
            state.wake();
        }
        Ok(())
    }

    /// Flushes the log, and returns the last commit that is on the disk then.
    fn flush_log_now(&self) -> io::Result<TransactionId> {
        let memtable = self.memtable.lock();
        let target = memtable.flush_target();
        let file = memtable.log_file();
        drop(memtable);
        let began = self.committer.events.clock();
        let flushed = match file {
            Some(_) if planted!(LogUnflushed) => Ok(()),
            Some(file) => file.flush(),
            // The database was closed, which makes every commit durable.
            None if self.durable_in_trees() >= target.last => Ok(()),
            None => Err(io::Error::other("the log was removed")),
        };
        let mut memtable = self.memtable.lock();
        match flushed {
            Ok(()) => {
                memtable.note_flushed(target);
                drop(memtable);
                self.committer.note_flush(0, began);
                Ok(target.last)
            }
            Err(failure) => {
                memtable.fail_flush();
                drop(memtable);
                self.committer.fail_log(FLUSHING, &failure);
                Err(failure)
            }
        }
    }
}

/// The same error, for another thread that waited.
fn again(failure: &io::Error) -> io::Error {
    match failure.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(failure.kind(), failure.to_string()),
    }
}
