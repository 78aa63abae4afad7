//! The committer of an open database: the parts that write, flush and publish its commits.
//!
//! | file | what it does |
//! |---|---|
//! | `write_commit.rs` | writes the record of a commit, or defers it |
//! | `group.rs` | which thread leads a flush, and which ones wait |
//! | `flush.rs` | one flush |
//! | `background.rs` | the thread that flushes asynchronous and lazy commits |
//! | `failure.rs` | what happens after a failed write or flush |
//! | `close.rs` | the records of a clean close |
//! | `pins.rs` | the base of the next commit, and the states whose pages must stay |

use crate::{
    Error, Result, TransactionId,
    commit::{
        disk::CommitDisk, journal::Journal, state::CommitState, state_lock::CommitStateLock,
        wakers::DueWakers,
    },
    io::{Storage, Worker},
    observe::{
        events::Events,
        metrics::{Counters, Metrics},
    },
    process::writer_lock::CrossProcessWriterLock,
    read::{published::Published, readers::OWNER, snapshot::Snapshot},
    record::FlushLimits,
    share::attachment::Shared,
    sync::lock,
};
use std::{
    io, mem,
    sync::{
        Arc, Mutex, MutexGuard, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Writes records and flushes, for all threads that share a database.
#[derive(Debug)]
pub(crate) struct Committer {
    pub(crate) commit_state: Arc<CommitStateLock>,
    pub(crate) published: Published,
    /// `None` if no other process can have the database open.
    pub(crate) shared: Option<Arc<Shared>>,
    /// The lock that admits one writing process.
    pub(crate) process_writer_lock: CrossProcessWriterLock,
    pub(crate) counters: Counters,
    pub(crate) events: Events,
    pub(super) disk: CommitDisk,
    pub(super) journal: Mutex<Journal>,
    /// The states in the trees that small transactions read, with the number of each transaction.
    pub(crate) small_pins: Mutex<Vec<(u64, TransactionId)>>,
    /// Held by the thread that writes deferred commits, until their record is noted. Lock order:
    /// taken before the commit state is locked, or tried while it is.
    deferred_write_lock: Mutex<()>,
    pub(super) is_poisoned: AtomicBool,
    pub(super) wakers: DueWakers,
    pub(super) background: BackgroundThread,
}

impl Committer {
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        published: Published,
        state: CommitState,
        limits: FlushLimits,
        shared: Option<Arc<Shared>>,
        events: Events,
    ) -> Self {
        let page_size = published.newest_here().record.page_size as usize;
        assert!(
            shared.is_some() || published.visible() >= state.durable().transaction,
            "readers of an opened database see every durable commit"
        );
        Self {
            commit_state: Arc::new(CommitStateLock::new(state, shared.clone())),
            published,
            process_writer_lock: CrossProcessWriterLock::new(shared.clone()),
            shared,
            counters: Counters::default(),
            events,
            disk: CommitDisk::new(storage, page_size),
            journal: Mutex::default(),
            small_pins: Mutex::default(),
            deferred_write_lock: Mutex::default(),
            is_poisoned: AtomicBool::new(false),
            wakers: DueWakers::default(),
            background: BackgroundThread::new(limits),
        }
    }

    pub(crate) fn metrics(&self) -> Metrics {
        let mut metrics = self.counters.read();
        if let Some(frames) = self.published.newest_here().mapping.frames() {
            let frames = frames.counters();
            (metrics.decrypted_pages, metrics.evicted_pages) = (frames.loaded, frames.discarded);
        }
        metrics
    }

    /// Gives memory of decoded pages back, if they take too much.
    #[inline]
    pub(crate) fn evict_frames(&self, state: &Snapshot) {
        let owner = self.shared.as_ref().map_or(OWNER, |shared| shared.owner());
        self.published.evict_frames(state, owner, || {
            let pins = lock(&self.small_pins);
            pins.iter().map(|(number, _)| *number).collect()
        });
    }

    /// Fails if an earlier write or flush failed.
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
    pub(super) fn refusal(&self) -> Error {
        match &self.shared {
            Some(shared) if shared.is_evicted() => shared.evicted(),
            _ => Error::poisoned(),
        }
    }

    /// Whether at least `least` flushes could have been journal entries. If so, the count restarts
    /// at zero.
    pub(crate) fn wants_journal(&self, least: u32) -> bool {
        lock(&self.journal).take_wanted(least)
    }

    pub(crate) fn deferred_write_lock(&self) -> MutexGuard<'_, ()> {
        lock(&self.deferred_write_lock)
    }

    /// The deferred-write lock, if it is free. The commit state may be locked.
    pub(super) fn try_deferred_write_lock(&self) -> Option<MutexGuard<'_, ()>> {
        match self.deferred_write_lock.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(super) fn has_wakers(&self) -> bool {
        !self.wakers.is_empty() || self.events.are_waiting()
    }

    /// Runs the due wakers and delivers the pending events. Either may do anything, so the caller
    /// must hold no lock, including the writer locks.
    pub(crate) fn wake_all(&self) {
        self.wakers.run();
        self.events.deliver();
    }
}

/// The background thread, and the limits of lazy commits.
#[derive(Debug)]
pub(super) struct BackgroundThread {
    limits: FlushLimits,
    /// `None` if it was not started, or was stopped.
    thread: Mutex<Option<Worker>>,
}

impl BackgroundThread {
    fn new(limits: FlushLimits) -> Self {
        Self {
            limits,
            thread: Mutex::default(),
        }
    }

    pub(super) fn limits(&self) -> FlushLimits {
        self.limits
    }

    /// Starts the thread, unless it was started.
    pub(super) fn start(&self, committer: &Arc<Committer>, run: fn(&Committer)) -> io::Result<()> {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let committer = Arc::clone(committer);
            *thread = Some(Worker::start("teak-flusher", move || run(&committer))?);
        }
        Ok(())
    }

    /// Waits for the end of the thread after it was asked to stop.
    pub(super) fn join(&self) {
        let thread = mem::take(&mut *lock(&self.thread));
        // A waker may close the database on the background thread itself.
        if let Some(thread) = thread.filter(|thread| !thread.is_current()) {
            thread.wait();
        }
    }
}
