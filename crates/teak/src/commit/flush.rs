//! Flushes: which thread makes them, and what happens to a commit before and after its flush.
//!
//! A thread that waits for its durable commit makes the flush itself if none is running. Otherwise
//! it waits for the running flush, and all commits that arrived meanwhile share the next one. A
//! single thread therefore never waits for another thread. A background thread flushes commits that
//! no thread waits for: asynchronous commits at once, lazy commits when their bytes or their age
//! reach the limits. It is started by the first commit that needs it.
//!
//! After a failed flush or a failed write of a record it is unknown what reached the disk. The
//! system may have discarded pages that it did not write, so a later successful flush proves
//! nothing about them. From then on only records that take back the failed commits are written: the
//! state that readers see gets the newest record, and the records of commits that no reader saw are
//! erased. A process that opens the database during this boot of the machine then finds the state
//! that readers saw.

mod background;
mod failures;

use crate::{
    Error, Result, TransactionId,
    alloc::Pins,
    io::{Storage, WritableMapping},
    planted::planted,
    record::{FlushLimits, Record},
    share::LockOutcome,
};
use crate::{
    commit::{
        deferred::DeferredCommits,
        flush_target::FlushTarget,
        journal::{Journal, changes::CommitChanges},
        page_writes::{WRITING_PAGES, write_pages},
        state::{CommitState, CommitStateGuard, LockedCommitState},
    },
    observe::{
        events::{Event, Events},
        metrics::Counters,
    },
    process::writer_lock::CrossProcessWriterLock,
    read::{named_list::NamedPins, published::Published, snapshot::Snapshot},
    record::{
        durability::Durability,
        record_ref::{RecordRef, slot_page},
    },
    share::attachment::Shared,
    sync::lock,
};
use std::{
    io::{self, IoSlice},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Waker,
    thread::{JoinHandle, Thread},
    time::Instant,
};

const FLUSHING: &str = "flushing the file";
const WRITING_ENTRY: &str = "writing to the journal";
const WRITING_RECORD: &str = "writing the commit record";

/// The operation that failed, and the system's error.
type FailedWrite = (&'static str, io::Error);

/// A commit whose pages are written, before its record is noted.
pub(crate) struct Commit {
    /// The state after this commit; its record is written.
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) durability: Durability,
    /// Bytes of pages that the commit wrote.
    pub(crate) bytes: u64,
    /// The file's mapping, if pages were built in it.
    pub(crate) mapped: Option<Arc<WritableMapping>>,
    pub(crate) changes: CommitChanges,
}

/// Writes records and flushes, for all threads that share a database.
#[derive(Debug)]
pub(crate) struct Flusher {
    pub(crate) commit_state: Arc<CommitState>,
    pub(crate) counters: Counters,
    pub(crate) events: Events,
    /// Bytes of pages and records written since the last flush began.
    unflushed_bytes: AtomicU64,
    pub(crate) published: Published,
    storage: Arc<dyn Storage>,
    page_size: usize,
    journal: Mutex<Journal>,
    limits: FlushLimits,
    is_poisoned: AtomicBool,
    /// `None` if no other process can have the database open.
    pub(crate) shared: Option<Arc<Shared>>,
    /// The lock that admits one writing process.
    pub(crate) process_writer_lock: CrossProcessWriterLock,
    /// Held by the thread that writes deferred commits, until their record is noted. Lock order:
    /// taken before the commit state is locked.
    deferred_write_lock: Mutex<()>,
    /// Wakers to run after all locks are released.
    wakers: Mutex<Vec<Waker>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Flusher {
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        published: Published,
        state: LockedCommitState,
        limits: FlushLimits,
        shared: Option<Arc<Shared>>,
        events: Events,
    ) -> Self {
        Self {
            commit_state: Arc::new(CommitState::new(state, shared.clone())),
            counters: Counters::default(),
            events,
            unflushed_bytes: AtomicU64::new(0),
            storage,
            page_size: published.newest_here().record.page_size as usize,
            journal: Mutex::default(),
            limits,
            is_poisoned: AtomicBool::new(false),
            process_writer_lock: CrossProcessWriterLock::new(shared.clone()),
            shared,
            deferred_write_lock: Mutex::default(),
            wakers: Mutex::default(),
            thread: Mutex::default(),
            published,
        }
    }

