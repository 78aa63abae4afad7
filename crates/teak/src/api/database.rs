//! An open database.

use super::{
    CheckProgress, CheckReport, Metrics, PageUse, ReadTxn, Recovery, Ticket, Transaction, WarmUp,
    Warmed, WriteTxn, WriterGuard, sealed::Sealed,
};
use crate::{
    Error, Geometry, PageNumber, Result, SnapshotInfo, TransactionId,
    admin::{check, page_usage, warm_up},
    btree::PageSource,
    instance::opening::Opening,
    maintain::{
        compact::{CompactOptions, CompactProgress},
        dropped,
    },
    observe::slow_reader::ReaderInfo,
    page::max_key_len,
    write::{begin::ReservedWriterLock, transaction::WriteTransaction},
};
use std::{ops::ControlFlow, path::Path, sync::Arc, time::Duration};

/// An open database. Clones are handles to the same one, usable from every thread; so is what opening it again
/// in the same process gives, until it is closed. Other processes may have it open as well.
///
/// ```
/// use teak::{Database, codec::{Str, U64}};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("people.teak");
/// let database = Database::open(&path)?;
/// let mut txn = database.begin_write()?;
/// let ages = txn.create_table::<Str, U64>("ages")?;
/// ages.insert(&mut txn, "Ada", 36)?;
/// txn.commit()?;
///
/// let txn = database.begin_read()?;
/// assert_eq!(ages.get(&txn, "Ada")?, Some(36));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Database {
    pub(super) opening: Arc<Opening>,
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
    /// Pages in use: commit records, tables, the catalog and the space map.
    pub used_pages: u64,
    /// Free pages.
    pub free_pages: u64,
    /// Pages that are dead, and that some snapshot may still see.
    pub pending_pages: u64,
    /// The newest commit.
    pub transaction: TransactionId,
    /// The last commit that is known to be on the disk.
    pub durable_transaction: TransactionId,
    /// Tables.
    pub table_count: u64,
    /// Pages of dropped and emptied tables, and of the values of keys that were removed, that are yet to be released: commits do so a
    /// few at a time, or as many as they take themselves.
    pub dropped_pages: u64,
    /// Read transactions that are open; clones of one count once.
    pub readers: usize,
}

impl Database {
    pub(super) fn new(opening: Opening) -> Self {
        Self {
            opening: Arc::new(opening),
        }
    }

