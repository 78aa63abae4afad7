//! Wakers of tickets that are due, until a thread that holds no lock runs them.

use crate::sync::lock;
use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    task::Waker,
};

/// Wakers to run after all locks are released.
#[derive(Default, Debug)]
pub(crate) struct DueWakers(Mutex<Vec<Waker>>);

impl DueWakers {
    pub(crate) fn add(&self, wakers: Vec<Waker>) {
        if !wakers.is_empty() {
            lock(&self.0).extend(wakers);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Runs them. A waker may do anything, so the caller must hold no lock.
    pub(crate) fn run(&self) {
        let wakers = mem::take(&mut *lock(&self.0));
        for waker in wakers {
            // A panic in a waker must not stop this thread: others wait for it.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}
