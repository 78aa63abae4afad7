//! The state that readers begin with, and those that they hold.

use super::snapshot::Snapshot;
use crate::{
    TransactionId,
    planted::{Planted, is_planted},
    share::ReaderTable,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many slots of readers may be looked at for each commit.
const SLOTS_PER_COMMIT: usize = 1024;

/// What readers see.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) table: ReaderTable,
    newest: Mutex<Arc<Snapshot>>,
    held: Mutex<Held>,
}

/// States that readers may hold, as of the last look at the table and what came since.
#[derive(Default, Debug)]
struct Held {
    states: Vec<TransactionId>,
    /// Commits since the last look.
    age: usize,
}

impl Published {
    pub(super) fn new(table: ReaderTable, newest: Snapshot) -> Self {
        table.publish(newest.transaction().0);
        Self {
            table,
            newest: Mutex::new(Arc::new(newest)),
            held: Mutex::default(),
        }
    }

    /// The newest state that readers see. It stays only while something pins it.
    pub(super) fn newest(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.newest))
    }

    /// Has readers begin with `state` from now on.
    pub(super) fn publish(&self, state: Arc<Snapshot>) {
        let mut newest = lock(&self.newest);
        let transaction = state.transaction();
        let before = std::mem::replace(&mut *newest, state);
        self.table.publish(transaction.0);
        drop(newest);
        // It may be the last to hold a mapping.
        drop(before);
    }

    /// How many readers there are.
    pub(super) fn reader_count(&self) -> usize {
        let mut count = 0;
        self.table.for_each_pinned(|_| count += 1);
        count
    }

    /// Adds the states that readers hold to `pins`, where those stand already that they may begin with.
    ///
    /// All slots are looked at, but where there are many not for each commit: until the next look, what was
    /// held stays so, and with it all that readers may have begun with since.
    pub(super) fn add_held(&self, pins: &mut Vec<TransactionId>) {
        if is_planted(Planted::FreeHeld) {
            return;
        }
        let mut held = lock(&self.held);
        held.age += 1;
        if held.age * SLOTS_PER_COMMIT > self.table.slots_used() {
            held.age = 0;
            held.states.clear();
            self.table
                .for_each_pinned(|state| held.states.push(TransactionId(state)));
        }
        // Whoever begins until the next look begins with one of these.
        held.states.extend_from_slice(pins);
        held.states.sort_unstable();
        held.states.dedup();
        pins.clone_from(&held.states);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
