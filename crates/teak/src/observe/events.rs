//! Events of a database, delivered to the application that has it open.
//!
//! Where an event occurs, it is only noted, because locks may be held. It is delivered when no lock
//! is held any more: at the end of a write transaction, after a wait, or by the background thread.
//! The application's callback may therefore do anything. With the feature `tracing` events also go
//! to the subscribers of that crate.

#[cfg(feature = "tracing")]
mod traced;

use crate::{TransactionId, error::loss_text};
use crate::{
    observe::{
        recovery::Recovery,
        slow_reader::SlowReader,
        trace::{self, Importance},
    },
    record::durability::Durability,
    sync::lock,
};
use std::{
    cell::RefCell,
    fmt, io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// An event of a database. See [`Options::on_event`](crate::Options::on_event). Its `Display` form
/// is a line for a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The database was opened. Opening it again in the same process, while it is open there, is no
    /// event.
    #[non_exhaustive]
    Opened {
        /// The result of recovery.
        recovery: Recovery,
        /// Length of the file in bytes.
        file_bytes: u64,
    },
    /// This process has committed changes.
    #[non_exhaustive]
    Commit {
        /// The new state.
        transaction: TransactionId,
        /// The durability of the commit.
        durability: Durability,
        /// Bytes of pages that the commit has taken, including large values.
        bytes: u64,
        /// Time from the call to its return. A durable commit waits for the disk.
        latency: Duration,
    },
    /// This process has flushed the file.
    #[non_exhaustive]
    Flush {
        /// Bytes of pages and records that this process wrote since the previous flush.
        bytes: u64,
        /// Duration of the flush.
        duration: Duration,
    },
    /// This process has grown the file.
    #[non_exhaustive]
    Grown {
        /// Previous length in bytes.
        old_bytes: u64,
        /// New length in bytes.
        file_bytes: u64,
    },
    /// This process has truncated the file.
    #[non_exhaustive]
    Shrunk {
        /// Previous length in bytes.
        old_bytes: u64,
        /// New length in bytes.
        file_bytes: u64,
    },
    /// The file has to grow, or the application is asked, because a reader of an old state keeps
    /// space that would suffice.
    SlowReader(SlowReader),
    /// Another process died while it was writing. Its uncommitted changes are lost, and this
    /// process continues.
    #[non_exhaustive]
    WriterDied {
        /// The newest commit.
        newest: TransactionId,
    },
    /// A write or flush failed: nothing can be written until the database is reopened.
    #[non_exhaustive]
    Poisoned {
        /// The operation that failed.
        operation: &'static str,
        /// The system's error.
        error: String,
    },
    /// This process commits to a file that no longer has its name: it was removed, renamed or
    /// replaced. This is reported once. With
    /// [`Options::require_name`](crate::Options::require_name) the commit fails with
    /// [`Error::NameLost`](crate::Error::NameLost) instead.
    #[non_exhaustive]
    NameLost {
        /// The name that the file had.
        path: PathBuf,
        /// The present path of the file; `None` if it has no name.
        moved_to: Option<PathBuf>,
    },
    /// A thread waits to begin a write transaction, and has begun another one that has not ended.
    /// Unless another thread ends that one, it waits forever, or until its timeout. The callback
    /// runs on the waiting thread.
    #[non_exhaustive]
    WaitsForItself {
        /// How long it waits; `None` without a limit.
        limit: Option<Duration>,
    },
    /// This process has closed the database.
    #[non_exhaustive]
    Closed {
        /// Length of the file in bytes.
        file_bytes: u64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened {
                recovery,
                file_bytes,
            } => {
                write!(f, "opened, {file_bytes} bytes: ")?;
                fmt_recovery(recovery, f)
            }
            Self::Commit {
                transaction,
                durability,
                bytes,
                latency,
            } => {
                let kind = trace::name_of(*durability);
                write!(
                    f,
                    "commit {transaction}, {kind}: {bytes} bytes in {latency:?}"
                )
            }
            Self::Flush { bytes, duration } => write!(f, "flush: {bytes} bytes in {duration:?}"),
            Self::Grown {
                old_bytes,
                file_bytes,
            } => write!(f, "the file grew from {old_bytes} to {file_bytes} bytes"),
            Self::Shrunk {
                old_bytes,
                file_bytes,
            } => write!(f, "the file shrank from {old_bytes} to {file_bytes} bytes"),
            Self::SlowReader(slow) => fmt_slow(slow, f),
            Self::WriterDied { newest } => write!(
                f,
                "a process died while it wrote; the newest commit is {newest}"
            ),
            Self::Poisoned { operation, error } => write!(
                f,
                "{operation} failed: {error}; nothing can be written until the database is reopened"
            ),
            Self::NameLost { path, moved_to } => {
                let lost = loss_text(path, moved_to.as_deref());
                write!(
                    f,
                    "{lost}; commits go to the open file, where nobody finds them by that name"
                )
            }
            Self::WaitsForItself { limit } => {
                f.write_str("a thread waits ")?;
                match limit {
                    Some(limit) => write!(f, "for {limit:?}")?,
                    None => f.write_str("without a limit")?,
                }
                f.write_str(
                    " for the end of a write transaction that it began itself; end that one first",
                )
            }
            Self::Closed { file_bytes } => write!(f, "closed, {file_bytes} bytes"),
        }
    }
}