    pub(crate) fn refuse_poisoned(&self) -> Result<()> {
        let has_failed = |shared: &Arc<Shared>| shared.has_failed();
        if self.is_poisoned.load(Ordering::Acquire) || self.shared.as_ref().is_some_and(has_failed)
        {
            return Err(self.refusal());
        }
        Ok(())
    }

    /// Fails if other processes have declared this one dead: its pages may belong to another
    /// process by now.
    #[inline]
    pub(crate) fn refuse_evicted(&self) -> Result<()> {
        match &self.shared {
            Some(shared) if shared.is_evicted() => Err(shared.evicted()),
            _ => Ok(()),
        }
    }

    /// The error for writes that are no longer accepted.
    fn refusal(&self) -> Error {
        match &self.shared {
            Some(shared) if shared.is_evicted() => shared.evicted(),
            _ => Error::Poisoned,
        }
    }

    /// Stops accepting writes because of an internal failure.
    pub(crate) fn poison(&self, operation: &'static str) {
        let error = io::Error::other("the state of the database in memory could not be kept");
        self.fail(&mut self.commit_state.lock(), operation, &error);
    }

    /// The state that the next commit builds on: the newest one, whether or not readers see it yet.
    pub(crate) fn base(&self) -> Result<Arc<Snapshot>> {
        let unpublished = self.commit_state.lock().unpublished.clone();
        unpublished.map_or_else(|| self.published.newest(), Ok)
    }

    /// Returns [`Flusher::base`], the states whose pages must stay, and the last flushed commit.
    /// They are read together because all processes share the lock of the commit state.
    pub(crate) fn beginning(
        &self,
        named: &NamedPins,
    ) -> Result<(Arc<Snapshot>, Pins, TransactionId)> {
        let state = self.commit_state.lock();
        let (unpublished, own) = (state.unpublished.clone(), self.own_pins_in(&state));
        let flushed = state.flushed.transaction;
        drop(state);
        let base = unpublished.map_or_else(|| self.published.newest(), Ok)?;
        Ok((base, self.pins_with(own, named)?, flushed))
    }

    /// The newest commit, whether or not readers see it yet.
    pub(crate) fn newest(&self) -> TransactionId {
        self.commit_state.lock().last()
    }

    /// The states whose pages must stay: those that a crash may lead back to, the newest, those
    /// that readers hold, and named snapshots, including names dropped since a state that a crash
    /// may lead back to.
    ///
    /// # Errors
    ///
    /// Fails if this process cannot see what other processes hold.
    pub(crate) fn pins(&self, named: &NamedPins) -> Result<Pins> {
        self.pins_with(self.own_pins(), named)
    }

    fn pins_with(&self, mut pins: Vec<TransactionId>, named: &NamedPins) -> Result<Pins> {
        let oldest = pins.iter().min().copied();
        pins.extend(named.dropped(oldest).filter(|_| !planted!(FreeDropped)));
        let mut live = Arc::clone(named.live());
        planted!(FreeNamed => live = Arc::default());
        // After the pins above, since readers may begin with those states too.
        self.published.add_held(&mut pins, &live)?;
        // This process may have lost the reader table meanwhile.
        self.refuse_evicted()?;
        Ok(Pins::new(live, pins))
    }

    /// Like [`Flusher::pins`], but without the states that readers hold.
    pub(crate) fn own_pins(&self) -> Vec<TransactionId> {
        self.own_pins_in(&self.commit_state.lock())
    }

    fn own_pins_in(&self, state: &LockedCommitState) -> Vec<TransactionId> {
        let mut pins: Vec<_> = state.pins().collect();
        pins.push(self.published.visible());
        pins
    }

    /// Whether at least `least` flushes could have been journal entries. If so, the count restarts
    /// at zero.
    pub(crate) fn wants_journal(&self, least: u32) -> bool {
        lock(&self.journal).take_wanted(least)
    }

    /// While a flush runs: the newest commit in the file. Pages written now are not part of that
    /// flush, so a small durable commit is better deferred and written together with others. `None`
    /// if no flush runs.
    pub(crate) fn written_under_flush(&self) -> Option<TransactionId> {
        let state = self.commit_state.lock();
        state.is_flushing().then_some(state.newest.transaction)
    }

