//! How far commits have come: which are written, which are on the disk, and who waits for that.
//!
//! A commit writes its pages and its record while it has the writer's turn, notes that here, and
//! gives the turn on. A *flush* makes durable what was written before it began; its *target* is
//! the newest commit of that moment. While it runs others commit, and the next flush is for all of
//! them together.
//!
//! While a flush runs, durable commits that are small are *deferred*: their pages stay in memory,
//! for the next writer to build on, and whoever flushes next writes what is left of all of them, and
//! the record of the last, as one.
//!
//! Invariants:
//!
//! 1. flushed ≤ durable ≤ newest in the file ≤ newest, durable ≤ target ≤ newest, and there is one flush at a
//!    time.
//! 2. A record is never written to the slot of the newest in the file, of the flushed, or of the
//!    target. That leaves one of four.
//! 3. `unpublished` is the newest commit as long as readers do not see it. They see each durable
//!    commit, and each that did not ask to be seen only when it is durable.
//! 4. What is deferred was committed behind all that is in the file, and its pages are those of the
//!    last of its commits that no earlier one wrote.
//! 5. What all processes know of commits (the newest in the file, the durable, the target, the slots) is that of
//!    their shared memory from [`CommitState::lock`] on until the guard goes; one process at a time has it.
//! 6. Behind a failure nothing becomes durable any more but the target of a flush that was running.

mod words;

