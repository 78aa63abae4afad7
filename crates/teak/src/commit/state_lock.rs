//! The lock of the commit state, and its conditions. A thread is woken only if it has something to
//! do.
//!
//! Locking takes the mutex of this process, and then the lock in shared memory if other processes
//! may have the database open. Threads never hold either over a flush. They hold them while they
//! write a commit record, so that no other thread takes back a failed commit meanwhile.

use crate::{
    Result, TransactionId, commit::state::CommitState, share::attachment::Shared, sync::lock,
};
use std::{
    mem,
    ops::{Deref, DerefMut},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    task::Waker,
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// How often a thread that waits for a ticket checks whether another process has flushed.
const FOREIGN_FLUSH_CHECK: Duration = Duration::from_millis(10);

/// The commit state with its lock and conditions.
#[derive(Debug)]
pub(crate) struct CommitStateLock {
    state: Mutex<CommitState>,
    /// The last durable commit, for threads that were woken because of it.
    durable: AtomicU64,
    /// Threads that wait for tickets sleep here.
    durable_changed: Condvar,
    /// The background thread sleeps here while it has nothing to do.
    work: Condvar,
}

/// The locked commit state, for one thread of one process.
#[derive(Debug)]
pub(crate) struct CommitStateGuard<'p> {
    /// `None` only while the guard is dropped.
    state: Option<MutexGuard<'p, CommitState>>,
    is_shared: bool,
}

const HELD: &str = "the guard holds the state until it is dropped";

impl<'p> CommitStateGuard<'p> {
    /// Loads the copy in shared memory.
    fn new(mut state: MutexGuard<'p, CommitState>) -> Self {
        Self {
            is_shared: state.lock_shared(),
            state: Some(state),
        }
    }

    /// Stores the copy in shared memory, and keeps this process's own state locked.
    fn into_local(mut self) -> MutexGuard<'p, CommitState> {
        self.give_back();
        self.state.take().expect(HELD)
    }

    fn give_back(&mut self) {
        if mem::take(&mut self.is_shared)
            && let Some(state) = &mut self.state
        {
            state.unlock_shared();
        }
    }
}

impl Deref for CommitStateGuard<'_> {
    type Target = CommitState;

    fn deref(&self) -> &CommitState {
        self.state.as_ref().expect(HELD)
    }
}

impl DerefMut for CommitStateGuard<'_> {
    fn deref_mut(&mut self) -> &mut CommitState {
        let state = self.state.as_mut().expect(HELD);
        state.note_changed();
        state
    }
}

impl Drop for CommitStateGuard<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl CommitStateLock {
    pub(crate) fn new(mut state: CommitState, shared: Option<Arc<Shared>>) -> Self {
        state.set_shared(shared);
        Self {
            durable: AtomicU64::new(state.durable().transaction.0),
            state: Mutex::new(state),
            durable_changed: Condvar::new(),
            work: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> CommitStateGuard<'_> {
        CommitStateGuard::new(self.lock_local())
    }

    fn lock_local(&self) -> MutexGuard<'_, CommitState> {
        lock(&self.state)
    }

    /// Whether there are deferred commits in memory. Other processes do not know of them.
    pub(crate) fn has_deferred(&self) -> bool {
        self.lock_local().has_deferred()
    }

    /// Stops sharing the state with other processes, and then calls `end`.
    pub(crate) fn leave(&self, end: impl FnOnce()) {
        let mut state = self.lock_local();
        assert!(
            !state.is_flushing(),
            "a process ends its flushes before it leaves the others"
        );
        state.leave();
        end();
    }
}

