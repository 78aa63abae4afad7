//! Tickets: waiting for a commit to become durable.

use crate::{
    Error, Result, TransactionId, commit::state_lock::CommitStateLock, io::ForkGeneration,
    unique_id::unique_id,
};
use std::{
    fmt,
    future::Future,
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

/// A commit that becomes durable in the background. The ticket can wait for it, poll it, or be
/// awaited.
///
/// Dropping a ticket changes nothing: the commit still becomes durable. A ticket does not keep its
/// database open. Closing the database makes every commit durable, and its tickets report that.
/// With [`Options::flush_on_close`](crate::Options::flush_on_close) off, the ticket of a lazy
/// commit that was left is an error.
///
/// ```
/// use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let words = txn.create_table::<&str, &str>("words")?;
/// words.insert(&mut txn, "teak", "a tree")?;
/// let ticket = txn.commit_async()?; // readers see it from now on
/// // ... do something else ...
/// ticket.wait()?; // it survives a power cut from now on
/// assert!(ticket.is_durable()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a ticket says when its commit is durable"]
pub struct Ticket {
    commit_state: Arc<CommitStateLock>,
    /// The file of the database, for errors.
    path: Arc<Path>,
    transaction: TransactionId,
    id: u64,
    /// Whether it was polled, so that the commit state may hold its waker.
    is_waiting: bool,
    /// The process that committed.
    generation: ForkGeneration,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("transaction", &self.transaction)
            .finish_non_exhaustive()
    }
}

impl Ticket {
    pub(crate) fn new(
        commit_state: Arc<CommitStateLock>,
        path: Arc<Path>,
        transaction: TransactionId,
    ) -> Self {
        Self {
            generation: ForkGeneration::current(),
            commit_state,
            path,
            transaction,
            id: unique_id(),
            is_waiting: false,
        }
    }

    /// The transaction id of the commit.
    #[must_use]
    pub fn transaction(&self) -> TransactionId {
        self.transaction
    }

    fn named<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|error| error.at(&self.path))
    }

    fn refuse_forked(&self) -> Result<()> {
        match self.generation.is_past() {
            true => Err(Error::Forked),
            false => Ok(()),
        }
    }

    /// Waits until the commit is durable.
    ///
    /// # Errors
    ///
    /// - [`Error::Io`](crate::Error::Io) if a write or flush failed. The commit may be lost if the
    ///   machine goes down, and the database accepts no writes until it is reopened.
    /// - [`Error::Forked`](crate::Error::Forked) in a forked child of the process that committed.
    pub fn wait(&self) -> Result<()> {
        self.refuse_forked()?;
        self.named(self.commit_state.wait(self.transaction, None))
            .map(drop)
    }

    /// Waits for at most `limit`, and returns whether the commit is durable.
    ///
    /// # Errors
    ///
    /// - [`Error::Io`](crate::Error::Io) if a write or flush failed. The commit may be lost if the
    ///   machine goes down, and the database accepts no writes until it is reopened.
    /// - [`Error::Forked`](crate::Error::Forked) in a forked child of the process that committed.
    pub fn wait_timeout(&self, limit: Duration) -> Result<bool> {
        self.refuse_forked()?;
        self.named(self.commit_state.wait(self.transaction, Some(limit)))
    }

    /// Returns whether the commit is durable, without waiting.
    ///
    /// # Errors
    ///
    /// - [`Error::Io`](crate::Error::Io) if a write or flush failed. The commit may be lost if the
    ///   machine goes down, and the database accepts no writes until it is reopened.
    /// - [`Error::Forked`](crate::Error::Forked) in a forked child of the process that committed.
    pub fn is_durable(&self) -> Result<bool> {
        self.refuse_forked()?;
        match self.commit_state.outcome(self.transaction) {
            Some(outcome) => self.named(outcome).map(|()| true),
            None => Ok(false),
        }
    }
}

/// Completes when the commit is durable. Works with any executor.
impl Future for Ticket {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.refuse_forked()?;
        self.is_waiting = true;
        let waker = context.waker().clone();
        match self.commit_state.poll(self.id, self.transaction, waker) {
            Some(outcome) => Poll::Ready(self.named(outcome)),
            None => Poll::Pending,
        }
    }
}

impl Clone for Ticket {
    fn clone(&self) -> Self {
        let (commit_state, path) = (Arc::clone(&self.commit_state), Arc::clone(&self.path));
        let mut clone = Self::new(commit_state, path, self.transaction);
        clone.generation = self.generation;
        clone
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.is_waiting && !self.generation.is_past() {
            self.commit_state.forget(self.id);
        }
    }
}