    /// Notes a deferred commit. The next flush leader writes it.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`] if an earlier operation failed: the commit has not happened.
    pub(crate) fn defer(&self, deferred: DeferredCommits, changes: &CommitChanges) -> Result<()> {
        refuse_nonsense(&deferred.snapshot.record)?;
        let mut state = self.commit_state.lock();
        if state.has_failed() {
            return Err(self.refusal());
        }
        state.note_changes(deferred.snapshot.transaction(), changes);
        state.defer(deferred);
        Ok(())
    }

    /// Writes all deferred commits. The caller holds the in-process writer lock, so none are added
    /// meanwhile.
    pub(crate) fn write_deferred(&self) -> Result<()> {
        let _deferred_write_guard = self.deferred_write_lock();
        let mut state = self.commit_state.lock();
        if state.has_failed() {
            return Err(self.refusal());
        }
        if !state.has_deferred() {
            return Ok(());
        }
        let Some((deferred, written)) = state.take_deferred() else {
            return Ok(());
        };
        drop(state);
        let result = self.write_pages_of(&deferred);
        let mut state = self.commit_state.lock();
        let result = result.and_then(|()| self.write_record_of(&deferred, written));
        state.note_written(written);
        state.note_deferred_written();
        result.map_err(|(operation, error)| {
            self.fail(&mut state, operation, &error);
            Error::io(operation)(error)
        })
    }

