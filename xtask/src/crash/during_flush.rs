//! What is done to a database while one of its flushes runs.
//!
//! It is read, and must not show what is not durable yet and was promised to be when it is seen.
//! Lazy commits are made. All of it is done from within the flush, so that an episode can be repeated.

use super::{
    history::{History, NEVER, compare},
    records,
    stage::Outcome,
};
use fastrand::Rng;
use std::sync::{Arc, Mutex, PoisonError};
use teak::{Database, Durability, Transaction, testing::SimDisk};

/// Lazy commits within a flush, at most.
const COMMITS_MAX: usize = 2;

#[derive(Clone)]
pub(super) struct DuringFlush {
    shared: Arc<Mutex<Shared>>,
    history: Arc<Mutex<History>>,
}

struct Shared {
    /// Present while something may be done.
    target: Option<(Database, SimDisk)>,
    rng: Rng,
    outcome: Outcome,
}

impl DuringFlush {
    pub(super) fn new(history: Arc<Mutex<History>>, seed: u64) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Shared {
                target: None,
                rng: Rng::with_seed(seed),
                outcome: Ok(()),
            })),
            history,
        }
    }

    pub(super) fn attach(&self, disk: &SimDisk) {
        let this = self.clone();
        disk.on_flush(move || this.disturb());
    }

    /// Does `work`, with the flushes in it disturbed.
    pub(super) fn run<R>(
        &self,
        database: &Database,
        disk: &SimDisk,
        work: impl FnOnce() -> R,
    ) -> Outcome<R> {
        self.shared().target = Some((database.clone(), disk.clone()));
        let result = work();
        let mut shared = self.shared();
        shared.target = None;
        std::mem::replace(&mut shared.outcome, Ok(())).map(|()| result)
    }

    fn shared(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn disturb(&self) {
        let mut shared = self.shared();
        // Flushes within this one find nothing to do.
        let Some((database, disk)) = shared.target.take() else {
            return;
        };
        let mut rng = shared.rng.fork();
        drop(shared);
        let outcome = self.look_and_commit(&database, &disk, &mut rng);
        let mut shared = self.shared();
        shared.target = Some((database, disk));
        if outcome.is_err() {
            shared.outcome = outcome;
        }
    }

    fn look_and_commit(&self, database: &Database, disk: &SimDisk, rng: &mut Rng) -> Outcome {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error| format!("while a flush runs: {error}");
        let txn = database.begin_read().map_err(failed)?;
        compare(&txn, &history.states[history.seen()].tables)
            .map_err(|difference| format!("read while a flush runs: {difference}"))?;
        drop(txn);
        for _ in 0..rng.usize(0..=COMMITS_MAX) {
            let mut txn = database.begin_write().map_err(failed)?;
            txn.set_durability(Durability::Lazy);
            // It goes on from the commit that is being flushed.
            let base = history.states.iter().rposition(|state| state.gone == NEVER);
            let mut tables = history.states[base.unwrap_or(0)].tables.clone();
            records::put(&mut txn, &mut tables, rng, 3).map_err(failed)?;
            // It is seen, and with it what it was built on.
            history.seen_early = None;
            let (id, begun) = (txn.id(), disk.event_count());
            let index = history.begin(id, tables, begun);
            txn.commit().map_err(failed)?;
            history.states[index].returned = disk.event_count();
        }
        Ok(())
    }
}