use crate::{
    Error, Result, TransactionId,
    planted::{Planted, is_planted},
    record::{FlushLimits, SLOT_COUNT},
};
use crate::{
    commit::{
        deferred::DeferredCommits,
        flush_target::FlushTarget,
        journal::changes::{CommitChanges, JournalInput, UnflushedChanges},
    },
    read::snapshot::Snapshot,
    record::record_ref::RecordRef,
    share::attachment::Shared,
    sync::lock,
};
use std::{
    io,
    ops::{Deref, DerefMut},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
    task::Waker,
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// Lazy commits that no flush was begun for.
#[derive(Clone, Copy, Default, Debug)]
struct UnflushedLazyCommits {
    bytes: u64,
    since: Option<Instant>,
}

/// A ticket that is to be told.
#[derive(Debug)]
struct WaitingTicket {
    /// Of the ticket.
    id: u64,
    transaction: TransactionId,
    waker: Waker,
}

/// A thread whose commit is to become durable.
#[derive(Debug)]
struct WaitingThread {
    transaction: TransactionId,
    thread: Thread,
}

/// When the flusher has something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlushDue {
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
pub(crate) struct LockedCommitState {
    /// The newest commit in the file.
    pub(crate) newest: RecordRef,
    deferred: Option<DeferredCommits>,
    /// Whether there are deferred commits that are not in the file.
    has_deferred: bool,
    pub(crate) unpublished: Option<Arc<Snapshot>>,
    pub(crate) durable: RecordRef,
    /// The last commit whose pages are all on the disk, by a flush.
    pub(crate) flushed: RecordRef,
    /// What the newest commit has that no flush was begun for.
    changes: UnflushedChanges,
    /// Whether a thread of this process flushes, or is about to.
    has_flush_leader: bool,
    target: Option<FlushTarget>,
    /// What another process is making durable.
    foreign_target: Option<RecordRef>,
    /// What stands in each slot; sequence 0 where there is no record.
    pub(crate) slots: [RecordRef; SLOT_COUNT as usize],
    failure: Option<Failure>,
    /// Commits up to this one are to be flushed at once.
    wanted: TransactionId,
    waiting: UnflushedLazyCommits,
    tickets: Vec<WaitingTicket>,
    sleepers: Vec<WaitingThread>,
    /// Threads that wait for tickets.
    ticket_sleepers: usize,
    flusher_sleeps: bool,
    pub(crate) is_stopping: bool,
    /// Absent where no other process can have the database open, and when this one has left.
    shared: Option<Arc<Shared>>,
    /// Nothing was changed since the shared memory had the same; which stays so until another process has its lock.
    pub(crate) is_given_back: bool,
}

impl LockedCommitState {
    pub(crate) fn new(
        newest: RecordRef,
        sequences: [u64; SLOT_COUNT as usize],
        durable_slot: u8,
    ) -> Self {
        let mut slots = [newest; SLOT_COUNT as usize];
        for (index, (slot, sequence)) in slots.iter_mut().zip(sequences).enumerate() {
            (slot.slot, slot.sequence) = (index as u8, sequence);
        }
        let durable = RecordRef {
            slot: durable_slot,
            ..newest
        };
        Self {
            newest,
            flushed: durable,
            changes: UnflushedChanges::behind(newest.transaction),
            deferred: None,
            has_deferred: false,
            unpublished: None,
            durable,
            has_flush_leader: false,
            target: None,
            foreign_target: None,
            slots,
            failure: None,
            // Who joins others asks for nothing that they have committed.
            wanted: TransactionId(0),
            waiting: UnflushedLazyCommits::default(),
            tickets: Vec::new(),
            sleepers: Vec::new(),
            ticket_sleepers: 0,
            flusher_sleeps: false,
            is_stopping: false,
            shared: None,
            is_given_back: false,
        }
    }

    /// The slot that the next record goes to: the oldest that is needed neither for the newest
    /// commit, nor for the last durable one, nor for the one that is becoming durable.
    pub(crate) fn next_slot(&self) -> u8 {
        let oldest = self.unneeded().min_by_key(|written| written.sequence);
        oldest.expect("three of four slots are spared").slot
    }

    /// Two slots that are not needed, which there are where everything is durable; `None` only if somebody has written to the lock file.
    pub(crate) fn spare_slots(&self) -> Option<[u8; 2]> {
        let mut unneeded: Vec<_> = self.unneeded().collect();
        unneeded.sort_unstable_by_key(|written| written.sequence);
        match unneeded[..] {
            [one, other, ..] => Some([one.slot, other.slot]),
            _ => None,
        }
    }

    fn unneeded(&self) -> impl Iterator<Item = &RecordRef> {
        let target = self.targeted().map(|target| target.slot);
        let spared = [
            Some(self.newest.slot),
            Some(self.flushed.slot).filter(|_| !is_planted(Planted::SlotOfDurable)),
            target.filter(|_| !is_planted(Planted::SlotOfTarget)),
        ];
        let is_unneeded = move |written: &&RecordRef| !spared.contains(&Some(written.slot));
        self.slots.iter().filter(is_unneeded)
    }

    /// The newest commit, in the file or not.
    pub(crate) fn last(&self) -> TransactionId {
        let unpublished = self.unpublished.as_ref().map(|last| last.transaction());
        unpublished.unwrap_or(self.newest.transaction)
    }

    /// The states that a crash may lead back to, and the newest one.
    pub(crate) fn pins(&self) -> impl Iterator<Item = TransactionId> {
        let target = self.targeted().map(|target| target.transaction);
        let durable = Some(self.durable.transaction);
        let flushed = Some(self.flushed.transaction);
        [
            Some(self.last()),
            Some(self.newest.transaction),
            durable.filter(|_| {
                !is_planted(Planted::FreeDurable) && !is_planted(Planted::FreeAcknowledged)
            }),
            flushed.filter(|_| !is_planted(Planted::FreeDurable)),
            target.filter(|_| !is_planted(Planted::FreeTarget)),
        ]
        .into_iter()
        .flatten()
    }

    /// The newest commit that a flush was begun for. For one that the journal may take none was, as far as is known.
    pub(crate) fn last_target(&self) -> TransactionId {
        let is_entry = self
            .target
            .as_ref()
            .is_some_and(|target| target.may_be_entry);
        let flushing = self.targeted().filter(|_| !is_entry);
        flushing.unwrap_or(self.flushed).transaction
    }

    /// Notes that the journal does not take the target: it is flushed.
    pub(crate) fn note_flushing(&mut self) {
        if let Some(target) = &mut self.target {
            target.may_be_entry = false;
        }
    }

    /// What a flush is making durable, by whichever process.
    fn targeted(&self) -> Option<RecordRef> {
        let own = self.target.as_ref().map(|target| target.commit);
        own.or(self.foreign_target)
    }

    /// Notes a commit whose record was written.
    pub(crate) fn note_written(&mut self, written: RecordRef) {
        self.slots[usize::from(written.slot)] = written;
        self.newest = written;
    }

    /// Notes that what was taken to be written is in the file.
    pub(crate) fn note_deferred_written(&mut self) {
        self.has_deferred = self.deferred.is_some();
    }

    /// Notes that a commit of so many bytes waits, and that nobody has asked for it to be flushed.
    /// Says whether that is news to the flusher.
    pub(crate) fn note_waiting(&mut self, bytes: u64, limits: FlushLimits) -> bool {
        self.waiting.bytes += bytes;
        if self.waiting.since.is_some() {
            return self.waiting.bytes >= limits.bytes;
        }
        self.waiting.since = Some(Instant::now());
        true
    }

    /// Whether commits wait that have reached the limits.
    pub(crate) fn is_due(&self, limits: FlushLimits) -> bool {
        let UnflushedLazyCommits { bytes, since } = self.waiting;
        since.is_some_and(|since| bytes >= limits.bytes || since.elapsed() >= limits.age)
    }

    /// Asks for a flush at once of all commits up to `transaction`.
    pub(crate) fn want(&mut self, transaction: TransactionId) {
        self.wanted = self.wanted.max(transaction);
    }

    /// Whether another process flushes.
    pub(crate) fn is_flushed_elsewhere(&self) -> bool {
        self.foreign_target.is_some()
    }

    /// Whether somebody of this process flushes, or is about to.
    pub(crate) fn is_flushing(&self) -> bool {
        self.has_flush_leader
    }

    /// Has nobody else of this process flush until [`Self::resign_leader`].
    pub(crate) fn become_leader(&mut self) {
        debug_assert!(!self.has_flush_leader, "one flush at a time");
        self.has_flush_leader = true;
    }

    pub(crate) fn resign_leader(&mut self) {
        self.has_flush_leader = false;
    }

    /// Whether commits wait in memory for a flush that writes them.
    pub(crate) fn has_deferred(&self) -> bool {
        self.has_deferred
    }

    /// Whether no commit is known that could still become durable.
    pub(crate) fn is_all_durable(&self) -> bool {
        !self.has_deferred && self.newest.transaction <= self.durable.transaction
    }

    /// Whether commits wait that are to be flushed now.
    pub(crate) fn needs_flush(&self, limits: FlushLimits) -> bool {
        self.wanted > self.durable.transaction || self.is_due(limits)
    }

    /// When the flusher is to flush.
    pub(crate) fn due(&self, limits: FlushLimits) -> FlushDue {
        if self.failure.is_some() || self.is_flushing() {
            return FlushDue::Never;
        }
        if self.needs_flush(limits) {
            return FlushDue::Now;
        }
        let due_at = self
            .waiting
            .since
            .and_then(|since| since.checked_add(limits.age));
        due_at.map_or(FlushDue::Never, FlushDue::At)
    }

    /// Notes what a commit wrote, and what died in it.
    pub(crate) fn note_changes(&mut self, commit: TransactionId, changes: &CommitChanges) {
        self.changes.note(commit, changes, self.flushed.transaction);
    }

    /// Notes a commit that is to be written later, with those before it that are.
    pub(crate) fn defer(&mut self, deferred: DeferredCommits) {
        self.unpublished = Some(Arc::clone(&deferred.snapshot));
        self.deferred = Some(deferred);
        self.has_deferred = true;
    }

    /// What is deferred, to be written now, and what stands in the file then.
    pub(crate) fn take_deferred(&mut self) -> Option<(DeferredCommits, RecordRef)> {
        let deferred = self.deferred.take()?;
        let written = RecordRef {
            transaction: deferred.snapshot.transaction(),
            slot: self.next_slot(),
            sequence: self.newest.sequence + 1,
        };
        Some((deferred, written))
    }

    /// Begins a flush of all up to `commit`, by who leads, until [`Self::end_flush`] or
    /// [`Self::end_failed_flush`].
    pub(crate) fn begin_flush(&mut self, commit: RecordRef) -> FlushTarget {
        debug_assert!(self.target.is_none(), "one flush at a time");
        let changes = self.changes.take(commit.transaction);
        let target = FlushTarget {
            commit,
            unpublished: self
                .unpublished
                .clone()
                .filter(|snapshot| snapshot.transaction() <= commit.transaction),
            durable: self.durable.transaction,
            flushed: self.flushed,
            may_be_entry: changes.as_ref().is_some_and(JournalInput::has_journal),
            changes: None,
        };
        self.waiting = UnflushedLazyCommits::default();
        self.target = Some(target.clone());
        FlushTarget { changes, ..target }
    }

    /// Notes that a flush has succeeded, or that an entry of the journal stands for it; returns who is to be told.
    pub(crate) fn end_flush(&mut self, target: &FlushTarget, is_flushed: bool) -> Vec<Waker> {
        self.target = None;
        self.durable = match is_planted(Planted::DurableIsNewest) {
            true => self.newest,
            false => target.commit,
        };
        if is_flushed {
            self.flushed = self.durable;
        }
        let durable = self.durable.transaction;
        self.unpublished
            .take_if(|snapshot| snapshot.transaction() <= durable);
        self.take_due_wakers()
    }

    /// Notes that nothing becomes durable any more, but the target of a flush that is running.
    pub(crate) fn fail(&mut self, operation: &'static str, error: &io::Error) {
        self.failure
            .get_or_insert_with(|| Failure::new(operation, error));
    }

    /// The same, for what another process was told.
    pub(crate) fn fail_elsewhere(&mut self) {
        let error = io::Error::other("a write or flush by another process failed");
        self.fail("writing", &error);
    }

    /// Notes that the flush under way has failed.
    pub(crate) fn end_failed_flush(&mut self) {
        self.target = None;
    }

    /// Behind a failure, when no flush runs any more: all tickets, to be told.
    pub(crate) fn give_up(&mut self) -> Vec<Waker> {
        self.unpublished = None;
        self.deferred = None;
        self.has_deferred = false;
        self.tickets.drain(..).map(|ticket| ticket.waker).collect()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// What became of a commit; `None` if it is not decided yet.
    pub(crate) fn outcome(&self, transaction: TransactionId) -> Option<Result<()>> {
        if transaction <= self.durable.transaction {
            return Some(Ok(()));
        }
        let is_becoming = |target: RecordRef| transaction <= target.transaction;
        if self.targeted().is_some_and(is_becoming) {
            return None;
        }
        self.failure.as_ref().map(|failure| Err(failure.to_error()))
    }
}

/// So often who waits for a ticket looks whether another process has flushed.
const TOLD_APART: Duration = Duration::from_millis(10);

impl LockedCommitState {
    /// Whether somebody is to be told of a commit's becoming durable.
    fn has_tickets(&self) -> bool {
        self.ticket_sleepers > 0 || !self.tickets.is_empty()
    }

    /// Whether something failed elsewhere, and there are tickets or deferred commits that nothing becomes of any more.
    pub(crate) fn is_to_give_up(&self) -> bool {
        let has_some = self.has_deferred || !self.tickets.is_empty();
        has_some
            && self.failure.is_some()
            && !self.has_flush_leader
            && self.foreign_target.is_none()
    }

    /// Tickets whose commits another process has made durable.
    pub(crate) fn take_due_wakers(&mut self) -> Vec<Waker> {
        let durable = self.durable.transaction;
        let is_due_ticket = |ticket: &mut WaitingTicket| ticket.transaction <= durable;
        let wakers = self.tickets.extract_if(.., is_due_ticket);
        wakers.map(|ticket| ticket.waker).collect()
    }

    /// Notes that who flushed has died.
    pub(crate) fn forget_foreign_target(&mut self) {
        self.foreign_target = None;
    }
}

/// The state, and how to wait for what. Nobody is woken who has nothing to do.
#[derive(Debug)]
pub(crate) struct CommitState {
    state: Mutex<LockedCommitState>,
    /// The last durable commit, for those who were woken because of it.
    durable: AtomicU64,
    /// Threads with tickets.
    durable_changed: Condvar,
    /// The flusher may have something to do.
    work: Condvar,
}

/// The state, for one thread of one process.
#[derive(Debug)]
pub(crate) struct CommitStateGuard<'p> {
    /// Absent only while it goes.
    state: Option<MutexGuard<'p, LockedCommitState>>,
    is_shared: bool,
}

impl<'p> CommitStateGuard<'p> {
    /// Adds what processes share.
    fn new(mut state: MutexGuard<'p, LockedCommitState>) -> Self {
        let shared = state.shared.take();
        let is_shared = shared
            .as_ref()
            .is_some_and(|shared| shared.take_state(&mut state));
        state.shared = shared;
        Self {
            is_shared,
            state: Some(state),
        }
    }

    /// Gives back what processes share, and keeps what is this one's.
    fn into_local(mut self) -> MutexGuard<'p, LockedCommitState> {
        self.give_back();
        self.state.take().expect("the state is here until it goes")
    }

    fn give_back(&mut self) {
        if std::mem::take(&mut self.is_shared)
            && let Some(state) = &mut self.state
            && let Some(shared) = state.shared.take()
        {
            shared.give_back(state);
            state.shared = Some(shared);
        }
    }
}