    fn deferred_write_lock(&self) -> MutexGuard<'_, ()> {
        lock(&self.deferred_write_lock)
    }

    /// Writes the pages of deferred commits.
    fn write_pages_of(&self, deferred: &DeferredCommits) -> std::result::Result<(), FailedWrite> {
        // Everything written under earlier deferred-write locks has been noted.
        let newest = self.commit_state.lock().newest.transaction;
        let pages = deferred.pages.iter();
        let unwritten = pages.filter(|page| page.transaction > newest);
        let pages: Vec<_> = unwritten.map(|page| (page.number, &*page.bytes)).collect();
        self.note_bytes((pages.len() * self.page_size) as u64);
        write_pages(&*self.storage, self.page_size, &pages).map_err(|error| (WRITING_PAGES, error))
    }

    /// Writes the record of deferred commits. The commit state is locked meanwhile, so no thread
    /// takes back a failed commit concurrently.
    fn write_record_of(
        &self,
        deferred: &DeferredCommits,
        written: RecordRef,
    ) -> std::result::Result<(), FailedWrite> {
        let record = Record {
            slot: written.slot,
            sequence: written.sequence,
            ..deferred.snapshot.record.clone()
        };
        self.write_record(&record)
            .map_err(|error| (WRITING_RECORD, error))
    }

    /// Writes the record of a commit, and notes it.
    ///
    /// # Errors
    ///
    /// - [`Error::Poisoned`] if an earlier operation failed: the commit has not happened.
    /// - The system's error if the record cannot be written.
    pub(crate) fn write(&self, commit: Commit) -> Result<()> {
        let record = &commit.snapshot.record;
        refuse_nonsense(record)?;
        let mut state = self.commit_state.lock();
        if state.has_failed() {
            return Err(self.refusal());
        }
        let written = RecordRef::of(record);
        self.note_bytes(commit.bytes);
        let bytes = record.encode(self.page_size);
        let recorded = match commit.durability {
            Durability::Lazy if planted!(LazyUnrecorded) => Ok(()),
            Durability::Lazy => self.store_encoded(commit.mapped.as_ref(), record.slot, &bytes),
            _ => self.write_encoded(record.slot, &bytes),
        };
        if let Err(error) = recorded {
            // The record, or a part of it, may have reached the file.
            state.note_written(written);
            self.fail(&mut state, WRITING_RECORD, &error);
            return Err(Error::io(WRITING_RECORD)(error));
        }
        state.note_written(written);
        state.note_changes(written.transaction, &commit.changes);
        let snapshot = commit.snapshot;
        if commit.durability.is_seen_at_once() || planted!(PublishEarly) {
            state.unpublished = None;
            self.published.publish_encoded(snapshot, &bytes);
        } else {
            state.unpublished = Some(snapshot);
        }
        let wakes_flusher = match commit.durability {
            Durability::Durable => false,
            Durability::Async => {
                state.want(written.transaction);
                true
            }
            Durability::Lazy => state.note_waiting(commit.bytes, self.limits),
        };
        if wakes_flusher {
            self.commit_state.notify_flusher(&state);
        }
        Ok(())
    }

    /// Applies the durability of an empty commit to the newest commit. The caller holds the
    /// in-process writer lock.
    pub(crate) fn write_nothing(&self, durability: Durability) {
        let mut state = self.commit_state.lock();
        if durability == Durability::Async {
            let last = state.last();
            state.want(last);
            self.commit_state.notify_flusher(&state);
        }
    }

    /// Returns when the commit `transaction` is on the disk. Flushes if no other thread does. The
    /// caller does not hold the in-process writer lock.
    pub(crate) fn wait(&self, transaction: TransactionId) -> Result<()> {
        let outcome = self.wait_without_waking(transaction);
        self.wake_all();
        outcome
    }

    /// Like [`Flusher::wait`], but leaves it to the caller to run the wakers.
    pub(crate) fn wait_without_waking(&self, transaction: TransactionId) -> Result<()> {
        let mut state = self.commit_state.lock();
        if planted!(JoinFlush) && state.is_flushing() {
            drop(self.commit_state.wait_flushed(state, TransactionId(0)));
            return Ok(());
        }
        loop {
            if let Some(outcome) = state.outcome(transaction) {
                self.pass_on(state);
                return outcome;
            }
            if !state.is_flushing() {
                drop(state);
                self.flush(|state| state.outcome(transaction).is_none());
                state = self.commit_state.lock();
                continue;
            }
            match self.commit_state.wait_flushed(state, transaction) {
                Some(still) => state = still,
                None => return Ok(()),
            }
        }
    }

    /// Requests a flush of the newest commit, and returns that commit.
    pub(crate) fn request_flush_of_newest(self: &Arc<Self>) -> Result<TransactionId> {
        self.start()?;
        let mut state = self.commit_state.lock();
        let last = state.last();
        state.want(last);
        self.commit_state.notify_flusher(&state);
        Ok(last)
    }

    /// Whether the limits for lazy commits are reached.
    pub(crate) fn is_due(&self) -> bool {
        self.commit_state.lock().is_due(self.limits)
    }

    /// Writes deferred commits and flushes. Does nothing if another thread of this process is
    /// flushing, or if `is_wanted` no longer holds.
    fn flush(&self, is_wanted: impl Fn(&LockedCommitState) -> bool) {
        let mut state = self.commit_state.lock();
        // A flush by another process is waited for even after a failure: its target may become
        // durable.
        let is_over = state.has_failed() && !state.is_flushed_elsewhere();
        if state.is_flushing() || is_over || !is_wanted(&state) {
            return self.pass_on(state);
        }
        state.become_leader();
        drop(state);
        let has_flush = self.take_flush();
        let deferred_write_lock = self.deferred_write_lock();
        let mut state = self.commit_state.lock();
        if has_flush.is_some() {
            // This process now holds the flush lock, so a foreign target in the shared state is out
            // of date.
            state.forget_foreign_target();
        }
        if has_flush.is_some() && (state.has_failed() || !is_wanted(&state)) {
            // Another process has flushed already, or no flush is possible any more.
            drop(deferred_write_lock);
            if state.has_failed() {
                self.take_back(&mut state);
            }
            let wakers = state.take_due_wakers();
            self.wakers().extend(wakers);
            return self.end_flush(state, has_flush);
        }
        let deferred = state.take_deferred();
        let commit = deferred
            .as_ref()
            .map_or(state.newest, |(_, written)| *written);
        let target = state.begin_flush(commit);
        drop(state);
        let mut flushed = Ok(());
        if let Some((deferred, written)) = deferred {
            flushed = self.write_pages_of(&deferred);
            let mut state = self.commit_state.lock();
            flushed = flushed.and_then(|()| self.write_record_of(&deferred, written));
            // The record, or a part of it, may be in the file even after an error. No commit builds
            // on it then.
            state.note_written(written);
            state.note_deferred_written();
            if let Err((operation, error)) = &flushed {
                self.note_failure(&mut state, operation, error);
            }
            drop(state);
            self.process_writer_lock
                .note_deferred_written(&self.commit_state);
        }
        drop(deferred_write_lock);
        let flushed = flushed.and_then(|()| self.make_durable(&target));
        // Deferred commits that are being written meanwhile are taken back too.
        let _deferred_write_guard = flushed.is_err().then(|| self.deferred_write_lock());
        let mut state = self.commit_state.lock();
        match flushed {
            Ok(is_flushed) if self.publish(&target) => {
                let wakers = state.end_flush(&target, is_flushed);
                self.wakers().extend(wakers);
                if is_wanted(&state) && state.is_all_durable() {
                    let error = io::Error::other(
                        "the lock file does not know of it any more; somebody has written to that file",
                    );
                    self.note_failure(&mut state, "waiting for a commit", &error);
                }
            }
            Ok(_) => {
                state.end_failed_flush();
                let error = io::Error::other("its record cannot be read any more");
                self.note_failure(&mut state, "showing a commit to readers", &error);
            }
            Err(_) if planted!(WriteOn) => state.end_failed_flush(),
            Err((operation, error)) => {
                state.end_failed_flush();
                self.note_failure(&mut state, operation, &error);
            }
        }
        if state.has_failed() {
            self.take_back(&mut state);
        }
        self.end_flush(state, has_flush);
    }

    /// Lets other threads continue when no thread of this process flushes. The waiting thread was
    /// expected to flush, but another process has flushed already, or no flush is possible any
    /// more.
    fn pass_on(&self, mut state: CommitStateGuard<'_>) {
        if state.is_flushing() {
            return;
        }
        let has_failed = state.has_failed();
        if has_failed && !state.is_flushed_elsewhere() {
            let wakers = state.give_up();
            self.wakers().extend(wakers);
        }
        let woken = self.commit_state.notify_flushed(&mut state);
        drop(state);
        woken.iter().for_each(Thread::unpark);
        if has_failed {
            self.process_writer_lock
                .note_deferred_written(&self.commit_state);
        }
    }

    /// Waits until no other process flushes, and keeps other processes from flushing until
    /// [`Flusher::end_flush`].
    fn take_flush(&self) -> Option<&Arc<Shared>> {
        let shared = self.shared.as_ref()?;
        if shared.take(&shared.region.flush) == LockOutcome::Abandoned {
            self.commit_state.lock().forget_foreign_target();
        }
        Some(shared)
    }

    /// Resigns as flush leader and wakes the waiting threads.
    fn end_flush(&self, mut state: CommitStateGuard<'_>, has_flush: Option<&Arc<Shared>>) {
        // The flush lock belongs to the process, not to the thread. If the next leader of this
        // process took it before this thread released it, that leader would treat it as abandoned
        // by a dead process, and this thread would release it during that leader's flush. Another
        // process that takes the lock still waits for the commit state, which is locked here.
        if let Some(shared) = has_flush {
            shared.release(|region| &region.flush);
        }
        state.resign_leader();
        let woken = self.commit_state.notify_flushed(&mut state);
        drop(state);
        if has_flush.is_some() {
            self.process_writer_lock
                .note_deferred_written(&self.commit_state);
        }
        woken.iter().for_each(Thread::unpark);
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        lock(&self.wakers)
    }

    fn has_wakers(&self) -> bool {
        !self.wakers().is_empty() || self.events.are_waiting()
    }

    /// Runs the pending wakers and delivers the pending events. A waker may do anything, so the
    /// caller must hold no lock, including the writer locks.
    pub(crate) fn wake_all(&self) {
        let wakers = std::mem::take(&mut *self.wakers());
        for waker in wakers {
            // A panic in a waker must not stop this thread: others wait for it.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
        self.events.deliver();
    }

    /// Has the background thread run the wakers, for a caller that keeps holding a lock.
    pub(crate) fn wake_all_in_background(self: &Arc<Self>) {
        // Without a thread they run at the next commit, or when the database is closed.
        if self.has_wakers() && self.start().is_ok() {
            self.commit_state.notify_flusher(&self.commit_state.lock());
        }
    }

    fn note_bytes(&self, bytes: u64) {
        self.unflushed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns when `target` is durable. `true` if everything written before it was flushed,
    /// `false` if the journal has an entry for it instead.
    fn make_durable(&self, target: &FlushTarget) -> std::result::Result<bool, FailedWrite> {
        let began = self.events.clock();
        let noted = lock(&self.journal).append(&self.storage, self.page_size, target);
        let noted = noted.map_err(|error| (WRITING_ENTRY, error))?;
        match noted {
            Some(bytes) => self.note_flush(bytes, began),
            None => {
                self.commit_state.lock().note_flushing();
                self.flush_storage().map_err(|error| (FLUSHING, error))?;
            }
        }
        Ok(noted.is_none())
    }

    fn note_flush(&self, bytes: u64, began: Option<Instant>) {
        self.counters.note_flush(bytes);
        if let Some(began) = began {
            let duration = began.elapsed();
            self.events.note(|| Event::Flush { bytes, duration });
        }
    }

    fn flush_storage(&self) -> io::Result<()> {
        let (bytes, began) = (
            self.unflushed_bytes.swap(0, Ordering::Relaxed),
            self.events.clock(),
        );
        let flushed = self.storage.flush();
        if flushed.is_ok() {
            self.note_flush(bytes, began);
        }
        flushed
    }

    /// Makes the durable state visible to readers, unless they see a newer one. Returns `false` if
    /// another process wrote the state and its record is gone.
    fn publish(&self, target: &FlushTarget) -> bool {
        if target.commit.transaction <= self.published.visible() {
            return true;
        }
        if let Some(snapshot) = &target.unpublished {
            self.published.publish(Arc::clone(snapshot));
            return true;
        }
        let record = self
            .shared
            .as_ref()
            .map(|shared| shared.record_in(target.commit.slot));
        match record {
            Some(Ok(Some(record))) if record.transaction == target.commit.transaction => {
                self.published.publish_record(&record);
                true
            }
            Some(_) => false,
            None => true,
        }
    }

    /// Writes a record to its slot.
    fn write_record(&self, record: &Record) -> io::Result<()> {
        self.write_encoded(record.slot, &record.encode(self.page_size))
    }

    fn write_encoded(&self, slot: u8, record: &[u8]) -> io::Result<()> {
        self.note_bytes(record.len() as u64);
        let offset = u64::from(slot) * self.page_size as u64;
        self.storage.write(offset, &[IoSlice::new(record)])
    }

    /// Writes an encoded record through `mapped` if it is there. A system call would take a quarter
    /// of the time of an asynchronous commit of one record.
    fn store_encoded(
        &self,
        mapped: Option<&Arc<WritableMapping>>,
        slot: u8,
        record: &[u8],
    ) -> io::Result<()> {
        let offset = u64::from(slot) * self.page_size as u64;
        // SAFETY: the bytes are those of a record slot. Everybody copies them, and nobody borrows
        // them (invariant 3 of `io/mod.rs`).
        if mapped.is_some_and(|mapped| unsafe { mapped.store(offset, record) }) {
            self.note_bytes(record.len() as u64);
            self.storage.mark_written(offset, record.len() as u64);
            return Ok(());
        }
        // The system call reports the error, if there is one.
        self.write_encoded(slot, record)
    }

    /// Flushes the newest commit if only a journal entry makes it durable. No commit may happen
    /// concurrently.
    pub(crate) fn flush_journaled(&self) -> Result<()> {
        let mut state = self.commit_state.lock();
        if state.flushed.transaction == state.newest.transaction {
            return Ok(());
        }
        if let Err(error) = self.flush_storage() {
            self.fail(&mut state, FLUSHING, &error);
            return Err(Error::io(FLUSHING)(error));
        }
        state.flushed = state.newest;
        Ok(())
    }

    /// Writes and flushes the records of a clean close. No record follows them, and the next open
    /// takes them for durable.
    pub(crate) fn write_last(&self, records: &[Record]) -> Result<()> {
        let mut state = self.commit_state.lock();
        for record in records {
            refuse_nonsense(record)?;
            if let Err(error) = self.write_record(record) {
                return self.fail_last(&mut state, records, WRITING_RECORD, error);
            }
            state.note_written(RecordRef::of(record));
        }
        planted!(CloseWithoutFlush => return Ok(()));
        match self.flush_storage() {
            Ok(()) => Ok(()),
            Err(error) => self.fail_last(&mut state, records, FLUSHING, error),
        }
    }

    /// Handles a failure while closing. No commit is involved, so only these records are taken
    /// back.
    fn fail_last(
        &self,
        state: &mut LockedCommitState,
        records: &[Record],
        operation: &'static str,
        error: io::Error,
    ) -> Result<()> {
        self.fail(state, operation, &error);
        records.iter().for_each(|record| self.erase(record.slot));
        Err(Error::io(operation)(error))
    }
}

/// Refuses a record that could not be decoded again.
fn refuse_nonsense(record: &Record) -> Result<()> {
    record
        .check()
        .map_err(|detail| Error::corrupted(slot_page(record.slot), "commit", detail))
}
