//! The thread that merges the memtable when its commits are old enough.

use crate::{io::Worker, sync::lock};
use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

/// The thread, which begins when it is first needed.
#[derive(Default, Debug)]
pub(crate) struct Merger {
    thread: Mutex<Option<MergerThread>>,
}

/// A thread, and what it waits for. Another thread has a signal of its own.
#[derive(Debug)]
struct MergerThread {
    worker: Worker,
    signal: Arc<MergeSignal>,
}

#[derive(Default, Debug)]
struct MergeSignal {
    state: Mutex<MergeSignalState>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct MergeSignalState {
    is_asked: bool,
    /// Whether it should not wait first.
    is_urgent: bool,
    is_stopping: bool,
}

impl Merger {
    /// Has the thread call `merge` after `delay`, and again after the time that this returns. It
    /// does not keep `owner`.
    ///
    /// # Errors
    ///
    /// The system's error if the thread cannot be started.
    pub(crate) fn ask<T: Send + Sync + 'static>(
        &self,
        owner: &Arc<T>,
        delay: Duration,
        merge: fn(&Arc<T>) -> Option<Duration>,
    ) -> io::Result<()> {
        let mut thread = lock(&self.thread);
        if let Some(thread) = &*thread {
            thread.signal.set(|state| state.is_asked = true);
            return Ok(());
        }
        let signal = Arc::<MergeSignal>::default();
        signal.set(|state| state.is_asked = true);
        let (owner, waiting) = (Arc::downgrade(owner), Arc::clone(&signal));
        let worker = Worker::start("teak-merger", move || {
            let mut next = None;
            while waiting.wait(next.unwrap_or(delay))
                && let Some(owner) = owner.upgrade()
            {
                next = merge(&owner);
                waiting.set(|state| state.is_asked |= next.is_some());
            }
        })?;
        *thread = Some(MergerThread { worker, signal });
        Ok(())
    }

    /// Has the thread, if there is one, merge at once.
    pub(crate) fn hurry(&self) {
        if let Some(thread) = &*lock(&self.thread) {
            (thread.signal).set(|state| (state.is_asked, state.is_urgent) = (true, true));
        }
    }

    /// Ends the thread; another one may begin. The caller may be the thread itself.
    pub(crate) fn stop(&self) {
        let Some(thread) = lock(&self.thread).take() else {
            return;
        };
        thread.signal.set(|state| state.is_stopping = true);
        if !thread.worker.is_current() {
            thread.worker.wait();
        }
    }
}

impl MergeSignal {
    /// Changes the state, and wakes the thread unless it is the same as before.
    fn set(&self, change: impl FnOnce(&mut MergeSignalState)) {
        let mut state = lock(&self.state);
        let before = *state;
        change(&mut state);
        if *state != before {
            self.changed.notify_one();
        }
    }

    /// Waits until the thread is asked, and then for `delay`. Returns `false` if it has to end.
    fn wait(&self, delay: Duration) -> bool {
        let mut state = lock(&self.state);
        while !state.is_asked && !state.is_stopping {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let is_early = |state: &mut MergeSignalState| !state.is_stopping && !state.is_urgent;
        let waited = (self.changed).wait_timeout_while(state, delay, is_early);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (state.is_asked, state.is_urgent) = (false, false);
        !state.is_stopping
    }
}
