//! The commit state: which commits are written, deferred, flushed, durable and visible, and who
//! waits.
//!
//! A commit writes its pages and its record while it holds the writer lock, notes them here, and
//! releases the lock. A *flush* makes durable what was written before it began. Its *target* is the
//! newest commit when it began. Other commits proceed while it runs, and the next flush covers all
//! of them.
//!
//! While a flush runs, small durable commits are *deferred*. Their pages stay in memory, where the
//! next writer builds on them. The next flush leader writes the pages that are still in use and the
//! record of the last deferred commit, as one commit.
//!
//! Invariants:
//!
//! 1. flushed ≤ durable ≤ newest in the file ≤ newest; durable ≤ target ≤ newest. There is one
//!    flush at a time.
//! 2. A record is never written to the slot of the newest commit in the file, of the flushed
//!    commit, or of the target. Of four slots, at least one is left.
//! 3. `unpublished` is the newest commit while readers do not see it. Readers see every durable
//!    commit. They see a commit that is not durable yet only if its durability allows that.
//! 4. Deferred commits are newer than all commits in the file. Their pages are those of the last
//!    deferred state that no commit in the file wrote.
//! 5. The part of the state that all processes know (newest in the file, durable, flushed, target,
//!    slots) equals the shared memory from [`CommitState::lock`] until its guard is dropped. One
//!    process at a time holds that lock.
//! 6. After a failure nothing becomes durable except the target of a flush that was already
//!    running.

mod words;

use crate::{
    Error, Result, TransactionId,
    planted::planted,
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

/// Lazy commits for which no flush has begun.
#[derive(Clone, Copy, Default, Debug)]
struct UnflushedLazyCommits {
    bytes: u64,
    since: Option<Instant>,
}

/// A ticket that waits to be woken.
#[derive(Debug)]
struct WaitingTicket {
    /// Id of the ticket.
    id: u64,
    transaction: TransactionId,
    waker: Waker,
}

/// A thread that waits for its commit to become durable.
#[derive(Debug)]
struct WaitingThread {
    transaction: TransactionId,
    thread: Thread,
}

/// When the background thread has to flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlushDue {
    Now,
    At(Instant),
    Never,
}

/// The failure after which nothing becomes durable.
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

