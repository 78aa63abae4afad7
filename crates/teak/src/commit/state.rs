//! The commit state: which commits are written, deferred, flushed, durable and visible, and
//! the threads and tickets that wait for them. Every change of it is a method here or of one of its
//! parts.
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
//! | part | what it knows |
//! |---|---|
//! | [`records`] | the records in the slots; which is newest, durable, flushed, target |
//! | [`deferred`](crate::commit::deferred) | deferred commits that are not in the file |
//! | [`requests`] | what the background thread is asked to flush |
//! | [`waiters`] | threads and tickets that wait |
//! | [`failure`] | the first failure |
//! | [`shared_copy`] | the copy of the records in shared memory |
//! | [`invariants`] | the checks of the invariants below |
//!
//! Invariants, besides those of the parts:
//!
//! 1. A flush has a leader: there is a target of this process only while a thread of it leads.
//! 2. `unpublished` is the newest commit while readers do not see it. Readers see every durable
//!    commit. They see a commit that is not durable yet only if its durability allows that.
//! 3. Deferred commits are newer than all commits in the file, and `unpublished` is the last of
//!    them.
//! 4. The known records equal the copy in shared memory from [`CommitState::lock_shared`] to
//!    [`CommitState::unlock_shared`].
//! 5. After a failure nothing becomes durable except the target of a flush that was already
//!    running.
//!
//! Each transition of a flush asserts them, and debug builds also after each commit. Where other
//! processes share the records, their numbers are checked when they are loaded instead: no
//! assertion depends on shared memory.

pub(crate) mod ending;
pub(crate) mod failure;
mod invariants;
pub(crate) mod records;
pub(crate) mod requests;
mod shared_copy;
pub(crate) mod waiters;
mod words;

use crate::{
    Result, TransactionId,
    commit::{
        deferred::{DeferredCommits, DeferredQueue, TakenDeferred},
        flush_target::FlushTarget,
        journal::changes::{CommitChanges, JournalInput, UnflushedChanges},
    },
    planted::planted,
    read::snapshot::Snapshot,
    record::{FlushLimits, SLOT_COUNT, record_ref::RecordRef},
    share::attachment::Shared,
};
use failure::CommitFailure;
use records::KnownRecords;
use requests::{FlushDue, FlushRequests};
use std::{sync::Arc, task::Waker, thread::Thread};
use waiters::Waiters;

/// How this process shares its known records.
#[derive(Default, Debug)]
struct SharedCopy {
    /// `None` if no other process can have the database open, or after this process has left.
    shared: Option<Arc<Shared>>,
    /// The shared memory has the same records. This holds until something changes here or another
    /// process takes its lock.
    is_current: bool,
    /// The numbers in shared memory contradict each other.
    is_refused: bool,
}

/// The commit state of one open database.
#[derive(Debug)]
pub(crate) struct CommitState {
    records: KnownRecords,
    deferred: DeferredQueue,
    unpublished: Option<Arc<Snapshot>>,
    /// The changes for which no flush has begun.
    changes: UnflushedChanges,
    requests: FlushRequests,
    pub(crate) waiters: Waiters,
    failure: Option<CommitFailure>,
    /// Whether a thread of this process flushes or is about to.
    has_flush_leader: bool,
    is_stopping: bool,
    /// Whether closing has left lazy commits in the system's cache.
    has_left_lazy: bool,
    copy: SharedCopy,
}

impl CommitState {
    /// Everything up to `newest` is durable; `sequences` are those of the records in the slots.
    pub(crate) fn new(
        newest: RecordRef,
        sequences: [u64; SLOT_COUNT as usize],
        flushed_slot: u8,
    ) -> Self {
        Self {
            records: KnownRecords::new(newest, sequences, flushed_slot),
            deferred: DeferredQueue::default(),
            unpublished: None,
            changes: UnflushedChanges::since(newest.transaction),
            requests: FlushRequests::none(),
            waiters: Waiters::default(),
            failure: None,
            has_flush_leader: false,
            is_stopping: false,
            has_left_lazy: false,
            copy: SharedCopy::default(),
        }
    }

