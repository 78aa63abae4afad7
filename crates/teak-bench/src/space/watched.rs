//! Threads that repeatedly read whole states and compare them with the committed ones, while
//! another thread commits.
//!
//! Invariant: the committing thread announces each state before its commit, and the next one after
//! the commit has returned. A transaction therefore sees one of the states announced before it had
//! begun, and none older than the one before the last at its begin.

use crate::{data::Fingerprint, engines::Reader};
use anyhow::{Result, anyhow, ensure};
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// The states of a database.
pub(super) struct WatchedStates {
    states: Mutex<Vec<Fingerprint>>,
    has_ended: AtomicBool,
}

impl WatchedStates {
    /// States of a database that has `state`.
    pub(super) fn new(state: Fingerprint) -> Self {
        Self {
            states: Mutex::new(vec![state]),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Announces that the next commit will make `change` to the state.
    pub(super) fn will_commit(&self, change: impl FnOnce(&mut Fingerprint)) {
        let mut state = self.states().last().copied().unwrap_or_default();
        change(&mut state);
        self.states().push(state);
    }

    fn states(&self) -> MutexGuard<'_, Vec<Fingerprint>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` while `threads` threads compare the states of `reader`. Returns the number of
    /// states compared; each thread compares at least one.
    pub(super) fn verify_during<R>(
        &self,
        reader: &dyn Reader,
        threads: u32,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<(R, u64)> {
        thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| self.verify(reader)))
                .collect();
            let done = work();
            self.has_ended.store(true, Ordering::Relaxed);
            let mut verified = 0;
            for thread in running {
                let ended = thread.join();
                verified += ended.map_err(|_| anyhow!("a thread that reads panicked"))??;
            }
            Ok((done?, verified))
        })
    }

    fn verify(&self, reader: &dyn Reader) -> Result<u64> {
        let mut verified = 0;
        loop {
            let oldest = self.states().len().saturating_sub(2);
            let mut announced = 0;
            let found = reader.fingerprint(&mut || announced = self.states().len())?;
            ensure!(
                self.states()[oldest..announced].contains(&found),
                "a read transaction saw {found:?}, which is not what was committed"
            );
            verified += 1;
            if self.has_ended.load(Ordering::Relaxed) {
                return Ok(verified);
            }
        }
    }
}

#[cfg(test)]
#[path = "watched_tests.rs"]
mod tests;
