//! The in-process writer lock: one writer at a time. Taking the lock takes the writer's state with
//! it, and releasing it puts the state back. The lock may be released on another thread than the
//! one that took it.
//!
//! A thread that arrives when the lock is free takes it, even if others wait that are not awake
//! yet: holding the lock usually takes less time than waking a thread. To avoid starvation, the
//! first waiting thread is passed over only a limited number of times.

use super::lock;
use crate::io::thread_id;
use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// How often the first waiting thread may be passed over.
const OVERTAKEN_MAX: u32 = 16;

/// The lock. Threads get it roughly in the order in which they ask for it.
#[derive(Debug)]
pub(crate) struct WriterLock<T> {
    state: Mutex<WriterLockQueue<T>>,
    /// The thread that took the lock last, until it is released; 0 if it is free, or was taken for
    /// another thread.
    taker: AtomicU64,
}

#[derive(Debug)]
struct WriterLockQueue<T> {
    /// The writer's state; `None` while a thread holds the lock.
    value: Option<Box<T>>,
    waiting: VecDeque<(u64, Thread)>,
    next_ticket: u64,
    /// How often other threads got the lock since the first waiting thread became the first.
    overtaken_count: u32,
}

impl<T> WriterLock<T> {
    pub(crate) fn new(value: T) -> Arc<Self> {
        let state = WriterLockQueue {
            value: Some(Box::new(value)),
            waiting: VecDeque::new(),
            next_ticket: 0,
            overtaken_count: 0,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            taker: AtomicU64::new(0),
        })
    }

    /// Waits up to `limit` for the lock; `None` if it was not free in time.
    pub(crate) fn take(self: &Arc<Self>, limit: Option<Duration>) -> Option<WriterLockGuard<T>> {
        let mut state = lock(&self.state);
        debug_assert!(
            state.overtaken_count <= OVERTAKEN_MAX,
            "the first waiting thread is passed over a limited number of times"
        );
        debug_assert!(
            state.waiting.iter().is_sorted_by(|(a, _), (b, _)| a < b),
            "threads wait in the order in which they came"
        );
        if (state.waiting.is_empty() || state.overtaken_count < OVERTAKEN_MAX)
            && let Some(value) = state.value.take()
        {
            state.overtaken_count += u32::from(!state.waiting.is_empty());
            return Some(self.guard(value));
        }
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back((ticket, thread::current()));
        loop {
            let is_first = state
                .waiting
                .front()
                .is_some_and(|(first, _)| *first == ticket);
            if is_first && let Some(value) = state.value.take() {
                state.waiting.pop_front();
                state.overtaken_count = 0;
                return Some(self.guard(value));
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                state.waiting.retain(|(waiting, _)| *waiting != ticket);
                let next = state.thread_to_wake();
                drop(state);
                next.iter().for_each(Thread::unpark);
                return None;
            }
            drop(state);
            match left {
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
            state = lock(&self.state);
        }
    }

    /// Whether this thread took the lock, and it was not released since.
    pub(crate) fn is_taken_here(&self) -> bool {
        self.taker.load(Relaxed) == thread_id()
    }

    /// Notes that this thread has taken the lock for another one.
    pub(crate) fn forget_taker(&self) {
        debug_assert!(
            self.is_taken_here() || self.taker.load(Relaxed) == 0,
            "only the thread that took the lock gives it to another one"
        );
        self.taker.store(0, Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn is_waited_for(&self) -> bool {
        !lock(&self.state).waiting.is_empty()
    }

    fn guard(self: &Arc<Self>, value: Box<T>) -> WriterLockGuard<T> {
        debug_assert_eq!(
            self.taker.load(Relaxed),
            0,
            "the lock has no holder when it is taken"
        );
        self.taker.store(thread_id(), Relaxed);
        WriterLockGuard {
            value: Some(value),
            writer_lock: Arc::clone(self),
        }
    }

    fn give_back(&self, value: Box<T>) {
        let mut state = lock(&self.state);
        assert!(
            state.value.is_none(),
            "the state of the writer is in one place: with the holder, or in the lock"
        );
        state.value = Some(value);
        self.taker.store(0, Relaxed);
        let first = state.thread_to_wake();
        drop(state);
        first.iter().for_each(Thread::unpark);
    }
}

impl<T> WriterLockQueue<T> {
    /// The thread to wake, if the lock is free and a thread waits.
    fn thread_to_wake(&self) -> Option<Thread> {
        self.value.as_ref()?;
        self.waiting.front().map(|(_, thread)| thread.clone())
    }
}

/// The held lock. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct WriterLockGuard<T> {
    value: Option<Box<T>>,
    writer_lock: Arc<WriterLock<T>>,
}

impl<T> Deref for WriterLockGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
            .as_ref()
            .expect("the guard has the state until it is dropped")
    }
}

impl<T> DerefMut for WriterLockGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value
            .as_mut()
            .expect("the guard has the state until it is dropped")
    }
}

impl<T> Drop for WriterLockGuard<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            self.writer_lock.give_back(value);
        }
    }
}
