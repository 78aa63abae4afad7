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
//! 4. Behind a failure nothing becomes durable any more but the target of a flush that was running.

use super::snapshot::Snapshot;
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

/// A ticket that is to be told.
#[derive(Debug)]
struct TicketWaiting {
    /// Of the ticket.
    id: u64,
    transaction: TransactionId,
    waker: Waker,
}

/// How many threads wait for what.
#[derive(Clone, Copy, Default, Debug)]
struct Sleepers {
    /// For the flush that runs, and for the next one, by turns.
    commits: [usize; 2],
    tickets: usize,
    flusher: usize,
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
    /// What stands in each slot; sequence 0 where there is no record.
    pub(super) slots: [Written; SLOT_COUNT as usize],
    failure: Option<Failure>,
    /// Commits up to this one are to be flushed at once.
    wanted: TransactionId,
    waiting: Waiting,
    tickets: Vec<TicketWaiting>,
    sleepers: Sleepers,
    /// Flushes that are over.
    flush_count: usize,
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
            slots,
            failure: None,
            wanted: newest.transaction,
            waiting: Waiting::default(),
            tickets: Vec::new(),
            sleepers: Sleepers::default(),
            flush_count: 0,
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

    /// The newest commit that a flush was begun for.
    pub(super) fn last_target(&self) -> TransactionId {
        let target = self.target.as_ref().map(|target| target.commit);
        target.unwrap_or(self.durable).transaction
    }

    /// Notes a commit whose record was written.
    pub(super) fn note_written(&mut self, written: Written) {
        self.slots[usize::from(written.slot)] = written;
        self.newest = written;
    }

    /// Notes that a commit of so many bytes waits, and that nobody has asked for it to be flushed.
    /// Says whether that is news to the flusher.
    pub(super) fn note_waiting(&mut self, bytes: u64, limits: FlushLimits) -> bool {
        self.waiting.bytes += bytes;
        if self.waiting.since.is_some() {
            return self.waiting.bytes >= limits.bytes;
        }
        self.waiting.since = Some(Instant::now());
        true
    }

    /// Whether commits wait that have reached the limits.
    pub(super) fn is_due(&self, limits: FlushLimits) -> bool {
        let Waiting { bytes, since } = self.waiting;
        since.is_some_and(|since| bytes >= limits.bytes || since.elapsed() >= limits.age)
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
        if self.wanted > self.durable.transaction || self.is_due(limits) {
            return Due::Now;
        }
        let moment = self
            .waiting
            .since
            .and_then(|since| since.checked_add(limits.age));
        moment.map_or(Due::Never, Due::At)
    }

    /// Begins a flush: nobody else begins one until [`Self::end_flush`] or
    /// [`Self::end_failed_flush`].
    pub(super) fn begin_flush(&mut self) -> Target {
        debug_assert!(self.target.is_none(), "one flush at a time");
        let target = Target {
            commit: self.newest,
            unpublished: self.unpublished.clone(),
        };
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
        let is_told = |ticket: &mut TicketWaiting| ticket.transaction <= durable;
        let told = self.tickets.extract_if(.., is_told);
        told.map(|ticket| ticket.waker).collect()
    }

    /// Notes that nothing becomes durable any more, but the target of a flush that is running.
    pub(super) fn fail(&mut self, operation: &'static str, error: &io::Error) {
        self.failure
            .get_or_insert_with(|| Failure::new(operation, error));
    }

    /// Notes that the flush under way has failed.
    pub(super) fn end_failed_flush(&mut self) {
        self.target = None;
    }

