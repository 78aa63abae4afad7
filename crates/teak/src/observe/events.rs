//! What happens to a database, told to the program that has it open.
//!
//! Where something happens it is only noted, since locks may be held there. Whoever holds none any more tells it: at the end of
//! a write transaction, behind a wait, in the thread that flushes. So a program may do whatever it likes when it is told.

use crate::{TransactionId, error::loss_text};
use crate::{
    observe::{recovery::Recovery, slow_reader::SlowReader},
    record::durability::Durability,
    sync::lock,
};
use std::{
    cell::RefCell,
    fmt, io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Something that happened to a database; see [`Options::on_event`](crate::Options::on_event). Printed, it is a line for a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// It was opened: opening it again in the same process, while it is open there, is no event.
    #[non_exhaustive]
    Opened {
        /// What opening found and did.
        recovery: Recovery,
        /// Length of the file.
        file_bytes: u64,
    },
    /// This process has committed something.
    #[non_exhaustive]
    Commit {
        /// The new state.
        transaction: TransactionId,
        /// What was asked for.
        durability: Durability,
        /// Bytes of pages that the commit has taken, large values included.
        bytes: u64,
        /// From the call to its return, which waits for the disk if the commit is durable.
        latency: Duration,
    },
    /// This process has flushed the file.
    #[non_exhaustive]
    Flush {
        /// Bytes of pages and records that this process wrote since the flush before.
        bytes: u64,
        /// How long that took.
        duration: Duration,
    },
    /// This process has made the file longer.
    #[non_exhaustive]
    Grown {
        /// Its length before.
        old_bytes: u64,
        /// Its length now.
        file_bytes: u64,
    },
    /// This process has made the file shorter.
    #[non_exhaustive]
    Shrunk {
        /// Its length before.
        old_bytes: u64,
        /// Its length now.
        file_bytes: u64,
    },
    /// The file has to become longer, or somebody is to be asked, since a reader of an old state keeps space that would do.
    SlowReader(SlowReader),
    /// Another process died while it wrote. What it had not committed is gone, and this one goes on.
    #[non_exhaustive]
    WriterDied {
        /// The newest commit.
        newest: TransactionId,
    },
    /// A write or flush failed: nothing can be written until the database is opened anew.
    #[non_exhaustive]
    Poisoned {
        /// What was being done.
        operation: &'static str,
        /// What the system said.
        error: String,
    },
    /// This process commits into a file that does not have its name any more: it was removed, renamed or replaced. It is told once.
    /// With [`Options::require_name`](crate::Options::require_name) the commit is [`Error::NameLost`](crate::Error::NameLost).
    #[non_exhaustive]
    NameLost {
        /// The name that the file had.
        path: PathBuf,
        /// Where the file is now; `None` if it has no name.
        moved_to: Option<PathBuf>,
    },
    /// This process has closed it.
    #[non_exhaustive]
    Closed {
        /// Length of the file.
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
                let kind = match durability {
                    Durability::Durable => "durable",
                    Durability::Async => "asynchronous",
                    Durability::Lazy => "lazy",
                };
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
                "{operation} failed: {error}; nothing can be written until the database is opened anew"
            ),
            Self::NameLost { path, moved_to } => {
                let lost = loss_text(path, moved_to.as_deref());
                write!(
                    f,
                    "{lost}; commits go to the open file, and nobody finds them by that name"
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
            "it had not been closed; the newest commit {last} was verified and is whole"
        ),
        Recovery::RolledBack { from, to, reason } => write!(
            f,
            "it had not been closed; commit {from} is not whole ({reason}), commit {to} counts"
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

/// What a program does about events.
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

/// What happened, until it is told.
#[derive(Debug)]
pub(crate) struct Events {
    /// Absent where nobody wants to know.
    hook: Option<EventHook>,
    waiting: Mutex<Vec<Event>>,
    are_waiting: AtomicBool,
}

thread_local! {
    /// Where the events are of which this thread is telling one, so that what happens to the same database by that is told behind it.
    static DELIVERING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

impl Events {
    pub(crate) fn new(hook: Option<EventHook>) -> Self {
        Self {
            hook,
            waiting: Mutex::default(),
            are_waiting: AtomicBool::new(false),
        }
    }

    /// Whether anybody wants to know.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.hook.is_some()
    }

    /// Now, if anybody wants to know how long something takes.
    #[inline]
    pub(crate) fn clock(&self) -> Option<Instant> {
        self.is_wanted().then(Instant::now)
    }

    /// Notes what happened; the caller may hold locks.
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

    /// Tells what was noted. The caller holds nothing: no lock, and not the writer's turn.
    #[inline]
    pub(crate) fn deliver(&self) {
        if self.are_waiting() {
            self.deliver_all();
        }
    }

    #[cold]
    fn deliver_all(&self) {
        let Some(hook) = &self.hook else {
            return;
        };
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
                // A panic is not this thread's. What it throws may panic when it is dropped.
                let outcome = catch_unwind(AssertUnwindSafe(|| (hook.0)(event)));
                let _ = outcome.map_err(mem::forget);
            }
        }
        DELIVERING.with_borrow_mut(Vec::pop);
    }
}

/// What an event says of a commit, before it is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitNote {
    began: Instant,
    bytes: u64,
}

impl CommitNote {
    /// Absent where nobody wants to know.
    pub(crate) fn begun(events: &Events) -> Option<Self> {
        events.clock().map(|began| Self { began, bytes: 0 })
    }

    pub(crate) fn note_bytes(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// The commit is done.
    pub(crate) fn note(self, events: &Events, transaction: TransactionId, durability: Durability) {
        events.note(|| Event::Commit {
            transaction,
            durability,
            bytes: self.bytes,
            latency: self.began.elapsed(),
        });
    }
}
