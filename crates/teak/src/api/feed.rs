//! Change feeds.

use super::{
    Database, Differences, ReadTxn, Table, TableChange, Transaction, codec::Codec,
    differences::refuse_other_database, kind::Kind, sealed::Sealed,
};
use crate::{Result, TransactionId, process::commit_future::CommitFuture};
use std::time::Duration;

impl Database {
    /// Waits until readers see a commit after `after`, by any process. Waits at most for `limit`,
    /// or forever if it is `None`. Returns the newest commit that readers see, or `None` on
    /// timeout. Waiting threads sleep; a commit wakes them.
    ///
    /// ```
    /// # use teak::{Database, Transaction};
    /// # use std::time::Duration;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let seen = database.begin_read()?.id();
    /// assert_eq!(database.wait_for_commit(seen, Some(Duration::ZERO))?, None);
    ///
    /// let other = database.clone();
    /// let writer = std::thread::spawn(move || -> teak::Result<_> {
    ///     let mut txn = other.begin_write()?;
    ///     txn.create_table::<&str, &str>("words")?;
    ///     txn.commit()
    /// });
    /// let committed = database.wait_for_commit(seen, None)?;
    /// assert_eq!(committed, Some(writer.join().unwrap()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A lazy commit that was seen may be lost if the machine crashes, and another commit then gets
    /// its number. An application that stores numbers across crashes must compare them with
    /// [`DatabaseStat::durable_transaction`](crate::DatabaseStat::durable_transaction).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the database has been closed,
    /// also while waiting.
    pub fn wait_for_commit(
        &self,
        after: TransactionId,
        limit: Option<Duration>,
    ) -> Result<Option<TransactionId>> {
        self.opening.wait_for_commit(after, limit)
    }

    /// Returns a feed of the commits after a state of this database, past and future: after
    /// [`Database::begin_read`], of the commits from now on.
    ///
    /// ```
    /// # use teak::{Database, TableChange};
    /// # use std::time::Duration;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let seen = database.begin_read()?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("words")?;
    /// txn.commit()?;
    /// let mut feed = database.follow(seen)?;
    /// let changes = feed.next(Some(Duration::ZERO))?.expect("there was a commit");
    /// assert_eq!(changes.tables()?, [(b"words".to_vec(), TableChange::Created)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a state of another database.
    pub fn follow(&self, seen: ReadTxn) -> Result<ChangeFeed> {
        refuse_other_database(seen.engine(), self.opening.engine())?;
        Ok(ChangeFeed {
            database: self.clone(),
            seen,
        })
    }
}

/// A feed of commits by any process. It keeps the last state it returned, with all pages of the
/// file that this state sees, until the next one is requested. It also keeps the database open.
///
/// ```
/// # use teak::{Database, Difference};
/// # use std::time::Duration;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// # let counts = txn.create_table::<&str, u64>("counts")?;
/// # txn.commit()?;
/// let mut feed = database.follow(database.begin_read()?)?;
/// assert!(feed.next(Some(Duration::ZERO))?.is_none());
///
/// let mut txn = database.begin_write()?;
/// counts.insert(&mut txn, "teak", 7)?;
/// txn.commit()?;
///
/// let changes = feed.next(Some(Duration::from_secs(10)))?.expect("there was a commit");
/// for difference in changes.of(&counts)? {
///     assert_eq!(difference?, Difference::Inserted { key: "teak".into(), value: 7 });
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChangeFeed {
    database: Database,
    seen: ReadTxn,
}

impl ChangeFeed {
    /// Waits for a commit after the last state seen. Waits at most for `limit`, or forever if it is
    /// `None`; not at all if it is zero. Returns `None` on timeout. Several transactions committed
    /// meanwhile come as one change.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the database has been closed,
    /// also while waiting; [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the reader of the
    /// last state was cancelled. The changes since that state are unknown then, so begin another
    /// feed. The last state seen does not change in that case.
    pub fn next(&mut self, limit: Option<Duration>) -> Result<Option<Changes>> {
        self.seen.refuse_cancelled()?;
        let waited = self.database.wait_for_commit(self.seen.id(), limit)?;
        if waited.is_none() {
            return Ok(None);
        }
        let newer = self.database.begin_read()?;
        self.seen.refuse_cancelled()?;
        let older = std::mem::replace(&mut self.seen, newer.clone());
        Ok(Some(Changes { older, newer }))
    }

    /// Waits like [`ChangeFeed::next`], without a limit and without blocking the thread. Works with
    /// any executor. While any future waits, one thread of the process waits for all of them. Use
    /// your executor's timer for a limit: dropping the future loses no commit.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut feed = database.follow(database.begin_read()?)?;
    /// let print_changed_tables = async move || -> teak::Result<()> {
    ///     loop {
    ///         for (table, change) in feed.next_async().await?.tables()? {
    ///             println!("{}: {change:?}", table.escape_ascii());
    ///         }
    ///     }
    /// };
    /// # drop(print_changed_tables);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the database has been closed,
    /// also while waiting; [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the reader of the
    /// last state was cancelled: see [`ChangeFeed::next`]; [`Error::Io`](crate::Error::Io) if no
    /// thread can be started.
    pub async fn next_async(&mut self) -> Result<Changes> {
        loop {
            if let Some(changes) = self.next(Some(Duration::ZERO))? {
                return Ok(changes);
            }
            self.committed().await?;
        }
    }

    /// Waits for a commit after the last state seen.
    pub(super) fn committed(&self) -> CommitFuture {
        CommitFuture::new(&self.database.opening, self.seen.id())
    }

    /// The last state seen, from which [`Database::follow`] continues.
    #[must_use]
    pub fn seen(&self) -> &ReadTxn {
        &self.seen
    }
}

/// Two states, the second of which was committed after the first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Changes {
    /// The older state. To retry after a failure to process the changes, follow from here.
    pub older: ReadTxn,
    /// The newer state.
    pub newer: ReadTxn,
}

impl Changes {
    /// Returns the changed tables; see [`ReadTxn::changed_tables`].
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn tables(&self) -> Result<Vec<(Vec<u8>, TableChange)>> {
        self.newer.changed_tables(&self.older)
    }

    /// Returns the changed records of a table of any kind; see [`Table::differences`].
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if neither state has the table;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if it is of the other kind;
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the table was dropped and
    /// created again with other orders in between;
    /// [`Error::Corrupted`](crate::Error::Corrupted) or [`Error::Decode`](crate::Error::Decode).
    pub fn of<K: Codec, V: Codec, M: Kind>(
        &self,
        table: &Table<K, V, M>,
    ) -> Result<Differences<'_, K, V, M>> {
        table.differences(&self.older, &self.newer)
    }
}
