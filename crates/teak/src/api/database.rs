//! An open database.

#[cfg(feature = "compression")]
use super::options::Compression;
use super::{Metrics, ReadTxn, Recovery, WarmUp, Warmed, begin_queue::BeginQueue};
#[cfg(doc)]
use crate::Error;
#[cfg(feature = "encryption")]
use crate::cipher::Cipher;
use crate::{
    Geometry, Result, TransactionId, admin::warm_up, instance::opening::Opening, maintain::dropped,
    observe::slow_reader::ReaderInfo, page::max_key_len,
};
use std::{fmt, path::Path, sync::Arc, time::Duration};

/// An open database. Clones are handles to the same database and can be used from every thread.
/// Opening the same file again in this process returns another such handle, until the database is
/// closed. Other processes may have the file open as well.
///
/// ```
/// use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("people.teak");
/// let database = Database::open(&path)?;
/// let mut txn = database.begin_write()?;
/// let ages = txn.create_table::<&str, u64>("ages")?;
/// ages.insert(&mut txn, "Ada", 36)?;
/// txn.commit()?;
///
/// let txn = database.begin_read()?;
/// assert_eq!(ages.get(&txn, "Ada")?, Some(36));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Database {
    pub(super) opening: Arc<Opening>,
    pub(super) begin_queue: Arc<BeginQueue>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database").field(&self.path()).finish()
    }
}

/// Sizes and counts of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DatabaseStat {
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Size of a page in bytes.
    pub page_size: usize,
    /// Pages of the database, free ones included.
    pub page_count: u64,
    /// Pages in use: commit records, tables, the catalog and the free-space map.
    pub used_pages: u64,
    /// Free pages.
    pub free_pages: u64,
    /// Freed pages that a snapshot may still see.
    pub pending_pages: u64,
    /// The newest commit.
    pub transaction: TransactionId,
    /// The last commit known to be on disk.
    pub durable_transaction: TransactionId,
    /// Tables.
    pub table_count: u64,
    /// Pages still to be released, of dropped and emptied tables and of the values of removed keys.
    /// Each commit releases a few of them, or as many as it uses itself.
    pub dropped_pages: u64,
    /// Open read transactions; the clones of one count once.
    pub readers: usize,
}

/// The facts about an open database that are known without reading it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DatabaseInfo {
    /// The size of a page in bytes.
    pub page_size: usize,
    /// The longest key in bytes: the page size less 256, at most 32,767.
    pub max_key_len: usize,
    /// Whether this process uses a lock file, so that processes know of each other's readers and
    /// writers. It does not with [`Sharing::Alone`](crate::Sharing::Alone) or
    /// [`Sharing::Unlocked`](crate::Sharing::Unlocked), nor where no lock file can be created or
    /// written.
    pub has_lock_file: bool,
    /// The findings of opening it, and the repairs.
    pub recovery: Recovery,
    /// The id of the process that is writing now. `None` if no process writes, or if its id is not
    /// known here, as in another PID namespace. A process may keep the writer lock between two
    /// transactions, to commit what it has in memory.
    pub writer_process: Option<u32>,
    /// Whether lazy commits have reached one of the limits
    /// [`Options::flush_after`](crate::Options::flush_after) and
    /// [`Options::flush_after_bytes`](crate::Options::flush_after_bytes), so that a background
    /// thread is about to flush them. A program that flushes at moments of its own asks this before
    /// it calls [`Database::sync`]. `true` after a failed flush, whose error `sync` returns.
    pub is_flush_due: bool,
    /// The cipher of an encrypted database. `None` if the database is not encrypted.
    #[cfg(feature = "encryption")]
    pub cipher: Option<Cipher>,
    /// How the database is compressed. `None` if it is not.
    #[cfg(feature = "compression")]
    pub compression: Option<Compression>,
}

impl Database {
    pub(super) fn new(opening: Opening) -> Self {
        Self {
            opening: Arc::new(opening),
            begin_queue: Arc::default(),
        }
    }