/// The commit state of one open database.
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
    /// The changes for which no flush has begun.
    changes: UnflushedChanges,
    /// Whether a thread of this process flushes or is about to.
    has_flush_leader: bool,
    target: Option<FlushTarget>,
    /// The target of a flush by another process.
    foreign_target: Option<RecordRef>,
    /// The record in each slot; sequence 0 if there is none.
    pub(crate) slots: [RecordRef; SLOT_COUNT as usize],
    failure: Option<Failure>,
    /// Commits up to this one should be flushed at once.
    wanted: TransactionId,
    waiting: UnflushedLazyCommits,
    tickets: Vec<WaitingTicket>,
    sleepers: Vec<WaitingThread>,
    /// Number of threads that wait for tickets.
    ticket_sleepers: usize,
    flusher_sleeps: bool,
    pub(crate) is_stopping: bool,
    /// `None` if no other process can have the database open, or after this process has left.
    shared: Option<Arc<Shared>>,
    /// The shared memory has the same state. This holds until something changes here or another
    /// process takes its lock.
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
            // A process that joins others requests no flush of their commits.
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

    /// The slot for the next record: the oldest one that is not needed for the newest commit, the
    /// last flushed commit, or the flush target.
    pub(crate) fn next_slot(&self) -> u8 {
        let oldest = self.unneeded().min_by_key(|written| written.sequence);
        oldest.expect("three of four slots are spared").slot
    }

    /// Two slots that are not needed. When everything is durable there are two; `None` only if
    /// another program has written to the lock file.
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
            Some(self.flushed.slot).filter(|_| !planted!(SlotOfDurable)),
            target.filter(|_| !planted!(SlotOfTarget)),
        ];
        let is_unneeded = move |written: &&RecordRef| !spared.contains(&Some(written.slot));
        self.slots.iter().filter(is_unneeded)
    }

    /// The newest commit, whether in the file or not.
    pub(crate) fn last(&self) -> TransactionId {
        let unpublished = self.unpublished.as_ref().map(|last| last.transaction());
        unpublished.unwrap_or(self.newest.transaction)
    }

    /// The states that a crash may lead back to, and the newest state.
    pub(crate) fn pins(&self) -> impl Iterator<Item = TransactionId> {
        let target = self.targeted().map(|target| target.transaction);
        let durable = Some(self.durable.transaction);
        let flushed = Some(self.flushed.transaction);
        [
            Some(self.last()),
            Some(self.newest.transaction),
            durable.filter(|_| !planted!(FreeDurable) && !planted!(FreeAcknowledged)),
            flushed.filter(|_| !planted!(FreeDurable)),
            target.filter(|_| !planted!(FreeTarget)),
        ]
        .into_iter()
        .flatten()
    }

    /// The newest commit for which a flush has begun. A target that the journal may take does not
    /// count: for it no flush has begun, as far as is known.
    pub(crate) fn last_target(&self) -> TransactionId {
        let is_entry = self
            .target
            .as_ref()
            .is_some_and(|target| target.may_be_entry);
        let flushing = self.targeted().filter(|_| !is_entry);
        flushing.unwrap_or(self.flushed).transaction
    }

    /// Notes that the target is flushed and not journaled.
    pub(crate) fn note_flushing(&mut self) {
        if let Some(target) = &mut self.target {
            target.may_be_entry = false;
        }
    }

    /// The target of the running flush, by any process.
    fn targeted(&self) -> Option<RecordRef> {
        let own = self.target.as_ref().map(|target| target.commit);
        own.or(self.foreign_target)
    }

    /// Notes a commit whose record is written.
    pub(crate) fn note_written(&mut self, written: RecordRef) {
        self.slots[usize::from(written.slot)] = written;
        self.newest = written;
    }

    /// Notes that the deferred commits taken by [`Self::take_deferred`] are in the file.
    pub(crate) fn note_deferred_written(&mut self) {
        self.has_deferred = self.deferred.is_some();
    }

    /// Notes a lazy commit of `bytes` that waits for a flush. Returns whether the background thread
    /// has to be notified.
    pub(crate) fn note_waiting(&mut self, bytes: u64, limits: FlushLimits) -> bool {
        self.waiting.bytes += bytes;
        if self.waiting.since.is_some() {
            return self.waiting.bytes >= limits.bytes;
        }
        self.waiting.since = Some(Instant::now());
        true
    }

    /// Whether waiting commits have reached the limits.
    pub(crate) fn is_due(&self, limits: FlushLimits) -> bool {
        let UnflushedLazyCommits { bytes, since } = self.waiting;
        since.is_some_and(|since| bytes >= limits.bytes || since.elapsed() >= limits.age)
    }

    /// Requests an immediate flush of all commits up to `transaction`.
    pub(crate) fn want(&mut self, transaction: TransactionId) {
        self.wanted = self.wanted.max(transaction);
    }

    /// Whether another process flushes.
    pub(crate) fn is_flushed_elsewhere(&self) -> bool {
        self.foreign_target.is_some()
    }

    /// Whether a thread of this process flushes or is about to.
    pub(crate) fn is_flushing(&self) -> bool {
        self.has_flush_leader
    }

    /// Makes this thread the only flush leader of this process until [`Self::resign_leader`].
    pub(crate) fn become_leader(&mut self) {
        debug_assert!(!self.has_flush_leader, "one flush at a time");
        self.has_flush_leader = true;
    }

    pub(crate) fn resign_leader(&mut self) {
        self.has_flush_leader = false;
    }

    /// Whether there are deferred commits in memory.
    pub(crate) fn has_deferred(&self) -> bool {
        self.has_deferred
    }

    /// Whether no known commit could still become durable.
    pub(crate) fn is_all_durable(&self) -> bool {
        !self.has_deferred && self.newest.transaction <= self.durable.transaction
    }

    /// Whether waiting commits should be flushed now.
    pub(crate) fn needs_flush(&self, limits: FlushLimits) -> bool {
        self.wanted > self.durable.transaction || self.is_due(limits)
    }

    /// When the background thread should flush.
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

    /// Notes the pages that a commit wrote, and the pages that died in it.
    pub(crate) fn note_changes(&mut self, commit: TransactionId, changes: &CommitChanges) {
        self.changes.note(commit, changes, self.flushed.transaction);
    }

    /// Notes a deferred commit, which includes the earlier deferred ones.
    pub(crate) fn defer(&mut self, deferred: DeferredCommits) {
        self.unpublished = Some(Arc::clone(&deferred.snapshot));
        self.deferred = Some(deferred);
        self.has_deferred = true;
    }

    /// Takes the deferred commits for writing, with the reference to the record that will be
    /// written.
    pub(crate) fn take_deferred(&mut self) -> Option<(DeferredCommits, RecordRef)> {
        let deferred = self.deferred.take()?;
        let written = RecordRef {
            transaction: deferred.snapshot.transaction(),
            slot: self.next_slot(),
            sequence: self.newest.sequence + 1,
        };
        Some((deferred, written))
    }

    /// Begins a flush of all commits up to `commit`, by the flush leader. It ends with
    /// [`Self::end_flush`] or [`Self::end_failed_flush`].
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

    /// Notes that a flush has succeeded, or that a journal entry replaces it. Returns the wakers
    /// that are due.
    pub(crate) fn end_flush(&mut self, target: &FlushTarget, is_flushed: bool) -> Vec<Waker> {
        self.target = None;
        self.durable = target.commit;
        planted!(DurableIsNewest => self.durable = self.newest);
        if is_flushed {
            self.flushed = self.durable;
        }
        let durable = self.durable.transaction;
        self.unpublished
            .take_if(|snapshot| snapshot.transaction() <= durable);
        self.take_due_wakers()
    }

    /// Notes that nothing becomes durable any more, except the target of a running flush.
    pub(crate) fn fail(&mut self, operation: &'static str, error: &io::Error) {
        self.failure
            .get_or_insert_with(|| Failure::new(operation, error));
    }

    /// Like [`Self::fail`], for a failure in another process.
    pub(crate) fn fail_elsewhere(&mut self) {
        let error = io::Error::other("a write or flush by another process failed");
        self.fail("writing", &error);
    }

    /// Notes that the running flush has failed.
    pub(crate) fn end_failed_flush(&mut self) {
        self.target = None;
    }

    /// After a failure, when no flush runs: drops unpublished and deferred commits, and returns the
    /// wakers of all tickets.
    pub(crate) fn give_up(&mut self) -> Vec<Waker> {
        self.unpublished = None;
        self.deferred = None;
        self.has_deferred = false;
        self.tickets.drain(..).map(|ticket| ticket.waker).collect()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The outcome of a commit; `None` if it is not decided yet.
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

/// How often a thread that waits for a ticket checks whether another process has flushed.
const TOLD_APART: Duration = Duration::from_millis(10);

impl LockedCommitState {
    /// Whether any ticket waits for a commit.
    fn has_tickets(&self) -> bool {
        self.ticket_sleepers > 0 || !self.tickets.is_empty()
    }

    /// Whether another process has failed, and tickets or deferred commits remain that cannot
    /// succeed.
    pub(crate) fn is_to_give_up(&self) -> bool {
        let has_some = self.has_deferred || !self.tickets.is_empty();
        has_some
            && self.failure.is_some()
            && !self.has_flush_leader
            && self.foreign_target.is_none()
    }

    /// Takes the wakers of tickets whose commits are durable.
    pub(crate) fn take_due_wakers(&mut self) -> Vec<Waker> {
        let durable = self.durable.transaction;
        let is_due_ticket = |ticket: &mut WaitingTicket| ticket.transaction <= durable;
        let wakers = self.tickets.extract_if(.., is_due_ticket);
        wakers.map(|ticket| ticket.waker).collect()
    }

    /// Notes that the process that flushed has died.
    pub(crate) fn forget_foreign_target(&mut self) {
        self.foreign_target = None;
    }
}

/// The commit state, its lock, and its conditions. A thread is woken only if it has something to
/// do.
#[derive(Debug)]
pub(crate) struct CommitState {
    state: Mutex<LockedCommitState>,
    /// The last durable commit, for threads that were woken because of it.
    durable: AtomicU64,
    /// Threads that wait for tickets sleep here.
    durable_changed: Condvar,
    /// The background thread sleeps here while it has nothing to do.
    work: Condvar,
}

/// The locked commit state, for one thread of one process.
#[derive(Debug)]
pub(crate) struct CommitStateGuard<'p> {
    /// `None` only while the guard is dropped.
    state: Option<MutexGuard<'p, LockedCommitState>>,
    is_shared: bool,
}

