//! Flushing commits on request, and tickets of commits.

use super::{Database, Ticket};
use crate::{Error, Result, TransactionId};

impl Database {
    /// Returns when every commit so far is on disk. Does not wait for an open write transaction.
    ///
    /// ```
    /// # use teak::{Database, Durability};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("words")?;
    /// txn.set_durability(Durability::Lazy);
    /// txn.commit()?;
    /// if database.info().is_flush_due {
    ///     database.sync()?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the flush failed; nothing can be written then until the database is
    /// reopened. [`Error::Poisoned`] if an earlier flush failed; [`Error::ReadOnly`];
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn sync(&self) -> Result<()> {
        self.opening.writable()?.sync()
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

    /// Returns a ticket that reports when the commit `transaction` is durable, whatever its
    /// durability. A lazy commit becomes durable when it is flushed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no such commit yet; [`Error::ReadOnly`], because
    /// nothing becomes durable then.
    pub fn ticket(&self, transaction: TransactionId) -> Result<Ticket> {
        let engine = self.opening.writable()?;
        engine.show_memtable()?;
        let newest = engine.newest();
        if transaction > newest {
            let text = format!("there is no commit {transaction} yet; the newest is {newest}");
            return Err(Error::InvalidArgument(text));
        }
        Ok(engine.ticket(transaction))
    }
}
