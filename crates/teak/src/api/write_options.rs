//! Beginning to write, with options.

use super::{Database, Durability, ReadTxn, Transaction, WriteTxn, sealed::Sealed};
use crate::{
    Error, Result,
    write::{small::Begun, transaction::WriteTransaction},
};
use std::{sync::Arc, time::Duration};

/// How [`Database::begin_write_with`] begins: how long it waits for other writers, on which state,
/// and with which durability. Without any option it begins like [`Database::begin_write`].
///
/// ```
/// # use teak::Database;
/// use teak::WriteOptions;
/// # use std::time::Duration;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let options = WriteOptions::new().timeout(Duration::from_millis(10));
/// let txn = database.begin_write_with(options)?.expect("nobody else writes");
/// # drop(txn);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default, Debug)]
#[must_use]
pub struct WriteOptions<'r> {
    timeout: Option<Duration>,
    state: Option<&'r ReadTxn>,
    durability: Option<Durability>,
}

impl<'r> WriteOptions<'r> {
    /// Defaults: waits as long as there are other writers, on the newest state, with the durability
    /// of the database.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long to wait for other writers, in this process or another; not at all if `limit`
    /// is zero.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Begins exactly on the state that `read` sees, so that decisions based on reading it still
    /// hold; otherwise fails with [`Error::SnapshotStale`]. `read` keeps its state, and with it the
    /// pages that the transaction replaces; drop it when it is no longer needed.
    ///
    /// ```
    /// # use teak::{Database, Error, WriteOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let ages = txn.create_table::<&str, u64>("ages")?;
    /// # ages.insert(&mut txn, "Ada", 36)?;
    /// # txn.commit()?;
    /// let mut reader = database.begin_read()?;
    /// let transaction = loop {
    ///     let age = ages.get(&reader, "Ada")?.unwrap_or(0); // ... and much more that takes its time
    ///     match database.begin_write_with(WriteOptions::new().at(&reader)) {
    ///         Ok(begun) => {
    ///             let mut txn = begun.expect("there is no timeout");
    ///             ages.insert(&mut txn, "Ada", age + 1)?;
    ///             break txn.commit()?;
    ///         }
    ///         Err(Error::SnapshotStale { .. }) => reader.refresh()?, // somebody was faster
    ///         Err(error) => return Err(error.into()),
    ///     };
    /// };
    /// let stale = database.begin_write_with(WriteOptions::new().at(&reader));
    /// assert!(matches!(stale, Err(Error::SnapshotStale { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at(mut self, read: &'r ReadTxn) -> Self {
        self.state = Some(read);
        self
    }

    /// Sets the durability of the commit; see [`WriteTxn::set_durability`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }
}

impl Database {
    /// Begins a write transaction; waits while there is another writer, in this process or another.
    /// A thread that has a [`WriteTxn`] must not begin another one: it would wait for itself
    /// forever. (This is no error, because the first transaction may be sent to another thread and
    /// end there, but an event: [`Event::WaitsForItself`](crate::Event::WaitsForItself).)
    ///
    /// A transaction that changes nothing commits nothing. While it is open, no other thread or
    /// process writes, and the newest state stays the newest.
    ///
    /// If an earlier transaction found no space and there are [pages to be
    /// released](crate::DatabaseStat::dropped_pages), they are released first, by durable commits
    /// that change nothing else. This method releases all of them, however long it takes.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Poisoned`] after a failed write or flush; [`Error::Io`] if
    /// releasing dropped pages fails for another reason than lack of space;
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn begin_write(&self) -> Result<WriteTxn> {
        let begun = Begun::begin(self.opening.writable()?, None, None)?;
        Ok(WriteTxn::begun(begun.expect(
            "without a limit the writer lock is always acquired",
        )))
    }

    /// Begins a write transaction with options. Returns `None` if other writers kept the writer
    /// lock as long as the options allow to wait; without such a limit never.
    ///
    /// If an earlier transaction found no space and there are pages to be released, a transaction
    /// with a limit or on a given state releases one commit's worth of them first. The id of the
    /// transaction is then greater by one.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use teak::{Database, WriteOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let at_once = WriteOptions::new().timeout(Duration::ZERO);
    /// let txn = database.begin_write()?;
    /// assert!(database.begin_write_with(at_once)?.is_none());
    /// drop(txn);
    /// assert!(database.begin_write_with(at_once)?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the options name a state of another database, or if the
    /// database has been closed. [`Error::SnapshotStale`] if there is a newer commit than the state
    /// that they name, whether or not readers see it yet;
    /// [`Error::SnapshotLost`] if that reader was cancelled. [`Error::ReadOnly`];
    /// [`Error::Poisoned`] after a failed write or flush; [`Error::Io`] if releasing dropped pages
    /// fails for another reason than lack of space.
    pub fn begin_write_with(&self, options: WriteOptions<'_>) -> Result<Option<WriteTxn>> {
        let engine = self.opening.writable()?;
        if let Some(read) = options.state {
            if !Arc::ptr_eq(engine, read.engine()) {
                let text = "the read transaction belongs to another database, or to an earlier opening of this one; begin it with this handle";
                return Err(Error::InvalidArgument(text.into()));
            }
            read.refuse_cancelled()?;
        }
        let state = options.state.map(Transaction::id);
        let begun = match state {
            None => Begun::begin(engine, options.timeout, options.durability)?,
            Some(_) => {
                let begun = WriteTransaction::begin_within(engine, options.timeout, state)?;
                begun.map(Begun::Whole)
            }
        };
        let mut txn = begun.map(WriteTxn::begun);
        if let (Some(txn), Some(durability)) = (&mut txn, options.durability) {
            txn.set_durability(durability);
        }
        Ok(txn)
    }
}