/// Threads that wait for a flush.
impl CommitStateLock {
    /// Waits until a commit is durable, and then returns `None`. Returns the state instead if the
    /// commit cannot become durable, or if the running flush is over and this thread should begin
    /// the next one.
    pub(crate) fn wait_flushed<'s>(
        &'s self,
        mut state: CommitStateGuard<'s>,
        transaction: TransactionId,
    ) -> Option<CommitStateGuard<'s>> {
        let thread = thread::current();
        let id = thread.id();
        state.waiters.add_thread(transaction, thread);
        drop(state);
        loop {
            thread::park();
            // Acquire: pairs with the store in `notify_flushed`, so that the state that became
            // durable is visible.
            if self.durable.load(Acquire) >= transaction.0 {
                return None;
            }
            let state = self.lock();
            if !state.waiters.has_thread(id) {
                return Some(state);
            }
        }
    }

    /// Reports that a flush is over, or that there will be none. Returns the threads to wake: one
    /// that begins the next flush, and those whose wait is over.
    pub(crate) fn notify_flushed(&self, state: &mut CommitState) -> Vec<Thread> {
        debug_assert!(
            self.durable.load(Relaxed) <= state.durable().transaction.0 || !state.is_own(),
            "threads that were woken for a durable commit stay right"
        );
        // Release: see `wait_flushed`.
        self.durable.store(state.durable().transaction.0, Release);
        if state.waiters.has_ticket_threads() {
            self.durable_changed.notify_all();
        }
        self.notify_flusher(state);
        state.take_threads()
    }
}

/// The background thread.
impl CommitStateLock {
    /// Waits until there may be work for the background thread, or until `until`.
    pub(crate) fn wait_work<'s>(
        &'s self,
        mut state: CommitStateGuard<'s>,
        until: Option<Instant>,
    ) -> CommitStateGuard<'s> {
        state.waiters.set_flusher_asleep(true);
        let mut state = self.wait_for(&self.work, state, until);
        state.waiters.set_flusher_asleep(false);
        state
    }

    /// Notifies the background thread that there may be work.
    pub(crate) fn notify_flusher(&self, state: &CommitState) {
        if state.waiters.is_flusher_asleep() {
            self.work.notify_one();
        }
    }

    /// Waits for a condition, or until `until`. With waiting tickets it wakes up periodically,
    /// because other processes do not notify this one.
    fn wait_for<'s>(
        &'s self,
        condition: &Condvar,
        state: CommitStateGuard<'s>,
        until: Option<Instant>,
    ) -> CommitStateGuard<'s> {
        let is_shared = state.is_shared && state.waiters.has_tickets();
        let state = state.into_local();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = match (left, is_shared) {
            (left, true) => {
                Some(left.map_or(FOREIGN_FLUSH_CHECK, |left| left.min(FOREIGN_FLUSH_CHECK)))
            }
            (left, false) => left,
        };
        let state = match left {
            None => condition
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner),
            Some(left) => {
                let waited = condition.wait_timeout(state, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        CommitStateGuard::new(state)
    }
}

/// Tickets.
impl CommitStateLock {
    /// Whether a commit is durable, or the error because of which it cannot become durable. `None`
    /// if neither is known yet.
    pub(crate) fn outcome(&self, transaction: TransactionId) -> Option<Result<()>> {
        self.lock().ticket_outcome(transaction)
    }

    /// Like [`Self::outcome`], but registers the waker of ticket `id` if the outcome is not known.
    pub(crate) fn poll(
        &self,
        id: u64,
        transaction: TransactionId,
        waker: Waker,
    ) -> Option<Result<()>> {
        let mut state = self.lock();
        let outcome = state.ticket_outcome(transaction);
        let unused = match &outcome {
            Some(_) => Some(waker),
            None => {
                let replaced = state.waiters.set_waker(id, transaction, waker);
                if replaced.is_none() {
                    // The background thread checks periodically what other processes have flushed.
                    self.notify_flusher(&state);
                }
                replaced
            }
        };
        // Dropping a waker may run any code, so no lock is held.
        drop(state);
        drop(unused);
        outcome
    }

    /// Forgets the ticket `id`.
    pub(crate) fn forget(&self, id: u64) {
        let mut state = self.lock();
        let forgotten = state.waiters.remove_ticket(id);
        drop(state);
        drop(forgotten);
    }

    /// Waits up to `limit` until a commit is durable, and returns whether it is. Does not flush
    /// itself.
    pub(crate) fn wait(&self, transaction: TransactionId, limit: Option<Duration>) -> Result<bool> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        loop {
            if let Some(outcome) = state.ticket_outcome(transaction) {
                return outcome.map(|()| true);
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(false);
            }
            state.waiters.begin_ticket_wait();
            state = self.wait_for(&self.durable_changed, state, until);
            state.waiters.end_ticket_wait();
        }
    }
}
