//! Flushing commits on request, and tickets of commits.

use super::{Database, Ticket};
use crate::{Error, Result, TransactionId};

impl Database {
    /// Returns when every commit so far is on disk. Does not wait for an open write transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the flush failed; nothing can be written then until the database is
    /// reopened. [`Error::Poisoned`] if an earlier flush failed; [`Error::ReadOnly`];
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn sync(&self) -> Result<()> {
        self.opening.writable()?.sync()
    }

    /// Like [`Database::sync`], but flushes only if lazy commits have reached one of the limits
    /// [`Options::flush_after`](crate::Options::flush_after) and
    /// [`Options::flush_after_bytes`](crate::Options::flush_after_bytes). Returns whether they had.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the flush failed; nothing can be written then until the database is
    /// reopened. [`Error::Poisoned`] if an earlier flush failed; [`Error::ReadOnly`];
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn sync_if_due(&self) -> Result<bool> {
        self.opening.writable()?.sync_if_due()
    }

    /// Starts flushing every commit so far, and returns without waiting. The ticket reports when
    /// they are durable.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the flush failed; nothing can be written then until the database is
    /// reopened. [`Error::Poisoned`] if an earlier flush failed; [`Error::ReadOnly`];
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn begin_sync(&self) -> Result<Ticket> {
        self.opening.writable()?.begin_sync()
    }

    /// Like [`Database::begin_sync`], but only if lazy commits have reached one of the limits of
    /// [`Database::sync_if_due`]; `None` if they have not.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the flush failed; nothing can be written then until the database is
    /// reopened. [`Error::Poisoned`] if an earlier flush failed; [`Error::ReadOnly`];
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn begin_sync_if_due(&self) -> Result<Option<Ticket>> {
        self.opening.writable()?.begin_sync_if_due()
    }

    /// Returns a ticket that reports when the commit `transaction` is durable, whatever its
    /// durability. A lazy commit becomes durable when it is flushed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no such commit yet; [`Error::ReadOnly`], because
    /// nothing becomes durable then.
    pub fn ticket(&self, transaction: TransactionId) -> Result<Ticket> {
        let engine = self.opening.writable()?;
        let newest = engine.newest();
        if transaction > newest {
            let text = format!("there is no commit {transaction} yet; the newest is {newest}");
            return Err(Error::InvalidArgument(text));
        }
        Ok(engine.ticket(transaction))
    }
}
