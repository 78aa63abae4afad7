//! The newest committed state, and the older ones that somebody still holds.
//!
//! A reader's hold on a state is the counted reference itself: beginning a read is taking a
//! reference to the newest state, ending it is dropping that, and a state is pinned as long as
//! there are references. Only the writer keeps a list of what was published.

use super::lock;
use crate::planted::{Planted, is_planted};
use std::sync::{Arc, Mutex, Weak};

/// States, the newest of which everybody sees.
#[derive(Debug)]
pub(crate) struct Published<T> {
    newest: Mutex<Arc<T>>,
    /// Older states that may still be held, in the order of their publication.
    older: Mutex<Vec<Weak<T>>>,
}

impl<T> Published<T> {
    pub(crate) fn new(state: T) -> Self {
        Self {
            newest: Mutex::new(Arc::new(state)),
            older: Mutex::default(),
        }
    }

    /// The newest state; it stays pinned while the reference lives.
    pub(crate) fn newest(&self) -> Arc<T> {
        Arc::clone(&lock(&self.newest))
    }

    /// Makes `state` the newest.
    pub(crate) fn publish(&self, state: Arc<T>) {
        let mut older = lock(&self.older);
        let before = std::mem::replace(&mut *lock(&self.newest), state);
        older.push(Arc::downgrade(&before));
    }

    /// Calls `pinned` for every older state that is still held, oldest first, and for the newest;
    /// forgets the others.
    pub(crate) fn for_each_pinned(&self, mut pinned: impl FnMut(&T)) {
        let mut older = lock(&self.older);
        older.retain(|state| match state.upgrade() {
            Some(state) => {
                if !is_planted(Planted::FreeHeld) {
                    pinned(&state);
                }
                true
            }
            None => false,
        });
        pinned(&lock(&self.newest));
    }

    /// How many references to published states there are, besides the one that makes it newest.
    pub(crate) fn holders(&self) -> usize {
        let newest = Arc::strong_count(&lock(&self.newest)) - 1;
        lock(&self.older)
            .iter()
            .map(Weak::strong_count)
            .sum::<usize>()
            + newest
    }
}
