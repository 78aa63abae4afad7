//! Prepared transactions: preparing, listing, reading and deciding.

use super::{Database, PreparedInfo, ReadTxn, WriteTxn, named_snapshots::refuse_name};
use crate::{
    Result, TransactionId,
    commit::pipeline::prepare::prepare,
    write::prepared::{PreparedEnd, decide, prepared},
};

impl WriteTxn {
    /// Prepares this transaction: makes its changes durable under a name, without committing them.
    /// Readers do not see them until [`Database::commit_prepared`], and
    /// [`Database::rollback_prepared`] undoes them. Either is possible in any process, also after
    /// this one has ended or the machine went down. So a coordinator can first have several
    /// databases prepare, and then commit all of them or none.
    ///
    /// The name has 1 to 255 bytes; coordinators use the id of the global transaction. An empty
    /// transaction is prepared like any other. The transaction is durable whatever durability was
    /// set, and savepoints end. The visible state gets a new number and does not change. Returns
    /// the id of the prepared transaction, as in [`PreparedInfo::transaction`].
    ///
    /// While a transaction is prepared, **no other one begins to write**, in any process: it waits
    /// as for another writer, or fails with
    /// [`Error::TransactionPrepared`](crate::Error::TransactionPrepared) when its timeout ends. So
    /// the commit cannot meet a conflict, and finds the space that it needs. Readers are not
    /// affected. A program that prepares transactions looks at [`Database::prepared`] when it
    /// starts, before it writes.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let ages = txn.create_table::<&str, u64>("ages")?;
    /// txn.commit()?;
    ///
    /// let mut txn = database.begin_write()?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// txn.prepare("transfer 7")?;
    /// assert_eq!(ages.get(&database.begin_read()?, "Ada")?, None);
    ///
    /// // Later, perhaps in another process.
    /// database.commit_prepared("transfer 7")?;
    /// assert_eq!(ages.get(&database.begin_read()?, "Ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a name that is empty or longer
    /// than 255 bytes, and for a transaction that creates or drops a named snapshot or sets the
    /// geometry; [`Error::UnknownFormat`](crate::Error::UnknownFormat) if a table requires a newer
    /// version of Teak. [`Error::Io`](crate::Error::Io) or [`Error::Full`](crate::Error::Full):
    /// nothing was prepared, unless the write of the commit record or a flush failed
    /// ([`Error::Poisoned`](crate::Error::Poisoned) until the database is reopened): then
    /// [`Database::prepared`] says after the reopening whether it was.
    /// [`Error::TransactionBroken`](crate::Error::TransactionBroken) if an earlier error left this
    /// transaction unfinished. All of them end the transaction.
    pub fn prepare(self, name: impl AsRef<[u8]>) -> Result<TransactionId> {
        refuse_name("prepared transaction", name.as_ref())?;
        prepare(self.into_whole()?, name.as_ref())
    }
}

impl Database {
    /// Lists the prepared transactions. There is at most one, since no other transaction begins to
    /// write before it is decided.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, u64>("ages")?;
    /// txn.prepare("transfer 7")?;
    /// let prepared = database.prepared()?;
    /// assert_eq!(prepared[0].name, b"transfer 7");
    /// assert!(prepared[0].changed_pages > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the database has been closed;
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn prepared(&self) -> Result<Vec<PreparedInfo>> {
        prepared(self.opening.readable()?)
    }

    /// Begins to read the state that a prepared transaction would make visible.
    ///
    /// ```
    /// # use teak::{Database, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, u64>("ages")?;
    /// txn.prepare("transfer 7")?;
    /// assert_eq!(database.open_prepared("transfer 7")?.tables()?.len(), 1);
    /// assert_eq!(database.begin_read()?.tables()?.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::PreparedNotFound`](crate::Error::PreparedNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the database has been closed.
    pub fn open_prepared(&self, name: impl AsRef<[u8]>) -> Result<ReadTxn> {
        let reader = self
            .opening
            .readable()?
            .begin_read_prepared(name.as_ref())?;
        Ok(ReadTxn::new(reader))
    }

    /// Commits a prepared transaction: readers see its changes from now on. Returns the id of the
    /// new state, which is durable. Reads as many pages as the transaction has changed, and writes
    /// few.
    ///
    /// ```
    /// # use teak::{Database, Error};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # txn.create_table::<&str, u64>("ages")?;
    /// txn.prepare("transfer 7")?;
    /// database.commit_prepared("transfer 7")?;
    /// assert!(matches!(database.commit_prepared("transfer 7"), Err(Error::PreparedNotFound(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::PreparedNotFound`](crate::Error::PreparedNotFound), also if it was decided before;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly); [`Error::Poisoned`](crate::Error::Poisoned)
    /// after a failed write or flush; [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full): it stays prepared, unless the write of the commit
    /// record or a flush failed. Then [`Database::prepared`] says after the reopening whether it
    /// was decided. [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the database has been closed.
    pub fn commit_prepared(&self, name: impl AsRef<[u8]>) -> Result<TransactionId> {
        decide(self.opening.writable()?, name.as_ref(), PreparedEnd::Commit)
    }

    /// Undoes a prepared transaction. Its pages are free from then on. Returns the id of the new
    /// state, which has the same tables as the state before, and is durable.
    ///
    /// ```
    /// # use teak::{Database, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # txn.create_table::<&str, u64>("ages")?;
    /// txn.prepare("transfer 7")?;
    /// database.rollback_prepared("transfer 7")?;
    /// assert!(database.begin_read()?.tables()?.is_empty());
    /// assert!(database.prepared()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::PreparedNotFound`](crate::Error::PreparedNotFound), also if it was decided before;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly);
    /// [`Error::Poisoned`](crate::Error::Poisoned) after a failed write or flush;
    /// [`Error::Io`](crate::Error::Io) or [`Error::Full`](crate::Error::Full): it stays prepared,
    /// unless the write of the commit record or a flush failed.
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the database has been closed.
    pub fn rollback_prepared(&self, name: impl AsRef<[u8]>) -> Result<TransactionId> {
        decide(
            self.opening.writable()?,
            name.as_ref(),
            PreparedEnd::RollBack,
        )
    }
}