impl<'p> CommitStateGuard<'p> {
    /// Takes the shared part of the state from the shared memory.
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

    /// Gives the shared part back, and keeps this process's own part locked.
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

    /// Whether there are deferred commits in memory. Other processes do not know of them.
    pub(crate) fn has_deferred(&self) -> bool {
        self.lock_local().has_deferred()
    }

    /// Waits until a commit is durable, and then returns `None`. Returns the state instead if the
    /// commit cannot become durable, or if the running flush is over and this thread should begin
    /// the next one.
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
            // Acquire: pairs with the store in `notify_flushed`, so that the state that became
            // durable is visible.
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

    /// Waits until there may be work for the background thread, or until `until`.
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

    /// Reports that a flush is over, or that there will be none. Returns the threads to wake: one
    /// that begins the next flush, and those whose wait is over.
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

    /// Notifies the background thread that there may be work.
    pub(crate) fn notify_flusher(&self, state: &LockedCommitState) {
        if state.flusher_sleeps {
            self.work.notify_one();
        }
    }

    /// Whether a commit is durable, or the error because of which it cannot become durable. `None`
    /// if neither is known yet.
    pub(crate) fn outcome(&self, transaction: TransactionId) -> Option<Result<()>> {
        self.lock().outcome(transaction)
    }

    /// Like [`Self::outcome`], but registers the waker of ticket `id` if the outcome is not known.
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
                // The background thread checks periodically what other processes have flushed.
                self.notify_flusher(&state);
                None
            }
        };
        // Dropping a waker may run any code, so no lock is held.
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

    /// Waits up to `limit` until a commit is durable, and returns whether it is. Does not flush
    /// itself.
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

    /// Waits for a condition, or until `until`. With waiting tickets it wakes up periodically,
    /// because other processes do not notify this one.
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

    /// Stops sharing the state with other processes, and calls `end`, under the lock.
    pub(crate) fn leave(&self, end: impl FnOnce()) {
        self.lock_local().shared = None;
        end();
    }
}
