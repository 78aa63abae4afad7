//! One writer at a time: whoever takes the turn takes what only the writer may touch with it, and
//! whoever ends the turn puts it back. Turns may end on another thread than they began on.
//!
//! Who comes when the turn is free takes it, even if others wait who are not awake yet: a turn is
//! shorter than waking somebody. So that nobody starves, the first in line is passed over only so
//! often.

use super::lock;
use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex},
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// So often the first in line is passed over.
const PASSED_OVER_MAX: u32 = 16;

/// Gives out turns, roughly in the order in which they are asked for.
#[derive(Debug)]
pub(crate) struct Turnstile<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// What the writer has; absent while somebody has the turn.
    held: Option<Box<T>>,
    waiting: VecDeque<(u64, Thread)>,
    next_ticket: u64,
    /// How often somebody else has got the turn since the first in line is that.
    passed_over: u32,
}

impl<T> Turnstile<T> {
    pub(crate) fn new(held: T) -> Arc<Self> {
        let state = State {
            held: Some(Box::new(held)),
            waiting: VecDeque::new(),
            next_ticket: 0,
            passed_over: 0,
        };
        Arc::new(Self {
            state: Mutex::new(state),
        })
    }

    /// Waits for the turn, for as long as `limit`; `None` if that was not enough.
    pub(crate) fn take(self: &Arc<Self>, limit: Option<Duration>) -> Option<Turn<T>> {
        let mut state = lock(&self.state);
        if (state.waiting.is_empty() || state.passed_over < PASSED_OVER_MAX)
            && let Some(held) = state.held.take()
        {
            state.passed_over += u32::from(!state.waiting.is_empty());
            return Some(self.turn(held));
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
            if is_first && let Some(held) = state.held.take() {
                state.waiting.pop_front();
                state.passed_over = 0;
                return Some(self.turn(held));
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                state.waiting.retain(|(waiting, _)| *waiting != ticket);
                let next = state.first_of_free();
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

    #[cfg(test)]
    pub(crate) fn is_waited_for(&self) -> bool {
        !lock(&self.state).waiting.is_empty()
    }

    fn turn(self: &Arc<Self>, held: Box<T>) -> Turn<T> {
        Turn {
            held: Some(held),
            turnstile: Arc::clone(self),
        }
    }

    fn give_back(&self, held: Box<T>) {
        let mut state = lock(&self.state);
        state.held = Some(held);
        let first = state.first_of_free();
        drop(state);
        first.iter().for_each(Thread::unpark);
    }
}

impl<T> State<T> {
    /// Who is to be woken, if the turn is free and somebody waits.
    fn first_of_free(&self) -> Option<Thread> {
        self.held.as_ref()?;
        self.waiting.front().map(|(_, thread)| thread.clone())
    }
}

/// The turn; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Turn<T> {
    held: Option<Box<T>>,
    turnstile: Arc<Turnstile<T>>,
}

impl<T> Deref for Turn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held
            .as_ref()
            .expect("a turn holds its state until it ends")
    }
}

impl<T> DerefMut for Turn<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held
            .as_mut()
            .expect("a turn holds its state until it ends")
    }
}

impl<T> Drop for Turn<T> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.turnstile.give_back(held);
        }
    }
}