    pub(crate) fn set_shared(&mut self, shared: Option<Arc<Shared>>) {
        self.copy = SharedCopy {
            shared,
            ..SharedCopy::default()
        };
    }

    /// Notes that this process may change the state, so the copy in shared memory is out of date.
    pub(crate) fn note_changed(&mut self) {
        self.copy.is_current = false;
    }
}

/// Queries.
impl CommitState {
    /// The newest commit in the file.
    pub(crate) fn newest(&self) -> RecordRef {
        self.records.newest
    }

    /// The last durable commit.
    pub(crate) fn durable(&self) -> RecordRef {
        self.records.durable
    }

    /// The last commit whose pages are all on the disk, by a flush.
    pub(crate) fn flushed(&self) -> RecordRef {
        self.records.flushed
    }

    /// The newest commit, if readers do not see it.
    pub(crate) fn unpublished(&self) -> Option<&Arc<Snapshot>> {
        self.unpublished.as_ref()
    }

    /// The newest commit, whether in the file or not.
    pub(crate) fn last(&self) -> TransactionId {
        let unpublished = self.unpublished.as_ref().map(|last| last.transaction());
        unpublished.unwrap_or(self.records.newest.transaction)
    }

    /// The slot for the next record.
    pub(crate) fn next_slot(&self) -> u8 {
        self.records.next_slot()
    }

    /// Two slots that are not needed; `None` only if another program has written to the lock file.
    pub(crate) fn spare_slots(&self) -> Option<[u8; 2]> {
        self.records.spare_slots()
    }

    /// Whether a record may be written. It always may, unless another program has written to the
    /// lock file since its slot and sequence were chosen.
    pub(crate) fn may_write(&self, written: RecordRef) -> bool {
        self.records.may_overwrite(written.slot) && written.sequence > self.records.newest.sequence
    }

    /// Whether the record of deferred commits may be written. It always may, unless another program
    /// has written to the lock file since they were taken.
    pub(crate) fn may_write_deferred(&self, written: RecordRef) -> bool {
        let is_free = self.records.may_overwrite(written.slot);
        (is_free || self.own_target() == Some(written))
            && written.sequence > self.records.newest.sequence
    }

    /// The records in the slots.
    pub(crate) fn slots(&self) -> &[RecordRef] {
        &self.records.slots
    }

    /// The states that a crash may lead back to, and the newest state.
    pub(crate) fn pins(&self) -> impl Iterator<Item = TransactionId> + use<> {
        [self.last()].into_iter().chain(self.records.pins())
    }

    /// The newest commit for which a flush has begun.
    pub(crate) fn last_target(&self) -> TransactionId {
        self.records.last_target()
    }

    /// Whether another process flushes.
    pub(crate) fn is_flushed_elsewhere(&self) -> bool {
        self.records.has_foreign_target()
    }

    /// Whether a thread of this process flushes or is about to.
    pub(crate) fn is_flushing(&self) -> bool {
        self.has_flush_leader
    }

    /// The target of the running flush of this process.
    pub(crate) fn own_target(&self) -> Option<RecordRef> {
        self.records.own_target()
    }

    /// Whether there are deferred commits in memory.
    pub(crate) fn has_deferred(&self) -> bool {
        self.deferred.has_unwritten()
    }

    /// Whether no known commit could still become durable.
    pub(crate) fn is_all_durable(&self) -> bool {
        !self.has_deferred() && self.records.newest.transaction <= self.records.durable.transaction
    }

    /// Whether some commits are not durable and none of them has to be: all are lazy, and no ticket
    /// waits for one. Readers see commits up to `visible`. The caller of a newer one still waits
    /// for it.
    pub(crate) fn has_only_lazy(&self, visible: TransactionId) -> bool {
        let (newest, durable) = (
            self.records.newest.transaction,
            self.records.durable.transaction,
        );
        let has_ticket = self.waiters.has_tickets() || self.requests.wants_flush(durable);
        let is_awaited = has_ticket || self.has_deferred() || self.last() > visible;
        newest > durable && !is_awaited && !self.has_failed()
    }