impl Deref for CommitStateGuard<'_> {
    type Target = LockedCommitState;

    fn deref(&self) -> &LockedCommitState {
        self.state
            .as_ref()
            .expect("the state is here until it goes")
    }
}

impl DerefMut for CommitStateGuard<'_> {
    fn deref_mut(&mut self) -> &mut LockedCommitState {
        let state = self.state.as_mut();
        let state = state.expect("the state is here until it goes");
        state.is_given_back = false;
        state
    }
}

impl Drop for CommitStateGuard<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl CommitState {
    pub(crate) fn new(mut state: LockedCommitState, shared: Option<Arc<Shared>>) -> Self {
        state.shared = shared;
        Self {
            durable: AtomicU64::new(state.durable.transaction.0),
            state: Mutex::new(state),
            durable_changed: Condvar::new(),
            work: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> CommitStateGuard<'_> {
        CommitStateGuard::new(self.lock_local())
    }

    fn lock_local(&self) -> MutexGuard<'_, LockedCommitState> {
        lock(&self.state)
    }

    /// Whether commits wait in memory for a flush that writes them, which no other process knows of.
    pub(crate) fn has_deferred(&self) -> bool {
        self.lock_local().has_deferred()
    }

    /// Waits until a commit is durable; or, which returns the state, until it cannot become so or the
    /// flush under way is over and it is this thread's to begin the next one.
    pub(crate) fn wait_flushed<'s>(
        &'s self,
        mut state: CommitStateGuard<'s>,
        transaction: TransactionId,
    ) -> Option<CommitStateGuard<'s>> {
        let thread = thread::current();
        let id = thread.id();
        state.sleepers.push(WaitingThread {
            transaction,
            thread,
        });
        drop(state);
        loop {
            thread::park();
            // Acquire: pairs with the store in `notify_flushed`, so that the state that became durable is
            // seen.
            if self.durable.load(Acquire) >= transaction.0 {
                return None;
            }
            let state = self.lock();
            if state
                .sleepers
                .iter()
                .all(|sleeper| sleeper.thread.id() != id)
            {
                return Some(state);
            }
        }
    }

    /// Waits until there may be work for the flusher, or until then.
    pub(crate) fn wait_work<'s>(
        &'s self,
        mut state: CommitStateGuard<'s>,
        until: Option<Instant>,
    ) -> CommitStateGuard<'s> {
        state.flusher_sleeps = true;
        let mut state = self.wait_for(&self.work, state, until);
        state.flusher_sleeps = false;
        state
    }

    /// Says that a flush is over, or that there will be none. Returns who is to be woken: one of those
    /// who wait for the next flush, to begin it, and those whose wait is over.
    pub(crate) fn notify_flushed(&self, state: &mut LockedCommitState) -> Vec<Thread> {
        let (durable, has_failed) = (state.durable.transaction, state.has_failed());
        let is_over = |sleeper: &mut WaitingThread| has_failed || sleeper.transaction <= durable;
        let mut over: Vec<_> = state.sleepers.extract_if(.., is_over).collect();
        let next = (!state.sleepers.is_empty()).then(|| state.sleepers.swap_remove(0));
        // Release: see `wait_flushed`.
        self.durable.store(durable.0, Release);
        if state.ticket_sleepers > 0 {
            self.durable_changed.notify_all();
        }
        self.notify_flusher(state);
        let woken = next.into_iter().chain(over.drain(..));
        woken.map(|sleeper| sleeper.thread).collect()
    }

    /// Tells the flusher that there may be work.
    pub(crate) fn notify_flusher(&self, state: &LockedCommitState) {
        if state.flusher_sleeps {
            self.work.notify_one();
        }
    }

    /// Whether a commit is durable, or the error for which it cannot become so; `None` if neither is
    /// known yet.
    pub(crate) fn outcome(&self, transaction: TransactionId) -> Option<Result<()>> {
        self.lock().outcome(transaction)
    }

    /// The same, and has the ticket `id` told when it is known.
    pub(crate) fn poll(
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
                state.tickets.push(WaitingTicket {
                    id,
                    transaction,
                    waker,
                });
                // It looks now and then what other processes have flushed.
                self.notify_flusher(&state);
                None
            }
        };
        // What dropping a waker does is not known, so no lock is held.
        drop(state);
        drop(replaced);
        outcome
    }

    /// Forgets the ticket `id`.
    pub(crate) fn forget(&self, id: u64) {
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
    pub(crate) fn wait(&self, transaction: TransactionId, limit: Option<Duration>) -> Result<bool> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        loop {
            if let Some(outcome) = state.outcome(transaction) {
                return outcome.map(|()| true);
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(false);
            }
            state.ticket_sleepers += 1;
            state = self.wait_for(&self.durable_changed, state, until);
            state.ticket_sleepers -= 1;
        }
    }

    /// Waits for a condition, or until then; not so long that it matters that other processes tell nobody.
    fn wait_for<'s>(
        &'s self,
        condition: &Condvar,
        state: CommitStateGuard<'s>,
        until: Option<Instant>,
    ) -> CommitStateGuard<'s> {
        let is_shared = state.is_shared && state.has_tickets();
        let state = state.into_local();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = match (left, is_shared) {
            (left, true) => Some(left.unwrap_or(TOLD_APART).min(TOLD_APART)),
            (left, false) => left,
        };
        let state = match left {
            None => condition
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner),
            Some(left) => {
                let waited = condition.wait_timeout(state, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        CommitStateGuard::new(state)
    }

    /// Has nothing more to do with other processes: ends what is shared with `end`, while nobody looks.
    pub(crate) fn leave(&self, end: impl FnOnce()) {
        self.lock_local().shared = None;
        end();
    }
}
