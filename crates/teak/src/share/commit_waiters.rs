//! Futures that wait for a commit to become visible. One thread waits for all of them, as a thread
//! that calls `wait_for_commit` does. It starts when a future first waits, and ends when none has
//! waited for a while.
//!
//! A future checks the visible state, registers, and checks again; the thread checks all registered
//! futures before it sleeps. So one of the two sees a commit.

use super::{CommitNotifier, ReaderTable, lock};
use std::{
    io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    task::Waker,
    thread,
    time::Duration,
};

/// How long the thread sleeps before it checks without a notification: a process may die between
/// making a state visible and notifying. If no future waits then, the thread ends.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The futures of one database that wait for commits.
#[derive(Debug)]
pub(crate) struct CommitWaiters {
    table: ReaderTable,
    notifier: CommitNotifier,
    state: Mutex<WaiterList>,
}

#[derive(Default, Debug)]
struct WaiterList {
    waiting: Vec<CommitWaiter>,
    has_thread: bool,
}

/// A future that waits for a state after `seen`.
#[derive(Debug)]
struct CommitWaiter {
    id: u64,
    seen: u64,
    waker: Waker,
}

impl CommitWaiters {
    pub(crate) fn new(table: ReaderTable, notifier: CommitNotifier) -> Arc<Self> {
        Arc::new(Self {
            table,
            notifier,
            state: Mutex::default(),
        })
    }

    /// Wakes `waker` once a state after `seen` is visible, or earlier. The future must check that
    /// after this call. Replaces what was registered with this id.
    ///
    /// # Errors
    ///
    /// The system's error if no thread can be started.
    pub(crate) fn register(self: &Arc<Self>, id: u64, seen: u64, waker: Waker) -> io::Result<()> {
        let mut state = lock(&self.state);
        if !state.has_thread {
            let waiters = Arc::clone(self);
            let named = thread::Builder::new().name("teak-commits".to_owned());
            named.spawn(move || waiters.run())?;
            state.has_thread = true;
        }
        state.waiting.retain(|waiter| waiter.id != id);
        state.waiting.push(CommitWaiter { id, seen, waker });
        debug_assert!(
            state.has_thread,
            "a future that is registered will be woken"
        );
        debug_assert_eq!(
            state
                .waiting
                .iter()
                .filter(|waiter| waiter.id == id)
                .count(),
            1,
            "a future is registered once"
        );
        Ok(())
    }

    /// Forgets a future that was dropped.
    pub(crate) fn forget(&self, id: u64) {
        lock(&self.state).waiting.retain(|waiter| waiter.id != id);
    }

    fn run(&self) {
        loop {
            self.notifier.wait(RECHECK_INTERVAL, || self.is_due());
            let mut state = lock(&self.state);
            debug_assert!(state.has_thread, "one thread waits for all futures");
            let due = mem::take(&mut state.waiting);
            if due.is_empty() {
                state.has_thread = false;
                return;
            }
            drop(state);
            for waiter in due {
                // A panic in a waker must not stop this thread: others wait for it.
                let _ = catch_unwind(AssertUnwindSafe(|| waiter.waker.wake()));
            }
        }
    }

    fn is_due(&self) -> bool {
        let visible = self.table.visible();
        let waiting = &lock(&self.state).waiting;
        waiting.iter().any(|waiter| waiter.seen < visible)
    }
}
