//! Changes and reads of a database while one of its flushes runs.
//!
//! A read must not show a commit that becomes visible only when it is durable. Lazy commits are
//! made, and durable ones, which wait for the next flush. All of this is called from within the
//! flush, so that an episode is repeatable.
//!
//! With several processes, any of them does this, and may kill the flushing process.

use super::{
    history::{CrashHistory, NEVER, compare},
    records::HistoryChange,
};
use crate::{Context, Result};
use fastrand::Rng;
use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle, ThreadId},
};
use teak::{Database, Durability, Transaction, TransactionId, WriteTxn, testing, testing::SimDisk};

/// The maximum number of lazy commits within a flush, and of later commits that are lazy or wait
/// for the next flush. This is one more than the number of spare record slots.
const COMMITS_MAX: usize = 4;

/// One flush in this many is the last one of its process.
const KILL_SHARE: u8 = 12;

/// A durable commit that waits for the next flush, and its index in the history.
type WaitingCommit = (JoinHandle<teak::Result<TransactionId>>, usize);

#[derive(Clone)]
pub(super) struct FlushDisturber {
    shared: Arc<Mutex<FlushDisturberState>>,
    history: Arc<Mutex<CrashHistory>>,
}

struct FlushDisturberState {
    /// Present while changes are allowed.
    target: Option<DisturbedDatabases>,
    rng: Rng,
    outcome: Result,
    waiting: Vec<WaitingCommit>,
}

struct DisturbedDatabases {
    /// The process, among all, that flushes first.
    databases: Vec<Database>,
    /// The handle of that process.
    disk: SimDisk,
    /// If present, only flushes of this thread are disturbed.
    thread: Option<ThreadId>,
}

impl DisturbedDatabases {
    /// Whether the only activity is a flush that this thread may disturb. With several processes
    /// this must be a flush of this thread, because a killed process must not be active anywhere
    /// else.
    fn is_at_rest(&self) -> bool {
        let id = thread::current().id();
        self.thread.is_none_or(|thread| thread == id)
    }
}

impl FlushDisturber {
    pub(super) fn new(history: Arc<Mutex<CrashHistory>>, seed: u64) -> Self {
        Self {
            shared: Arc::new(Mutex::new(FlushDisturberState {
                target: None,
                rng: Rng::with_seed(seed),
                outcome: Ok(()),
                waiting: Vec::new(),
            })),
            history,
        }
    }

    pub(super) fn attach(&self, disk: &SimDisk) {
        let this = self.clone();
        disk.on_flush(move || this.disturb());
    }

    /// Runs `work` and disturbs its flushes: those of `thread`, or all.
    pub(super) fn run<R>(
        &self,
        databases: Vec<Database>,
        disk: &SimDisk,
        thread: Option<ThreadId>,
        work: impl FnOnce() -> R,
    ) -> Result<R> {
        self.shared().target = Some(DisturbedDatabases {
            databases,
            disk: disk.clone(),
            thread,
        });
        let result = work();
        let mut shared = self.shared();
        shared.target = None;
        let waiting = std::mem::take(&mut shared.waiting);
        drop(shared);
        for (thread, index) in waiting {
            let committed = thread.join().map_err(|_| failure!("it panicked"));
            let committed = committed.and_then(|committed| Ok(committed?));
            committed.context("a commit that waited for the next flush")?;
            let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
            history.note_durable(index, disk.event_count());
        }
        let mut shared = self.shared();
        std::mem::replace(&mut shared.outcome, Ok(())).map(|()| result)
    }

    fn shared(&self) -> std::sync::MutexGuard<'_, FlushDisturberState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn disturb(&self) {
        let mut shared = self.shared();
        // A flush that a commit waits for is left alone, so that nothing depends on timing.
        if !shared.waiting.is_empty() {
            return;
        }
        // Nested flushes have nothing to do.
        let Some(target) = shared.target.take_if(|target| target.is_at_rest()) else {
            return;
        };
        let mut rng = shared.rng.fork();
        drop(shared);
        let outcome = self.inspect_and_commit(&target, &mut rng);
        let mut shared = self.shared();
        // After a kill nothing more is done.
        shared.target = Some(target).filter(|target| !target.disk.is_killed());
        if outcome.is_err() {
            shared.outcome = outcome;
        }
    }

    fn inspect_and_commit(&self, target: &DisturbedDatabases, rng: &mut Rng) -> Result {
        let DisturbedDatabases {
            databases, disk, ..
        } = target;
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = "while a flush runs";
        let others = databases.len() - 1;
        for database in databases {
            let txn = database.begin_read().context(failed)?;
            compare(&txn, &history.states[history.seen()].tables)
                .context("read while a flush runs")?;
        }
        let lazy = rng.usize(0..=COMMITS_MAX);
        let mixed = [0, 0, 1, 2, COMMITS_MAX][rng.usize(0..5)];
        // A process with a waiting commit may keep the writer lock.
        let mut waiting = None;
        for count in 0..lazy + mixed {
            let database = &databases[match (waiting, others) {
                (Some(index), _) => index,
                (None, 0) => 0,
                (None, others) => rng.usize(0..=others),
            }];
            let (txn, index) =
                begin(database, disk, &mut history, rng, others == 0).context(failed)?;
            if count < lazy || rng.u8(0..4) == 0 {
                commit(txn, Durability::Lazy).context(failed)?;
                history.states[index].returned = disk.event_count();
            } else {
                let thread = thread::spawn(move || commit(txn, Durability::Durable));
                // The commit holds the lock, and now waits for the next flush.
                drop(database.begin_write().context(failed)?);
                self.shared().waiting.push((thread, index));
                waiting = databases
                    .iter()
                    .position(|other| std::ptr::eq(other, database));
            }
        }
        if others > 0 && waiting.is_none() && rng.u8(0..KILL_SHARE) == 0 {
            return self.kill_and_commit(target, &mut history, rng);
        }
        Ok(())
    }

    /// Kills the flushing process. Another process with a durable commit then flushes itself.
    fn kill_and_commit(
        &self,
        target: &DisturbedDatabases,
        history: &mut CrashHistory,
        rng: &mut Rng,
    ) -> Result {
        let DisturbedDatabases {
            databases, disk, ..
        } = target;
        let failed = "after the death of the flushing process";
        let other = &databases[rng.usize(1..databases.len())];
        testing::kill(&databases[0], disk);
        if rng.bool() {
            let (txn, index) = begin(other, disk, history, rng, false).context(failed)?;
            commit(txn, Durability::Durable).context(failed)?;
            history.note_durable(index, disk.event_count());
        }
        Ok(())
    }
}

/// Begins a transaction on the newest commit, visible or not, and changes something.
fn begin(
    database: &Database,
    disk: &SimDisk,
    history: &mut CrashHistory,
    rng: &mut Rng,
    may_name: bool,
) -> teak::Result<(WriteTxn, usize)> {
    let mut txn = database.begin_write()?;
    let base = history.states.iter().rposition(|state| state.gone == NEVER);
    let mut tables = history.states[base.unwrap_or(0)].tables.clone();
    HistoryChange::new(&mut txn, &mut tables, rng).put(3)?;
    if rng.u8(0..4) == 0 && may_name {
        HistoryChange::new(&mut txn, &mut tables, rng).name()?;
    }
    let tables = tables.committed();
    // This commit is visible, and so are the commits that it is based on.
    history.seen_early = None;
    let index = history.begin(txn.id(), tables, disk.event_count());
    Ok((txn, index))
}

fn commit(mut txn: WriteTxn, durability: Durability) -> teak::Result<TransactionId> {
    txn.set_durability(durability);
    txn.commit()
}