    /// Begins to read the newest committed state. This state does not change for the transaction,
    /// whatever is committed meanwhile. Readers never block writers, and writers never block
    /// readers.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed. [`Error::Io`], [`Error::Full`]
    /// or [`Error::Poisoned`] if small commits cannot be merged into the tables
    /// ([`Options::memtable`](crate::Options::memtable)). The first operation of the transaction
    /// that is not a lookup may merge them instead. It can then be one of these errors, or
    /// [`Error::TooManyReaders`], until it succeeds.
    pub fn begin_read(&self) -> Result<ReadTxn> {
        let begun = self.opening.readable()?.begin_read_buffered();
        begun.map(ReadTxn::buffered)
    }

    /// Stops everything this process does from reaching other processes; `false` if no other
    /// process can have the database open.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn die(&self) -> std::io::Result<bool> {
        self.opening.engine().die()
    }

    /// Whether another process waits for the writer lock.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn is_writer_awaited(&self) -> bool {
        let committer = &self.opening.engine().committer;
        committer.process_writer_lock.has_waiters()
    }

    /// The last commit whose trees are known to be on the disk.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn durable_in_trees(&self) -> TransactionId {
        self.opening.engine().durable_in_trees()
    }

    /// How often the write-ahead log was flushed; 0 if there is none.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn log_flush_count(&self) -> u64 {
        let log = self.opening.engine().memtable.lock().log_file();
        log.map_or(0, |log| log.flush_count())
    }

    /// Closes the database: waits for an open write transaction, makes every commit durable,
    /// truncates the free end of the file, and records a clean close. If something was changed, no
    /// other process has the database open, and more than a twelfth of the file is free, it first
    /// moves pages from the end to earlier free pages. This takes at most a second, or an eighth of
    /// the time the database was open, but never longer than ten seconds. It is not done if
    /// [`Options::move_percent`](crate::Options::move_percent) is 0 or a shrink threshold was set.
    /// Open read transactions keep the file; no transaction can begin any more. Dropping the last
    /// handle closes the database in the same way, once the last transaction has ended, but moves
    /// no pages and reports no errors. With
    /// [`Options::flush_on_close`](crate::Options::flush_on_close) off, lazy commits are not flushed
    /// and nothing is written, unless a flush is running.
    ///
    /// Waits for an open write transaction for 30 seconds at most: the closing thread itself may
    /// own it, or it may have been leaked (`std::mem::forget`).
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::InvalidArgument`] if a write transaction did not end. Nothing was
    /// closed then, and other handles remain usable. If there are none, the database is closed when
    /// the transaction ends.
    pub fn close(self) -> Result<()> {
        self.opening.close()
    }

    /// The path the database was opened at.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.opening.engine().path()
    }

    /// Returns the facts about the database that are known without reading it, such as the findings
    /// of opening it.
    ///
    /// ```
    /// # use teak::{Database, Recovery};
    /// # let directory = tempfile::tempdir()?;
    /// let database = Database::open(directory.path().join("coins.teak"))?;
    /// let info = database.info();
    /// assert!(info.has_lock_file && info.recovery == Recovery::Clean);
    /// assert_eq!((info.page_size, info.max_key_len), (4096, 3840));
    /// let txn = database.begin_write()?;
    /// assert_eq!(database.info().writer_process, Some(std::process::id()));
    /// # drop(txn);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn info(&self) -> DatabaseInfo {
        let engine = self.opening.engine();
        let (readable, writable) = (self.opening.readable(), self.opening.writable());
        #[cfg(any(feature = "encryption", feature = "compression"))]
        let mapping = engine.mapping();
        DatabaseInfo {
            page_size: engine.page_size(),
            max_key_len: max_key_len(engine.usable_page_len()),
            has_lock_file: engine.has_lock_file(),
            recovery: engine.recovery().clone(),
            writer_process: readable.ok().and_then(|engine| engine.writer_process()),
            // After a failed flush, `sync` returns the error.
            is_flush_due: writable.is_ok_and(|engine| engine.is_flush_due().unwrap_or(true)),
            #[cfg(feature = "encryption")]
            cipher: mapping.cipher(),
            #[cfg(feature = "compression")]
            compression: mapping.compression(),
        }
    }

    /// The size limits of the file, and how it grows and shrinks, as of the newest commit.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn geometry(&self) -> Result<Geometry> {
        Ok(self.opening.readable()?.begin_read()?.geometry())
    }

    /// Sizes and counts, as of the newest commit.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn stat(&self) -> Result<DatabaseStat> {
        let engine = self.opening.readable()?;
        let snapshot = engine.begin_read()?;
        let page_count = snapshot.page_count();
        let [free_pages, pending_pages] = snapshot.counts()?;
        let (table_count, dropped_pages) = dropped::counts(&snapshot)?;
        Ok(DatabaseStat {
            file_bytes: engine.file_bytes(),
            page_size: engine.page_size(),
            page_count,
            used_pages: page_count
                .saturating_sub(free_pages)
                .saturating_sub(pending_pages),
            free_pages,
            pending_pages,
            transaction: snapshot.transaction(),
            durable_transaction: engine.durable(),
            table_count,
            dropped_pages,
            readers: engine.reader_count()?.saturating_sub(1),
        })
    }

    /// Loads the used part of the file into memory, from its beginning on, for at most `limit`.
    /// Reads do not wait for the disk afterwards, if there is enough memory.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use teak::{Database, WarmUp};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let warmed = database.warm_up(WarmUp::Read, Duration::from_secs(60))?;
    /// assert!(warmed.is_whole && warmed.bytes > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if a part of the file cannot be read, or if no more of it may be locked;
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn warm_up(&self, method: WarmUp, limit: Duration) -> Result<Warmed> {
        warm_up::warm_up(&*self.opening.readable()?.begin_read()?, method, limit)
    }

    /// The opposite of [`Database::warm_up`]: unlocks memory that [`WarmUp::Lock`] locked, and
    /// tells the system that this process does not need the file in memory now. Later reads load it
    /// again.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use teak::{Database, WarmUp};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// database.warm_up(WarmUp::Lock, Duration::from_secs(60))?;
    /// database.release_memory()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::InvalidArgument`] if the database has been closed.
    pub fn release_memory(&self) -> Result<()> {
        warm_up::release(&*self.opening.readable()?.begin_read()?)
    }

    /// Returns what this process has done to the database since it opened it.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("words")?;
    /// txn.commit()?;
    /// let metrics = database.metrics();
    /// assert_eq!((metrics.commits, metrics.flushes), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.opening.engine().metrics()
    }

    /// Lists all read transactions of all processes, the one with the oldest state first: their
    /// owners, their ages, and the part of the file that only they keep. Reads the free-space map.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let reader = database.begin_read()?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("words")?;
    /// txn.commit()?;
    /// let readers = database.readers()?;
    /// assert_eq!(readers.len(), 1);
    /// assert_eq!((readers[0].process, readers[0].lag), (Some(std::process::id()), 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed; [`Error::Corrupted`].
    pub fn readers(&self) -> Result<Vec<ReaderInfo>> {
        self.opening.readable()?.readers()
    }

    /// Cancels a read transaction of any process: asks it to give up its state. From then on its
    /// operations fail with [`Error::SnapshotLost`]; iterators and cursors fail when they move to
    /// another leaf. Data it has borrowed stays unchanged, so its pages become free only when it is
    /// dropped. Returns `false` if it has already ended. Only this transaction is cancelled; the
    /// thread's next one is not affected.
    ///
    /// ```
    /// # use teak::{Database, Error, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let txn = database.begin_read()?;
    /// for reader in database.readers()? {
    ///     database.cancel_reader(&reader)?;
    /// }
    /// assert!(matches!(txn.tables(), Err(Error::SnapshotLost)));
    /// drop(txn);
    /// assert!(database.begin_read()?.tables().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `reader` does not come from [`Database::readers`] of this
    /// database, or if the database has been closed.
    pub fn cancel_reader(&self, reader: &ReaderInfo) -> Result<bool> {
        self.opening.readable()?.cancel_reader(reader)
    }
}