    /// Whether closing has left lazy commits that are still not durable.
    pub(crate) fn has_left_lazy(&self) -> bool {
        self.has_left_lazy && !self.is_all_durable()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// The outcome of a commit; `None` if it is not decided yet.
    pub(crate) fn outcome(&self, transaction: TransactionId) -> Option<Result<()>> {
        if transaction <= self.records.durable.transaction {
            return Some(Ok(()));
        }
        let is_becoming = |target: RecordRef| transaction <= target.transaction;
        if self.records.target().is_some_and(is_becoming) {
            return None;
        }
        self.failure.as_ref().map(|failure| Err(failure.to_error()))
    }

    /// Whether lazy commits have reached the limits.
    pub(crate) fn is_due(&self, limits: FlushLimits) -> bool {
        self.requests.is_due(limits)
    }

    /// Whether requested commits should be flushed now.
    pub(crate) fn needs_flush(&self, limits: FlushLimits) -> bool {
        self.requests
            .needs_flush(self.records.durable.transaction, limits)
    }

    /// When the background thread should flush.
    pub(crate) fn due(&self, limits: FlushLimits) -> FlushDue {
        if self.failure.is_some() || self.is_flushing() {
            return FlushDue::Never;
        }
        self.requests.due(self.records.durable.transaction, limits)
    }

    /// Whether another process has failed, and tickets or deferred commits remain that cannot
    /// succeed.
    pub(crate) fn is_to_give_up(&self) -> bool {
        let has_some = self.has_deferred() || self.waiters.has_wakers();
        has_some
            && self.failure.is_some()
            && !self.has_flush_leader
            && !self.records.has_foreign_target()
    }
}

/// Transitions of a commit.
impl CommitState {
    /// Notes a commit whose record is written, or may be.
    pub(crate) fn note_written(&mut self, written: RecordRef) {
        debug_assert!(
            !self.is_own() || self.records.may_overwrite(written.slot),
            "a record is not written over the newest, the flushed or the target record"
        );
        self.records.note_written(written);
    }

    /// Notes the pages that a commit wrote, and the pages that died in it.
    pub(crate) fn note_changes(&mut self, commit: TransactionId, changes: &CommitChanges) {
        let flushed = self.records.flushed.transaction;
        debug_assert!(
            !self.is_own() || self.changes.until() < commit || planted!(SkipDeferred),
            "changes are noted in the order of their commits"
        );
        self.changes.note(commit, changes, flushed);
    }

    /// Notes that readers do not see the newest commit yet.
    pub(crate) fn set_unpublished(&mut self, newest: Arc<Snapshot>) {
        self.unpublished = Some(newest);
        self.check_in_debug();
    }

    /// Notes that readers see the newest commit.
    pub(crate) fn note_published(&mut self) {
        self.unpublished = None;
        self.check_in_debug();
    }

    /// Forgets the unpublished commit if it is durable or not the newest any more: another process
    /// has published it, or a later one.
    fn forget_published(&mut self) {
        let (newest, durable) = (
            self.records.newest.transaction,
            self.records.durable.transaction,
        );
        let is_past = |snapshot: &mut Arc<Snapshot>| {
            snapshot.transaction() <= durable || snapshot.transaction() < newest
        };
        self.unpublished.take_if(is_past);
    }

    /// Notes a deferred commit, which includes the earlier deferred ones.
    pub(crate) fn defer(&mut self, deferred: DeferredCommits) {
        debug_assert!(
            !self.has_failed(),
            "no commit is deferred after a failure: no flush would write it"
        );
        self.unpublished = Some(Arc::clone(&deferred.snapshot));
        self.deferred.add(deferred);
        self.check_in_debug();
    }

    /// Requests an immediate flush of all commits up to `transaction`.
    pub(crate) fn want(&mut self, transaction: TransactionId) {
        self.requests.want(transaction);
    }

    /// Notes a lazy commit of `bytes`. Returns whether the background thread has to be notified.
    pub(crate) fn note_lazy(&mut self, bytes: u64, limits: FlushLimits) -> bool {
        self.requests.note_lazy(bytes, limits)
    }

    /// Takes the deferred commits to write them, if there are any.
    pub(crate) fn take_deferred(&mut self) -> Option<TakenDeferred> {
        let (newest, slot) = (self.records.newest, self.records.next_slot());
        self.deferred.take(newest, slot)
    }

