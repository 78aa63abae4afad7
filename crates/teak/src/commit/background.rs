//! The background thread. It flushes commits that no thread waits for: asynchronous commits at
//! once, lazy commits when their bytes or their age reach the limits. The first commit that needs
//! the thread starts it.

use crate::{
    Error, Result, TransactionId,
    commit::{
        committer::Committer,
        group::FlushGoal,
        state::{ending::closed, requests::FlushDue},
    },
    record::durability::Durability,
    sync::lock,
};
use std::sync::Arc;

impl Committer {
    /// Starts the background thread if commits of this durability need it.
    ///
    /// # Errors
    ///
    /// The system's error if no thread can be started.
    pub(crate) fn start_for(self: &Arc<Self>, durability: Durability) -> Result<()> {
        match durability {
            Durability::Durable => Ok(()),
            Durability::Lazy if self.background.limits().is_never() => Ok(()),
            Durability::Lazy | Durability::Async => self.start(),
        }
    }

    fn start(self: &Arc<Self>) -> Result<()> {
        let started = self.background.start(self, Self::run);
        started.map_err(Error::io("starting the thread that flushes"))
    }

    /// The loop of the background thread: flushes when that is due, until it is stopped.
    fn run(&self) {
        let limits = self.background.limits();
        let mut state = self.commit_state.lock();
        while !state.is_stopping() {
            if state.is_to_give_up() {
                self.pass_on(state);
                self.wake_all();
                state = self.commit_state.lock();
                continue;
            }
            let wakers = state.take_due_wakers();
            if !wakers.is_empty() || self.has_wakers() {
                drop(state);
                self.wakers.add(wakers);
                self.wake_all();
                state = self.commit_state.lock();
                continue;
            }
            state = match state.due(limits) {
                FlushDue::Now => {
                    self.flush(state, FlushGoal::Requests(limits));
                    self.wake_all();
                    self.commit_state.lock()
                }
                FlushDue::At(due_at) => self.commit_state.wait_work(state, Some(due_at)),
                FlushDue::Never => self.commit_state.wait_work(state, None),
            };
        }
    }

    /// Whether the limits for lazy commits are reached.
    pub(crate) fn is_due(&self) -> bool {
        self.commit_state.lock().is_due(self.background.limits())
    }

    /// Requests a flush of the newest commit, and returns that commit.
    pub(crate) fn request_flush_of_newest(self: &Arc<Self>) -> Result<TransactionId> {
        self.start()?;
        let mut state = self.commit_state.lock();
        let last = state.last();
        state.want(last);
        self.commit_state.notify_flusher(&state);
        Ok(last)
    }

    /// Has the background thread run the wakers, for a caller that keeps holding a lock.
    pub(crate) fn wake_all_in_background(self: &Arc<Self>) {
        // Without a thread they run at the next commit, or when the database is closed.
        if self.has_wakers() && self.start().is_ok() {
            self.commit_state.notify_flusher(&self.commit_state.lock());
        }
    }

    /// Ends the background thread without a final flush. This database does not make durable what
    /// is not durable yet.
    pub(crate) fn stop(&self) {
        let mut state = self.commit_state.lock();
        state.stop();
        if state.durable().transaction < state.last() && !state.has_failed() {
            self.give_up(&mut state, &closed());
        }
        self.commit_state.notify_flusher(&state);
        drop(state);
        self.wake_all();
        self.background.join();
        lock(&self.journal).end_write_back();
    }
}
