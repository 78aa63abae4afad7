//! How far commits have come: which are written, which are on the disk, and who waits for that.
//!
//! A commit writes its pages and its record while it has the writer's turn, notes that here, and
//! gives the turn on. A *flush* makes durable what was written before it began; its *target* is
//! the newest commit of that moment. While it runs others commit, and the next flush is for all of
//! them together.
//!
//! Invariants:
//!
//! 1. durable ≤ target ≤ newest, and there is one flush at a time.
//! 2. A record is never written to the slot of the newest, of the durable, or of the target. That
//!    leaves one of four.
//! 3. `unpublished` is the newest commit as long as readers do not see it. They see each durable
//!    commit, and each that did not ask to be seen only when it is durable.
//! 4. Behind a failure nothing becomes durable any more.

use super::{engine::Durability, snapshot::Snapshot};
use crate::{
    Error, Result, TransactionId,
    commit::record::{FlushLimits, Record, SLOT_COUNT},
    planted::{Planted, is_planted},
};
use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::Waker,
    time::{Duration, Instant},
};

/// A commit whose record was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Written {
    pub(super) transaction: TransactionId,
    pub(super) slot: u8,
    pub(super) sequence: u64,
}

impl Written {
    pub(super) fn of(record: &Record) -> Self {
        Self {
            transaction: record.transaction,
            slot: record.slot,
            sequence: record.sequence,
        }
    }
}

/// What a flush under way makes durable.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) commit: Written,
    /// The state, if readers did not see it when the flush began.
    pub(super) unpublished: Option<Arc<Snapshot>>,
}

/// Lazy commits that no flush was begun for.
#[derive(Clone, Copy, Default, Debug)]
struct Waiting {
    bytes: u64,
    since: Option<Instant>,
}

/// When the flusher has something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    Now,
    At(Instant),
    Never,
}

/// Why nothing becomes durable any more.
#[derive(Clone, Debug)]
struct Failure {
    operation: &'static str,
    kind: io::ErrorKind,
    errno: Option<i32>,
    text: String,
}

impl Failure {
    fn new(operation: &'static str, error: &io::Error) -> Self {
        Self {
            operation,
            kind: error.kind(),
            errno: error.raw_os_error(),
            text: error.to_string(),
        }
    }

    fn to_error(&self) -> Error {
        let error = match self.errno {
            Some(errno) => io::Error::from_raw_os_error(errno),
            None => io::Error::new(self.kind, self.text.clone()),
        };
        Error::io(self.operation)(error)
    }
}

/// What is known of the commits of one open database.
#[derive(Debug)]
pub(super) struct State {
    pub(super) newest: Written,
    pub(super) unpublished: Option<Arc<Snapshot>>,
    pub(super) durable: Written,
    target: Option<Target>,
    /// The newest commit that a flush was begun for.
    last_target: TransactionId,
    /// What stands in each slot; sequence 0 where there is no record.
    pub(super) slots: [Written; SLOT_COUNT as usize],
    failure: Option<Failure>,
    /// Commits up to this one are to be flushed at once.
    wanted: TransactionId,
    waiting: Waiting,
    wakers: Vec<(TransactionId, Waker)>,
    pub(super) is_stopping: bool,
}

impl State {
    pub(super) fn new(
        newest: Written,
        sequences: [u64; SLOT_COUNT as usize],
        durable_slot: u8,
    ) -> Self {
        let mut slots = [newest; SLOT_COUNT as usize];
        for (index, (slot, sequence)) in slots.iter_mut().zip(sequences).enumerate() {
            (slot.slot, slot.sequence) = (index as u8, sequence);
        }
        Self {
            newest,
            unpublished: None,
            durable: Written {
                slot: durable_slot,
                ..newest
            },
            target: None,
            last_target: newest.transaction,
            slots,
            failure: None,
            wanted: newest.transaction,
            waiting: Waiting::default(),
            wakers: Vec::new(),
            is_stopping: false,
        }
    }

    /// The slot that the next record goes to: the oldest that is needed neither for the newest
    /// commit, nor for the last durable one, nor for the one that is becoming durable.
    pub(super) fn next_slot(&self) -> u8 {
        let oldest = self.unneeded().min_by_key(|written| written.sequence);
        oldest.expect("three of four slots are spared").slot
    }

    /// Two slots that are not needed, where everything is durable.
    pub(super) fn spare_slots(&self) -> [u8; 2] {
        let mut unneeded: Vec<_> = self.unneeded().collect();
        unneeded.sort_unstable_by_key(|written| written.sequence);
        [unneeded[0].slot, unneeded[1].slot]
    }

    fn unneeded(&self) -> impl Iterator<Item = &Written> {
        let target = self.target.as_ref().map(|target| target.commit.slot);
        let spared = [
            Some(self.newest.slot),
            Some(self.durable.slot).filter(|_| !is_planted(Planted::SlotOfDurable)),
            target.filter(|_| !is_planted(Planted::SlotOfTarget)),
        ];
        let is_unneeded = move |written: &&Written| !spared.contains(&Some(written.slot));
        self.slots.iter().filter(is_unneeded)
    }

    /// The states that a crash may lead back to, and the newest one.
    pub(super) fn pins(&self) -> impl Iterator<Item = TransactionId> {
        let target = self.target.as_ref().map(|target| target.commit.transaction);
        let durable = Some(self.durable.transaction);
        [
            Some(self.newest.transaction),
            durable.filter(|_| !is_planted(Planted::FreeDurable)),
            target.filter(|_| !is_planted(Planted::FreeTarget)),
        ]
        .into_iter()
        .flatten()
    }

    pub(super) fn last_target(&self) -> TransactionId {
        self.last_target
    }