    /// Behind a failure, when no flush runs any more: all tickets, to be told.
    pub(super) fn give_up(&mut self) -> Vec<Waker> {
        self.unpublished = None;
        self.tickets.drain(..).map(|ticket| ticket.waker).collect()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// What became of a commit; `None` if it is not decided yet.
    pub(super) fn outcome(&self, transaction: TransactionId) -> Option<Result<()>> {
        if transaction <= self.durable.transaction {
            return Some(Ok(()));
        }
        let is_becoming = |target: &Target| transaction <= target.commit.transaction;
        if self.target.as_ref().is_some_and(is_becoming) {
            return None;
        }
        self.failure.as_ref().map(|failure| Err(failure.to_error()))
    }

    /// Which of the two places the threads sleep at that wait for this commit.
    fn bed_of(&self, transaction: TransactionId) -> usize {
        let is_next = |target: &Target| transaction > target.commit.transaction;
        (self.flush_count + usize::from(self.target.as_ref().is_some_and(is_next))) % 2
    }
}

/// The state, and conditions to wait for. Nobody is woken who has nothing to do.
#[derive(Debug)]
pub(super) struct Progress {
    state: Mutex<State>,
    /// Threads whose commits the flush under way, or the next one, makes durable.
    flushed: [Condvar; 2],
    /// Threads with tickets.
    told: Condvar,
    /// The flusher may have something to do.
    work: Condvar,
}

impl Progress {
    pub(super) fn new(state: State) -> Self {
        Self {
            state: Mutex::new(state),
            flushed: Default::default(),
            told: Condvar::new(),
            work: Condvar::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the flush is over that makes a commit durable, or until it is this thread's to
    /// begin that flush.
    pub(super) fn wait_flushed<'s>(
        &self,
        mut state: MutexGuard<'s, State>,
        transaction: TransactionId,
    ) -> MutexGuard<'s, State> {
        let bed = state.bed_of(transaction);
        state.sleepers.commits[bed] += 1;
        let waited = self.flushed[bed].wait(state);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.sleepers.commits[bed] -= 1;
        state
    }

    /// Waits until there may be work for the flusher, or until then.
    pub(super) fn wait_work<'s>(
        &self,
        mut state: MutexGuard<'s, State>,
        until: Option<Instant>,
    ) -> MutexGuard<'s, State> {
        state.sleepers.flusher += 1;
        let mut state = wait(&self.work, state, until);
        state.sleepers.flusher -= 1;
        state
    }

    /// Tells those whose flush is over; and of those who wait for the next one, one who may begin
    /// it, or all if there will be none.
    pub(super) fn tell_flushed(&self, state: &mut State) {
        let (over, next) = (state.flush_count % 2, (state.flush_count + 1) % 2);
        state.flush_count += 1;
        if state.sleepers.commits[over] > 0 {
            self.flushed[over].notify_all();
        }
        if state.sleepers.commits[next] > 0 {
            match state.has_failed() {
                true => self.flushed[next].notify_all(),
                false => self.flushed[next].notify_one(),
            }
        }
        if state.sleepers.tickets > 0 {
            self.told.notify_all();
        }
        self.tell_flusher(state);
    }

    /// Tells the flusher that there may be work.
    pub(super) fn tell_flusher(&self, state: &State) {
        if state.sleepers.flusher > 0 {
            self.work.notify_one();
        }
    }

    /// Whether a commit is durable, or the error for which it cannot become so; `None` if neither is
    /// known yet.
    pub(super) fn outcome(&self, transaction: TransactionId) -> Option<Result<()>> {
        self.lock().outcome(transaction)
    }

    /// The same, and has the ticket `id` told when it is known.
    pub(super) fn poll(
        &self,
        id: u64,
        transaction: TransactionId,
        waker: Waker,
    ) -> Option<Result<()>> {
        let mut state = self.lock();
        let outcome = state.outcome(transaction);
        let known = state.tickets.iter_mut().find(|ticket| ticket.id == id);
        let replaced = match (&outcome, known) {
            (Some(_), _) => None,
            (None, Some(known)) => Some(std::mem::replace(&mut known.waker, waker)),
            (None, None) => {
                state.tickets.push(TicketWaiting {
                    id,
                    transaction,
                    waker,
                });
                None
            }
        };
        // What dropping a waker does is not known, so no lock is held.
        drop(state);
        drop(replaced);
        outcome
    }

    /// Forgets the ticket `id`.
    pub(super) fn forget(&self, id: u64) {
        let mut state = self.lock();
        let forgotten: Vec<_> = state
            .tickets
            .extract_if(.., |ticket| ticket.id == id)
            .collect();
        drop(state);
        drop(forgotten);
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
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(false);
            }
            state.sleepers.tickets += 1;
            state = wait(&self.told, state, until);
            state.sleepers.tickets -= 1;
        }
    }
}

/// Waits for a condition, or until then.
fn wait<'s>(
    condition: &Condvar,
    state: MutexGuard<'s, State>,
    until: Option<Instant>,
) -> MutexGuard<'s, State> {
    let Some(until) = until else {
        return condition
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
    };
    let left = until.saturating_duration_since(Instant::now());
    let waited = condition.wait_timeout(state, left);
    waited.unwrap_or_else(PoisonError::into_inner).0
}