    /// Begins to read the newest committed state. It stays as it is for this transaction, whatever
    /// is committed meanwhile, and nobody waits for anybody.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn begin_read(&self) -> Result<ReadTxn> {
        self.opening.readable()?.begin_read().map(ReadTxn::new)
    }

    /// Begins to write; waits while there is another writer, in this process or another. A thread that has a [`WriteTxn`] must
    /// not begin another one: it would wait for itself, for ever. (That is not found out, since the
    /// first one may be sent to another thread, and end there.)
    ///
    /// Where a transaction before it found no space, and there are [pages to be released](DatabaseStat::dropped_pages), they are released
    /// first, by durable commits that change nothing else: for as long as it takes, and in the ways to begin that do not wait by one commit.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Poisoned`] after a failed write or flush; [`Error::Io`] if what is released first fails for another reason than
    /// lack of space; [`Error::InvalidArgument`] if the database has been closed.
    pub fn begin_write(&self) -> Result<WriteTxn> {
        WriteTransaction::begin(self.opening.writable()?).map(WriteTxn::new)
    }

    /// The same if there is no other writer, in this process or another; `None` if there is.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let txn = database.begin_write()?;
    /// assert!(database.try_begin_write()?.is_none());
    /// drop(txn);
    /// assert!(database.try_begin_write()?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Database::begin_write`].
    pub fn try_begin_write(&self) -> Result<Option<WriteTxn>> {
        self.begin_write_timeout(Duration::ZERO)
    }

    /// The same, but waits for other writers only as long as `limit`; `None` if that was not enough.
    ///
    /// # Errors
    ///
    /// Those of [`Database::begin_write`].
    pub fn begin_write_timeout(&self, limit: Duration) -> Result<Option<WriteTxn>> {
        let begun = WriteTransaction::begin_within(self.opening.writable()?, limit)?;
        Ok(begun.map(WriteTxn::new))
    }

    /// The id of the process that writes at this moment; `None` if none does, or if it is not known here, as in another PID namespace.
    /// A process may keep the writer's place between two transactions, to commit what it has in memory.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let txn = database.begin_write()?;
    /// assert_eq!(database.writer_process()?, Some(std::process::id()));
    /// # drop(txn);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn writer_process(&self) -> Result<Option<u32>> {
        Ok(self.opening.readable()?.writer_process())
    }

    /// Begins to write, exactly on the state that `read` sees: what was decided by reading it still holds. Waits for other writers, unless
    /// one of them has committed already. `read` keeps its state, and with it the pages that the transaction
    /// replaces; drop it when it is not needed any more. Where an earlier transaction found no space and tables were dropped, some of their
    /// space is released first, by a commit that changes no record: the id of this transaction is greater by one then.
    ///
    /// ```
    /// # use teak::{Database, Error, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let ages = txn.create_table::<Str, U64>("ages")?;
    /// # ages.insert(&mut txn, "Ada", 36)?;
    /// # txn.commit()?;
    /// let mut reader = database.begin_read()?;
    /// let transaction = loop {
    ///     let age = ages.get(&reader, "Ada")?.unwrap_or(0); // ... and much more that takes its time
    ///     match database.begin_write_at(&reader) {
    ///         Ok(mut txn) => {
    ///             ages.insert(&mut txn, "Ada", age + 1)?;
    ///             break txn.commit()?;
    ///         }
    ///         Err(Error::SnapshotStale { .. }) => reader.refresh()?, // somebody was faster
    ///         Err(error) => return Err(error.into()),
    ///     };
    /// };
    /// assert!(matches!(database.begin_write_at(&reader), Err(Error::SnapshotStale { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotStale`] if there is a newer commit, seen by readers or not; [`Error::InvalidArgument`] if `read` is of another database;
    /// [`Error::SnapshotLost`] if it was cancelled; those of [`Database::begin_write`].
    pub fn begin_write_at(&self, read: &ReadTxn) -> Result<WriteTxn> {
        let begun = self.begin_write_at_within(read, None)?;
        Ok(begun.expect("without a limit there is no end but the turn"))
    }

    /// The same if there is no other writer, in this process or another; `None` if there is.
    ///
    /// # Errors
    ///
    /// Those of [`Database::begin_write_at`].
    pub fn try_begin_write_at(&self, read: &ReadTxn) -> Result<Option<WriteTxn>> {
        self.begin_write_at_within(read, Some(Duration::ZERO))
    }

    fn begin_write_at_within(
        &self,
        read: &ReadTxn,
        limit: Option<Duration>,
    ) -> Result<Option<WriteTxn>> {
        let engine = self.opening.writable()?;
        if !Arc::ptr_eq(engine, read.engine()) {
            let text = "the read transaction is of another database, or of an earlier opening of this one; begin it here";
            return Err(Error::InvalidArgument(text.into()));
        }
        read.refuse_cancelled()?;
        let begun = WriteTransaction::begin_at(engine, read.id(), limit)?;
        Ok(begun.map(WriteTxn::new))
    }

    /// Waits for the writer's place, as [`Database::begin_write`] does, and begins nothing yet: the newest state stays that until the place
    /// is given up, by dropping it, or by a transaction that begins with it.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let place = database.lock_writer()?;
    /// assert!(database.try_begin_write()?.is_none());
    /// let txn = place.begin()?;
    /// # drop(txn);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Database::begin_write`].
    pub fn lock_writer(&self) -> Result<WriterGuard> {
        let held = ReservedWriterLock::take(self.opening.writable()?, None)?;
        let held = held.expect("without a limit there is no end but the turn");
        Ok(WriterGuard::new(held))
    }

    /// The same if nobody else has it, in this process or another; `None` if somebody has.
    ///
    /// # Errors
    ///
    /// Those of [`Database::begin_write`].
    pub fn try_lock_writer(&self) -> Result<Option<WriterGuard>> {
        let held = ReservedWriterLock::take(self.opening.writable()?, Some(Duration::ZERO))?;
        Ok(held.map(WriterGuard::new))
    }

    /// Has nothing of what this process does reach the others any more; `false` if nobody can have the database open with it.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn die(&self) -> std::io::Result<bool> {
        self.opening.engine().die()
    }

    /// Returns when every commit so far is on the disk. Does not wait for a write transaction that is
    /// open.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the flush failed; nothing can be written then until the database is opened
    /// anew. [`Error::Poisoned`] if that was so before; [`Error::ReadOnly`];
    /// [`Error::InvalidArgument`] if the database has been closed.
    pub fn sync(&self) -> Result<()> {
        self.opening.writable()?.sync()
    }

    /// The same, but only if lazy commits have reached one of the limits
    /// [`Options::flush_after`](crate::Options::flush_after) and [`Options::flush_after_bytes`](crate::Options::flush_after_bytes); says whether they had.
    ///
    /// # Errors
    ///
    /// Those of [`Database::sync`].
    pub fn sync_if_due(&self) -> Result<bool> {
        self.opening.writable()?.sync_if_due()
    }

    /// Has every commit so far brought to the disk, and does not wait for that: the ticket tells.
    ///
    /// # Errors
    ///
    /// Those of [`Database::sync`].
    pub fn begin_sync(&self) -> Result<Ticket> {
        self.opening.writable()?.begin_sync()
    }

    /// The same, but only if lazy commits have reached one of the limits, as
    /// [`Database::sync_if_due`] has it; `None` if they have not.
    ///
    /// # Errors
    ///
    /// Those of [`Database::sync`].
    pub fn begin_sync_if_due(&self) -> Result<Option<Ticket>> {
        self.opening.writable()?.begin_sync_if_due()
    }

    /// What tells when the commit `transaction` is durable, whatever durability it asked for. A
    /// lazy one becomes durable when something has it flushed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no such commit yet; [`Error::ReadOnly`], since nothing
    /// becomes durable then.
    pub fn ticket(&self, transaction: TransactionId) -> Result<Ticket> {
        let engine = self.opening.writable()?;
        let newest = engine.newest();
        if transaction > newest {
            let text = format!("there is no commit {transaction} yet; the newest is {newest}");
            return Err(Error::InvalidArgument(text));
        }
        Ok(engine.ticket(transaction))
    }

    /// Waits for a write transaction that is open, makes every commit durable, cuts the free end of
    /// the file off and notes that the database was closed. If something was changed, no other process has the database open, and more than
    /// a twelfth of the file is free, it moves pages from the end to free places before it first, for a second at most, or an eighth of the time
    /// that it was open, but no longer than ten seconds (unless
    /// [`Options::move_percent`](crate::Options::move_percent) is 0, or a threshold for shrinking was set). Read transactions that are still open keep
    /// the file; nothing can be begun any more. Dropping the last handle does the same without moving pages, when the last
    /// transaction has gone, but tells nobody what went wrong.
    ///
    /// A write transaction that is still open is waited for, but no longer than 30 seconds: the thread that closes the database may
    /// have it, or nobody any more (`std::mem::forget`).
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::InvalidArgument`] if a write transaction did not end: nothing was closed then, other handles can be used as
    /// before, and if there are none the database is closed when the transaction ends.
    pub fn close(self) -> Result<()> {
        self.opening.close()
    }

    /// What opening found and did.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        self.opening.engine().recovery().clone()
    }

    /// The path that the database was opened at.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.opening.engine().path()
    }

    /// Whether this process uses a lock file, so that processes know of each other's readers and writers. It does not where
    /// [`Options::exclusive`](crate::Options::exclusive) or [`Options::no_lock_file`](crate::Options::no_lock_file) was asked for, nor where no
    /// lock file can be made or written to.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let database = teak::Database::open(directory.path().join("coins.teak"))?;
    /// assert!(database.has_lock_file());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn has_lock_file(&self) -> bool {
        self.opening.engine().has_lock_file()
    }

    /// The size of a page in bytes.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.opening.engine().page_size()
    }

    /// The longest key in bytes: 256 less than a page has, at most 32,767.
    #[must_use]
    pub fn max_key_len(&self) -> usize {
        max_key_len(self.opening.engine().page_size())
    }

    /// How long the file may be, and how it grows and shrinks, as of the newest commit.
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
        let snapshot = self.opening.readable()?.begin_read()?;
        let page_count = snapshot.page_count();
        let [free_pages, pending_pages] = snapshot.counts()?;
        let (table_count, dropped_pages) = dropped::counts(&snapshot)?;
        Ok(DatabaseStat {
            file_bytes: self.opening.engine().file_bytes(),
            page_size: self.opening.engine().page_size(),
            page_count,
            used_pages: page_count
                .saturating_sub(free_pages)
                .saturating_sub(pending_pages),
            free_pages,
            pending_pages,
            transaction: snapshot.transaction(),
            durable_transaction: self.opening.engine().durable(),
            table_count,
            dropped_pages,
            readers: self.opening.engine().reader_count()?.saturating_sub(1),
        })
    }

    /// Brings all of the file that is in use into memory, from its beginning on, for as long as `limit`. Whoever reads
    /// then does not wait for the disk, if there is so much memory.
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
    /// [`Error::Io`] if the disk does not give a part of the file, or no more of it may be locked; [`Error::InvalidArgument`] if the
    /// database has been closed.
    pub fn warm_up(&self, how: WarmUp, limit: Duration) -> Result<Warmed> {
        warm_up::warm_up(&*self.opening.readable()?.begin_read()?, how, limit)
    }

    /// The opposite of [`Database::warm_up`]: unlocks what [`WarmUp::Lock`] has locked, and tells the system that this process needs nothing of
    /// the file in memory just now. Whoever reads it brings it back.
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

    /// What this process has done to the database since it opened it.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<Str, Str>("words")?;
    /// txn.commit()?;
    /// let metrics = database.metrics();
    /// assert_eq!((metrics.commits, metrics.flushes), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.opening.engine().metrics()
    }

    /// All read transactions of all processes, the one of the oldest state first: who they are, how old, and what of the
    /// file is there for nobody but them. Reads the space map.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let reader = database.begin_read()?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<Str, Str>("words")?;
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

    /// Cancels a read transaction of whatever process: asks it to give up its state. From then on all that it does fails with
    /// [`Error::SnapshotLost`]; iterators and cursors fail when they go on to another leaf. What it has borrowed stays as it is, and so
    /// its pages come back when it is dropped, and not before. Says `false` if it has ended already. It is only this transaction
    /// that is cancelled: the next one of the same thread begins as ever.
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
    /// [`Error::InvalidArgument`] if the reader was not listed by [`Database::readers`] of this database, or the database has been closed.
    pub fn cancel_reader(&self, reader: &ReaderInfo) -> Result<bool> {
        self.opening.readable()?.cancel_reader(reader)
    }

    /// All named snapshots, in the order of their names, and what each keeps. Reads the space map.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let transaction = database.create_snapshot("monday")?;
    /// let snapshots = database.snapshots()?;
    /// assert_eq!((&snapshots[0].name[..], snapshots[0].transaction), (&b"monday"[..], transaction));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed; [`Error::Corrupted`].
    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        self.opening.readable()?.snapshots()
    }

    /// Gives the newest state a name, in a transaction of its own; see [`WriteTxn::create_snapshot`].
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// database.create_snapshot("monday")?;
    /// assert!(database.create_snapshot("monday").is_err(), "the name is taken");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotExists`], [`Error::InvalidArgument`]; those of [`Database::begin_write`] and [`WriteTxn::commit`].
    pub fn create_snapshot(&self, name: impl AsRef<[u8]>) -> Result<TransactionId> {
        let mut txn = self.begin_write()?;
        txn.create_snapshot(name)?;
        txn.commit()
    }

    /// Drops a named snapshot, in a transaction of its own; see [`WriteTxn::drop_snapshot`].
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// database.create_snapshot("monday")?;
    /// database.drop_snapshot("monday")?;
    /// assert!(database.snapshots()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotNotFound`]; those of [`Database::begin_write`] and [`WriteTxn::commit`].
    pub fn drop_snapshot(&self, name: impl AsRef<[u8]>) -> Result<TransactionId> {
        let mut txn = self.begin_write()?;
        txn.drop_snapshot(name)?;
        txn.commit()
    }

    /// Begins to read the state of a named snapshot: the database as it was then, with all its tables.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let ages = txn.create_table::<Str, U64>("ages")?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// txn.create_snapshot("monday")?;
    /// txn.commit()?;
    ///
    /// let mut txn = database.begin_write()?;
    /// ages.insert(&mut txn, "Ada", 37)?;
    /// txn.commit()?;
    /// let monday = database.open_snapshot("monday")?;
    /// assert_eq!(ages.get(&monday, "Ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotNotFound`]; [`Error::InvalidArgument`] if the database has been closed.
    pub fn open_snapshot(&self, name: impl AsRef<[u8]>) -> Result<ReadTxn> {
        let reader = self.opening.readable()?.begin_read_at(name.as_ref())?;
        Ok(ReadTxn::new(reader))
    }

    /// Makes the file as short as it can be now: moves pages from its end to free places before it, some thousand with
    /// each of a series of durable commits, and cuts the end off. Readers and writers of all processes go on meanwhile; what
    /// readers of older states see at the end of the file stays. Commits do the same by and by; this is for who does not
    /// want to wait. It ends when nothing is left to be moved, or when `progress` breaks: at a
    /// length that is short enough, or after so many pages. Where there is nothing to do it makes no commit.
    ///
    /// A large value goes to the lowest free pages in a row that hold it. Where there are none, and the file is longer than the pages in use by
    /// more than a thirty-second part, some values are copied behind the end, and all that comes after them moves down. The file is longer for
    /// that while, by the largest value and as much as one commit moves (4,096 pages). This is not done beside readers or named snapshots, which
    /// would keep the pages. [`CompactProgress::obstacle`] says what was in the way.
    ///
    /// ```
    /// # use teak::{Database, codec::{Bytes, U64}};
    /// # use std::ops::ControlFlow;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let numbers = txn.create_table::<U64, Bytes>("numbers")?;
    /// # for number in 0..1000 { numbers.insert(&mut txn, number, &[7; 500])?; }
    /// # txn.commit()?;
    /// # let mut txn = database.begin_write()?;
    /// # for number in 100..1000 { numbers.remove(&mut txn, number)?; }
    /// # txn.commit()?;
    /// let before = database.stat()?.file_bytes;
    /// let done = database.compact(&mut |_| ControlFlow::Continue(()))?;
    /// assert!(done.file_bytes < before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Database::begin_write`] and [`WriteTxn::commit`]; [`Error::Corrupted`] if what is to be moved is damaged. A database that is
    /// full to its size limit is none: what finds no room stays where it is.
    pub fn compact(
        &self,
        progress: &mut dyn FnMut(CompactProgress) -> ControlFlow<()>,
    ) -> Result<CompactProgress> {
        self.compact_with(&CompactOptions::new(), progress)
    }

    /// The same, to a length or a free share that is short enough, with no more than so many bytes moved, or slowly. Where the file is
    /// short enough already nothing is done.
    ///
    /// ```
    /// # use teak::{CompactOptions, Database};
    /// # use std::{ops::ControlFlow, time::Duration};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let options = CompactOptions::new()
    ///     .until_free_percent(20)
    ///     .max_commit_bytes(1 << 20)
    ///     .pause(Duration::from_millis(50));
    /// database.compact_with(&options, &mut |_| ControlFlow::Continue(()))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Database::compact`].
    pub fn compact_with(
        &self,
        options: &CompactOptions,
        progress: &mut dyn FnMut(CompactProgress) -> ControlFlow<()>,
    ) -> Result<CompactProgress> {
        self.opening.writable()?.compact(options, progress)
    }

    /// Checks everything that the newest commit holds: each page's checksum, order, reachability, double
    /// use, and the space map. Readers and the writer go on meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed; [`Error::SnapshotLost`] if somebody cancels its reader.
    /// Damage is not an error but in the report.
    pub fn check(&self, progress: &mut dyn FnMut(CheckProgress)) -> Result<CheckReport> {
        let report = self.check_while(&mut |done| {
            progress(done);
            ControlFlow::Continue(())
        })?;
        report.ok_or(Error::SnapshotLost)
    }

    /// The same; `None` if `progress` breaks or somebody cancels the reader.
    pub(super) fn check_while(
        &self,
        progress: &mut dyn FnMut(CheckProgress) -> ControlFlow<()>,
    ) -> Result<Option<CheckReport>> {
        let (state, named, faults) = self.opening.readable()?.begin_read_sound()?;
        Ok(check::check(
            &state,
            (&named, &faults),
            &mut |done| match state.hold().refuse_cancelled() {
                Ok(()) => progress(done),
                Err(_) => ControlFlow::Break(()),
            },
        ))
    }

    /// What each page of the file is used for.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if the space map cannot be read.
    pub fn page_kinds(&self) -> Result<Vec<PageUse>> {
        page_usage::page_uses(&*self.opening.readable()?.begin_read()?)
    }

    /// A page in words, many lines.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no such page.
    pub fn describe_page(&self, page: PageNumber) -> Result<String> {
        let snapshot = self.opening.readable()?.begin_read()?;
        if u64::from(page.0) >= snapshot.page_count() {
            let count = snapshot.page_count();
            let text = format!(
                "there is no page {page}; the pages of this database are 0 to {}",
                count - 1
            );
            return Err(Error::InvalidArgument(text));
        }
        page_usage::describe(&snapshot, page)
    }
}
