//! One writer at a time: whoever takes the turn takes what only the writer may touch with it, and
//! whoever ends the turn puts it back. Turns may end on another thread than they began on.

use super::lock;
use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut},
    sync::{Arc, Condvar, Mutex},
};

/// Gives out turns, in the order in which they are asked for.
#[derive(Debug)]
pub(crate) struct Turnstile<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// What the writer has; absent while somebody has the turn.
    held: Option<Box<T>>,
    waiting: VecDeque<u64>,
    next_ticket: u64,
}

impl<T> Turnstile<T> {
    pub(crate) fn new(held: T) -> Arc<Self> {
        let state = State {
            held: Some(Box::new(held)),
            waiting: VecDeque::new(),
            next_ticket: 0,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    /// Waits for the turn.
    pub(crate) fn take(self: &Arc<Self>) -> Turn<T> {
        let mut state = lock(&self.state);
        if state.waiting.is_empty()
            && let Some(held) = state.held.take()
        {
            return Turn {
                held: Some(held),
                turnstile: Arc::clone(self),
            };
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back(ticket);
        loop {
            if state.waiting.front() == Some(&ticket)
                && let Some(held) = state.held.take()
            {
                state.waiting.pop_front();
                return Turn {
                    held: Some(held),
                    turnstile: Arc::clone(self),
                };
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    fn give_back(&self, held: Box<T>) {
        lock(&self.state).held = Some(held);
        self.changed.notify_all();
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