    /// Notes that the record of deferred commits is written, or may be.
    pub(crate) fn note_deferred_written(&mut self, written: RecordRef) {
        assert!(
            self.has_deferred() || self.has_failed(),
            "taken commits count as unwritten until they are written or given up"
        );
        assert!(
            self.may_write_deferred(written),
            "deferred commits are written to a slot that nothing else needs"
        );
        self.records.note_written(written);
        self.deferred.note_written();
    }
}

/// Transitions of a flush.
impl CommitState {
    /// Makes this thread the only flush leader of this process until [`Self::resign_leader`].
    pub(crate) fn become_leader(&mut self) {
        assert!(!self.has_flush_leader, "one flush at a time");
        self.has_flush_leader = true;
    }

    pub(crate) fn resign_leader(&mut self) {
        assert!(self.has_flush_leader, "only a leader resigns");
        assert!(
            !self.records.has_own_target(),
            "a leader ends its flush before it resigns"
        );
        self.has_flush_leader = false;
        self.check_in_debug();
    }

    /// Begins a flush of all commits up to `commit`, by the flush leader. It ends with
    /// [`Self::complete_flush`] or [`Self::fail_flush`].
    pub(crate) fn begin_flush(&mut self, commit: RecordRef) -> FlushTarget {
        assert!(self.has_flush_leader, "a leader begins a flush");
        assert!(!self.has_failed(), "no flush begins after a failure");
        let changes = self.changes.take(commit.transaction);
        let may_be_entry = changes.as_ref().is_some_and(JournalInput::has_journal);
        self.records.begin_flush(commit, may_be_entry);
        self.requests.forget_lazy();
        let is_included = |snapshot: &Arc<Snapshot>| snapshot.transaction() <= commit.transaction;
        self.check();
        FlushTarget {
            commit,
            unpublished: self.unpublished.clone().filter(is_included),
            durable: self.records.durable.transaction,
            flushed: self.records.flushed,
            may_be_entry,
            changes,
        }
    }

    /// Notes that the target is flushed and not journaled.
    pub(crate) fn begin_flush_without_entry(&mut self) {
        assert!(self.has_flush_leader, "a leader flushes its target");
        self.records.begin_flush_without_entry();
    }

    /// Notes that the target is durable. Returns the wakers that are due.
    pub(crate) fn complete_flush(&mut self, is_flushed: bool) -> Vec<Waker> {
        assert!(self.has_flush_leader, "a leader completes its flush");
        let before = self.records.durable.transaction;
        self.records.complete_flush(is_flushed);
        let durable = self.records.durable.transaction;
        assert!(
            !self.is_own() || durable >= before,
            "a durable commit stays durable: {durable} after {before}"
        );
        self.unpublished
            .take_if(|snapshot| snapshot.transaction() <= durable);
        self.check();
        self.take_due_wakers()
    }

    /// Notes that the target did not become durable.
    pub(crate) fn fail_flush(&mut self) {
        assert!(self.has_flush_leader, "a leader ends its flush");
        self.records.fail_flush();
        self.check();
    }

    /// Notes that everything written is flushed, of which only the journal made a part durable.
    pub(crate) fn flush_journaled(&mut self) {
        assert!(
            !self.is_own() || self.is_all_durable(),
            "the journal has made durable what is flushed now"
        );
        self.records.flush_journaled();
        self.check();
    }

    /// Notes that the process that flushed has died, or that its flush is over.
    pub(crate) fn forget_foreign_target(&mut self) {
        self.records.forget_foreign_target();
    }

    /// Takes the wakers of tickets whose commits are durable.
    pub(crate) fn take_due_wakers(&mut self) -> Vec<Waker> {
        self.waiters
            .take_due_wakers(self.records.durable.transaction)
    }

    /// Takes the threads to wake when a flush is over, or when there will be none.
    pub(crate) fn take_threads(&mut self) -> Vec<Thread> {
        let durable = self.records.durable.transaction;
        self.waiters.take_threads(durable, self.failure.is_some())
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