    /// Notes a commit whose record was written.
    pub(super) fn note_written(&mut self, written: Written) {
        self.slots[usize::from(written.slot)] = written;
        self.newest = written;
    }

    /// Notes that a commit of so many bytes waits for no one to flush it.
    pub(super) fn note_waiting(&mut self, bytes: u64) {
        self.waiting.bytes += bytes;
        self.waiting.since.get_or_insert_with(Instant::now);
    }

    /// Asks for a flush at once of all commits up to `transaction`.
    pub(super) fn want(&mut self, transaction: TransactionId) {
        self.wanted = self.wanted.max(transaction);
    }

    pub(super) fn is_flushing(&self) -> bool {
        self.target.is_some()
    }

    /// When the flusher is to flush.
    pub(super) fn due(&self, limits: FlushLimits) -> Due {
        if self.failure.is_some() || self.is_flushing() {
            return Due::Never;
        }
        let Some(since) = self.waiting.since else {
            return if self.wanted > self.durable.transaction {
                Due::Now
            } else {
                Due::Never
            };
        };
        if self.wanted > self.durable.transaction || self.waiting.bytes >= limits.bytes {
            return Due::Now;
        }
        match since.checked_add(limits.age) {
            Some(moment) if moment <= Instant::now() => Due::Now,
            Some(moment) => Due::At(moment),
            None => Due::Never,
        }
    }

    /// Begins a flush: nobody else begins one until [`Self::end_flush`] or [`Self::fail`].
    pub(super) fn begin_flush(&mut self) -> Target {
        debug_assert!(self.target.is_none(), "one flush at a time");
        let target = Target {
            commit: self.newest,
            unpublished: self.unpublished.clone(),
        };
        self.last_target = target.commit.transaction;
        self.waiting = Waiting::default();
        self.target = Some(target.clone());
        target
    }

    /// Notes that a flush has succeeded; returns who is to be told.
    pub(super) fn end_flush(&mut self, target: &Target) -> Vec<Waker> {
        self.target = None;
        self.durable = match is_planted(Planted::DurableIsNewest) {
            true => self.newest,
            false => target.commit,
        };
        if target.commit == self.newest {
            self.unpublished = None;
        }
        let durable = self.durable.transaction;
        let told = self.wakers.extract_if(.., |(wanted, _)| *wanted <= durable);
        told.map(|(_, waker)| waker).collect()
    }

    /// Notes that nothing becomes durable any more; returns who is to be told.
    pub(super) fn fail(&mut self, operation: &'static str, error: &io::Error) -> Vec<Waker> {
        self.target = None;
        self.unpublished = None;
        self.failure
            .get_or_insert_with(|| Failure::new(operation, error));
        self.wakers.drain(..).map(|(_, waker)| waker).collect()
    }

    /// Behaves as if a flush that failed were no reason to stop.
    pub(super) fn go_on_after_failure(&mut self) {
        self.target = None;
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// What became of a commit; `None` if it is not decided yet.
    pub(super) fn outcome(&self, transaction: TransactionId) -> Option<Result<()>> {
        if transaction <= self.durable.transaction {
            return Some(Ok(()));
        }
        self.failure.as_ref().map(|failure| Err(failure.to_error()))
    }

    /// Has somebody told when a commit is durable, or cannot become so.
    fn tell(&mut self, transaction: TransactionId, waker: &Waker) {
        let is_known = |(wanted, known): &(TransactionId, Waker)| {
            *wanted == transaction && known.will_wake(waker)
        };
        if !self.wakers.iter().any(is_known) {
            self.wakers.push((transaction, waker.clone()));
        }
    }
}

/// The state, and conditions to wait for.
#[derive(Debug)]
pub(super) struct Progress {
    state: Mutex<State>,
    /// A flush is over.
    flushed: Condvar,
    /// The flusher may have something to do.
    work: Condvar,
}

impl Progress {
    pub(super) fn new(state: State) -> Self {
        Self {
            state: Mutex::new(state),
            flushed: Condvar::new(),
            work: Condvar::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a flush is over.
    pub(super) fn wait_flushed<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.flushed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there may be work for the flusher, or until then.
    pub(super) fn wait_work<'s>(
        &self,
        state: MutexGuard<'s, State>,
        until: Option<Instant>,
    ) -> MutexGuard<'s, State> {
        let Some(until) = until else {
            return self
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        let left = until.saturating_duration_since(Instant::now());
        let waited = self.work.wait_timeout(state, left);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Tells those who wait that a flush is over.
    pub(super) fn tell_flushed(&self) {
        self.flushed.notify_all();
        self.work.notify_one();
    }

    /// Tells the flusher that there may be work.
    pub(super) fn tell_flusher(&self) {
        self.work.notify_one();
    }

    /// Whether a commit is durable, or the error for which it cannot become so.
    pub(super) fn poll(
        &self,
        transaction: TransactionId,
        waker: Option<&Waker>,
    ) -> Option<Result<()>> {
        let mut state = self.lock();
        let outcome = state.outcome(transaction);
        if let (None, Some(waker)) = (&outcome, waker) {
            state.tell(transaction, waker);
        }
        outcome
    }

    /// Waits until a commit is durable, for as long as `limit`; says whether it is. Somebody else
    /// flushes.
    pub(super) fn wait(&self, transaction: TransactionId, limit: Option<Duration>) -> Result<bool> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        loop {
            if let Some(outcome) = state.outcome(transaction) {
                return outcome.map(|()| true);
            }
            state = match until {
                None => self.wait_flushed(state),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(false);
                    }
                    let waited = self.flushed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// Whether a commit of this durability is visible before it is on the disk.
pub(super) fn is_seen_at_once(durability: Durability) -> bool {
    durability != Durability::Durable
}
