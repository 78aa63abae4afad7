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
    signal: Arc<MergeSignal>,
    thread: Mutex<Option<Worker>>,
}

#[derive(Default, Debug)]
struct MergeSignal {
    state: Mutex<MergeSignalState>,
    changed: Condvar,
}

#[derive(Default, Debug)]
struct MergeSignalState {
    is_asked: bool,
    is_stopping: bool,
}

impl Merger {
    /// Has the thread merge after `delay`. It does not keep `owner`.
    ///
    /// # Errors
    ///
    /// The system's error if the thread cannot be started.
    pub(crate) fn ask<T: Send + Sync + 'static>(
        &self,
        owner: &Arc<T>,
        delay: Duration,
        merge: fn(&Arc<T>),
    ) -> io::Result<()> {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let (owner, signal) = (Arc::downgrade(owner), Arc::clone(&self.signal));
            *thread = Some(Worker::start("teak-merger", move || {
                while signal.wait(delay)
                    && let Some(owner) = owner.upgrade()
                {
                    merge(&owner);
                }
            })?);
        }
        drop(thread);
        lock(&self.signal.state).is_asked = true;
        self.signal.changed.notify_one();
        Ok(())
    }

    /// Ends the thread, which may begin again. The caller may be the thread itself.
    pub(crate) fn stop(&self) {
        let Some(thread) = lock(&self.thread).take() else {
            return;
        };
        lock(&self.signal.state).is_stopping = true;
        self.signal.changed.notify_one();
        if !thread.is_current() {
            thread.wait();
            lock(&self.signal.state).is_stopping = false;
        }
    }
}

impl MergeSignal {
    /// Waits until the thread is asked, and then for `delay`. Returns `false` if it has to end.
    fn wait(&self, delay: Duration) -> bool {
        let mut state = lock(&self.state);
        while !state.is_asked && !state.is_stopping {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let waited = (self.changed).wait_timeout_while(state, delay, |state| !state.is_stopping);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_asked = false;
        !state.is_stopping
    }
}
