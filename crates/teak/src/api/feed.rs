//! Following what is committed.

use super::{
    Database, Differences, ReadTxn, Table, TableChange, Transaction, codec::Codec,
    differences::refuse_other_database, sealed::Sealed,
};
use crate::{Result, TransactionId};
use std::time::Duration;

impl Database {
    /// Waits until readers see a commit behind `after`, by whichever process, for as long as `limit`, or for ever; returns the
    /// newest that they see, or `None` if the time was not enough. Who waits sleeps, and who commits wakes him.
    ///
    /// ```
    /// # use teak::{Database, Transaction, codec::Str};
    /// # use std::time::Duration;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let seen = database.begin_read()?.id();
    /// assert_eq!(database.wait_for_commit(seen, Some(Duration::ZERO))?, None);
    ///
    /// let other = database.clone();
    /// let writer = std::thread::spawn(move || -> teak::Result<_> {
    ///     let mut txn = other.begin_write()?;
    ///     txn.create_table::<Str, Str>("words")?;
    ///     txn.commit()
    /// });
    /// let committed = database.wait_for_commit(seen, None)?;
    /// assert_eq!(committed, Some(writer.join().unwrap()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A lazy commit that was seen may be lost when the machine goes down, and another one gets its number. Who keeps numbers across that
    /// compares with [`DatabaseStat::durable_transaction`](crate::DatabaseStat::durable_transaction).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the database has been closed, also meanwhile.
    pub fn wait_for_commit(
        &self,
        after: TransactionId,
        limit: Option<Duration>,
    ) -> Result<Option<TransactionId>> {
        self.opening.wait_for_commit(after, limit)
    }

    /// Follows what is committed from now on.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut feed = database.follow()?;
    /// assert!(feed.poll()?.is_none(), "nothing was committed since");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Database::begin_read`].
    pub fn follow(&self) -> Result<ChangeFeed> {
        self.follow_from(self.begin_read()?)
    }

    /// Follows what was and is committed behind a state of this database.
    ///
    /// ```
    /// # use teak::{Database, TableChange, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let seen = database.begin_read()?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<Str, Str>("words")?;
    /// txn.commit()?;
    /// let mut feed = database.follow_from(seen)?;
    /// let changes = feed.poll()?.expect("there was a commit");
    /// assert_eq!(changes.tables()?, [(b"words".to_vec(), TableChange::Created)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a state of another database.
    pub fn follow_from(&self, seen: ReadTxn) -> Result<ChangeFeed> {
        refuse_other_database(seen.engine(), self.opening.engine())?;
        Ok(ChangeFeed {
            database: self.clone(),
            seen,
        })
    }
}

/// Follows what is committed, by whichever process. It keeps the state that was seen last, and with it all of the
/// file that this one sees, until the next one is asked for; and the database open.
///
/// ```
/// # use teak::{Database, Difference, codec::{Str, U64}};
/// # use std::time::Duration;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// # let counts = txn.create_table::<Str, U64>("counts")?;
/// # txn.commit()?;
/// let mut feed = database.follow()?;
/// assert!(feed.poll()?.is_none());
///
/// let mut txn = database.begin_write()?;
/// counts.insert(&mut txn, "teak", 7)?;
/// txn.commit()?;
///
/// let changes = feed.next(Some(Duration::from_secs(10)))?.expect("there was a commit");
/// for difference in changes.of(&counts)? {
///     assert_eq!(difference?, Difference::Inserted { key: "teak".to_owned(), value: 7 });
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChangeFeed {
    database: Database,
    seen: ReadTxn,
}

impl ChangeFeed {
    /// Waits for a commit behind the state that was seen last, for as long as `limit`, or for ever; `None` if the time was
    /// not enough. What was committed by several transactions meanwhile comes as one.
    ///
    /// # Errors
    ///
    /// Those of [`Database::wait_for_commit`] and [`Database::begin_read`]; [`Error::SnapshotLost`](crate::Error::SnapshotLost) if somebody
    /// cancelled the reader of the state that was seen last: what has changed since cannot be told any more, so begin another feed. The
    /// state that was seen last stays the same then.
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

    /// The same without waiting.
    ///
    /// # Errors
    ///
    /// Those of [`ChangeFeed::next`].
    pub fn poll(&mut self) -> Result<Option<Changes>> {
        self.next(Some(Duration::ZERO))
    }

    /// The state that was seen last.
    #[must_use]
    pub fn seen(&self) -> &ReadTxn {
        &self.seen
    }

    /// Ends the feed; [`Database::follow_from`] goes on from the state that was seen last.
    #[must_use]
    pub fn into_seen(self) -> ReadTxn {
        self.seen
    }
}

/// Two states, the second of which was committed behind the first.
#[derive(Clone, Debug)]
pub struct Changes {
    older: ReadTxn,
    newer: ReadTxn,
}

impl Changes {
    /// The state that was seen before. Whoever could not make use of the changes follows on from here.
    #[must_use]
    pub fn older(&self) -> &ReadTxn {
        &self.older
    }

    /// The newer state.
    #[must_use]
    pub fn newer(&self) -> &ReadTxn {
        &self.newer
    }

    /// The tables that changed; see [`ReadTxn::changed_tables`].
    ///
    /// # Errors
    ///
    /// Those of [`ReadTxn::changed_tables`].
    pub fn tables(&self) -> Result<Vec<(Vec<u8>, TableChange)>> {
        self.newer.changed_tables(&self.older)
    }

    /// The records of a table that changed; see [`Table::differences`].
    ///
    /// # Errors
    ///
    /// Those of [`Table::differences`].
    pub fn of<K: Codec, V: Codec>(&self, table: &Table<K, V>) -> Result<Differences<'_, K, V>> {
        table.differences(&self.older, &self.newer)
    }
}
