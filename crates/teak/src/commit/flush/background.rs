//! The background thread that flushes asynchronous and lazy commits.

use super::{FLUSHING, Flusher};
use crate::{
    Error, Result,
    commit::state::{FlushDue, LockedCommitState},
    record::durability::Durability,
    sync::lock,
};
use std::{
    io,
    sync::{Arc, atomic::Ordering},
    thread,
};

impl Flusher {
    /// Starts the background thread if commits of this durability need it.
    ///
    /// # Errors
    ///
    /// The system's error if no thread can be started.
    pub(crate) fn start_for(self: &Arc<Self>, durability: Durability) -> Result<()> {
        match durability {
            Durability::Durable => Ok(()),
            Durability::Lazy if self.limits.is_never() => Ok(()),
            Durability::Lazy | Durability::Async => self.start(),
        }
    }

    pub(super) fn start(self: &Arc<Self>) -> Result<()> {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let flusher = Arc::clone(self);
            let named = thread::Builder::new().name("teak-flusher".to_owned());
            let started = named.spawn(move || flusher.run());
            *thread = Some(started.map_err(Error::io("starting the thread that flushes"))?);
        }
        Ok(())
    }

    /// The loop of the background thread: flushes when that is due, until it is stopped.
    fn run(&self) {
        let mut state = self.commit_state.lock();
        while !state.is_stopping {
            if state.is_to_give_up() {
                self.pass_on(state);
                self.wake_all();
                state = self.commit_state.lock();
                continue;
            }
            let wakers = state.take_due_wakers();
            if !wakers.is_empty() || self.has_wakers() {
                drop(state);
                self.wakers().extend(wakers);
                self.wake_all();
                state = self.commit_state.lock();
                continue;
            }
            state = match state.due(self.limits) {
                FlushDue::Now => {
                    drop(state);
                    self.flush(|state| state.needs_flush(self.limits));
                    self.wake_all();
                    self.commit_state.lock()
                }
                FlushDue::At(due_at) => self.commit_state.wait_work(state, Some(due_at)),
                FlushDue::Never => self.commit_state.wait_work(state, None),
            };
        }
    }

    /// Gives up commits that are not durable. If other processes have the database open, the
    /// commits may still become durable.
    fn give_up(&self, state: &mut LockedCommitState, error: &io::Error) {
        if self.shared.is_none() {
            return self.fail(state, FLUSHING, error);
        }
        self.is_poisoned.store(true, Ordering::Release);
        state.fail(FLUSHING, error);
        let wakers = state.give_up();
        self.wakers().extend(wakers);
    }

    /// Ends the background thread without a final flush. This database does not make durable what
    /// is not durable yet.
    pub(crate) fn stop(&self) {
        let mut state = self.commit_state.lock();
        state.is_stopping = true;
        if state.durable.transaction < state.last() && !state.has_failed() {
            let error = io::Error::other("the database was closed before it was on the disk");
            self.give_up(&mut state, &error);
        }
        self.commit_state.notify_flusher(&state);
        drop(state);
        self.wake_all();
        let thread = lock(&self.thread).take();
        // A waker may close the database on the background thread itself.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id())
        {
            // The thread does not panic. If it did, there would be no one to report it to.
            let _ = thread.join();
        }
        lock(&self.journal).end_write_back();
    }
}