fn fmt_recovery(recovery: &Recovery, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match recovery {
        Recovery::Clean => f.write_str("it had been closed"),
        Recovery::Joined => f.write_str("other processes have it open"),
        Recovery::Killed { last } => write!(
            f,
            "it had not been closed; the newest commit is {last}, and nothing is lost"
        ),
        Recovery::Verified { last } => write!(
            f,
            "it had not been closed; the newest commit {last} was verified and is complete"
        ),
        Recovery::RolledBack { from, to, reason } => write!(
            f,
            "it had not been closed; commit {from} is incomplete ({reason}), so commit {to} counts"
        ),
    }
}

fn fmt_slow(slow: &SlowReader, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let reader = &slow.reader;
    match reader.process {
        Some(process) => write!(f, "process {process}")?,
        None => f.write_str("a process of another PID namespace")?,
    }
    let (thread, transaction, age) = (reader.thread, reader.transaction, reader.age);
    let (kept, wanted) = (reader.kept_bytes, slow.wanted_pages);
    write!(
        f,
        ", thread {thread}, has read state {transaction} for {age:?} and keeps {kept} bytes, while {wanted} pages are wanted"
    )
}

/// The application's callback for events.
#[derive(Clone)]
pub(crate) struct EventHook(Arc<dyn Fn(&Event) + Send + Sync>);

impl EventHook {
    pub(crate) fn new(hook: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }
}

impl fmt::Debug for EventHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventHook")
    }
}

/// Events that were noted and not delivered yet.
#[derive(Debug)]
pub(crate) struct Events {
    /// `None` if no callback is set.
    hook: Option<EventHook>,
    /// The path of the database.
    #[cfg(feature = "tracing")]
    path: Arc<Path>,
    waiting: Mutex<Vec<Event>>,
    are_waiting: AtomicBool,
}

thread_local! {
    /// Addresses of the [`Events`] of which this thread is delivering one. Events of the same
    /// database that the callback causes are delivered after the present one.
    static DELIVERING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

impl Events {
    /// No events of the database at `path`.
    #[cfg_attr(not(feature = "tracing"), allow(unused_variables))]
    pub(crate) fn new(hook: Option<EventHook>, path: &Arc<Path>) -> Self {
        Self {
            hook,
            #[cfg(feature = "tracing")]
            path: Arc::clone(path),
            waiting: Mutex::default(),
            are_waiting: AtomicBool::new(false),
        }
    }

    /// Whether anybody wants events.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.hook.is_some() || trace::is_wanted(Importance::Any)
    }

    /// The current time, if anybody wants events that occur with each transaction.
    #[inline]
    pub(crate) fn clock(&self) -> Option<Instant> {
        (self.hook.is_some() || trace::is_wanted(Importance::Routine)).then(Instant::now)
    }

    /// Notes an event. The caller may hold locks.
    #[inline]
    pub(crate) fn note(&self, event: impl FnOnce() -> Event) {
        if self.is_wanted() {
            self.put(event());
        }
    }

    #[cold]
    fn put(&self, event: Event) {
        lock(&self.waiting).push(event);
        self.are_waiting.store(true, Ordering::Release);
    }

    pub(crate) fn note_poisoned(&self, operation: &'static str, error: &io::Error) {
        let error = || error.to_string();
        self.note(|| Event::Poisoned {
            operation,
            error: error(),
        });
    }

    pub(crate) fn are_waiting(&self) -> bool {
        self.are_waiting.load(Ordering::Acquire)
    }

    /// Delivers the noted events. The caller must hold no lock, including the writer locks.
    #[inline]
    pub(crate) fn deliver(&self) {
        if self.are_waiting() {
            self.deliver_all();
        }
    }

    #[cold]
    fn deliver_all(&self) {
        let own = ptr::from_ref(self).addr();
        if DELIVERING.with_borrow(|delivering| delivering.contains(&own)) {
            return;
        }
        DELIVERING.with_borrow_mut(|delivering| delivering.push(own));
        loop {
            let events = {
                let mut waiting = lock(&self.waiting);
                self.are_waiting.store(false, Ordering::Release);
                mem::take(&mut *waiting)
            };
            if events.is_empty() {
                break;
            }
            for event in &events {
                // A panic in the callback must not stop this thread. Its payload is leaked because
                // dropping it may panic too.
                let outcome = catch_unwind(AssertUnwindSafe(|| self.deliver_one(event)));
                let _ = outcome.map_err(mem::forget);
            }
        }
        DELIVERING.with_borrow_mut(Vec::pop);
    }

    fn deliver_one(&self, event: &Event) {
        #[cfg(feature = "tracing")]
        event.emit(&self.path);
        if let Some(hook) = &self.hook {
            (hook.0)(event);
        }
    }
}

/// The data of a commit event, before the commit is finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitNote {
    began: Instant,
    bytes: u64,
}

impl CommitNote {
    /// `None` if nobody wants commits.
    pub(crate) fn begun(events: &Events) -> Option<Self> {
        events.clock().map(|began| Self { began, bytes: 0 })
    }

    pub(crate) fn note_bytes(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// Notes the finished commit.
    pub(crate) fn note(self, events: &Events, transaction: TransactionId, durability: Durability) {
        events.note(|| Event::Commit {
            transaction,
            durability,
            bytes: self.bytes,
            latency: self.began.elapsed(),
        });
    }
}
