//! Transactions as a user sees them.

// The sealed trait speaks of the layers below, which no user can name.
#![allow(private_interfaces)]

use super::{
    Durability, MultiTable, Table, TableInfo, TableOptions, Ticket, codec::Codec,
    options::refuse_impossible,
};
use crate::{
    Error, Geometry, Result, TransactionId,
    tree::{PageSource, TreeRoot},
    txn::{Engine, Parked, Reader, SavepointId, WriteTransaction, snapshot::Snapshot, write},
};
use std::{borrow::Cow, sync::Arc};

/// The longest name of a snapshot in bytes.
const SNAPSHOT_NAME_MAX: usize = 255;

/// What tables are read through: a [`ReadTxn`] or a [`WriteTxn`].
pub trait Transaction: sealed::Sealed {
    /// The state that is read: the commit that made it, or, in a write transaction, that it will
    /// make.
    fn id(&self) -> TransactionId;

    /// Opens a table. The handle is not tied to this transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`]; [`Error::ComparisonMissing`], [`Error::ComparisonMismatch`]; [`Error::Corrupted`].
    fn open_table<K: Codec, V: Codec>(&self, name: impl AsRef<[u8]>) -> Result<Table<K, V>> {
        let table = Table::new(self.engine(), name.as_ref());
        let (root, place) = (table.root(self)?, (table.handle(self), name.as_ref()));
        self.engine().refuse_disorder(self.source(), &root, place)?;
        Ok(table)
    }

    /// Opens a table in which a key has several values. The handle is not tied to this transaction.
    ///
    /// # Errors
    ///
    /// Those of [`Transaction::open_table`]; [`Error::TableMismatch`] for a table in which a key has one value.
    fn open_multi_table<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        let table = MultiTable::new(self.engine(), name.as_ref());
        let (root, place) = (table.root(self)?, (table.handle(self), name.as_ref()));
        self.engine().refuse_disorder(self.source(), &root, place)?;
        Ok(table)
    }

    /// All tables, in the order of their names, those included that need a newer version: see
    /// [`TableInfo::unknown`].
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`].
    fn tables(&self) -> Result<Vec<TableInfo>>;
}

pub(super) mod sealed {
    use super::{Arc, Cow, Engine, PageSource, Result, TreeRoot};

    /// What the crate itself asks of transactions.
    pub trait Sealed {
        #[doc(hidden)]
        fn engine(&self) -> &Arc<Engine>;
        #[doc(hidden)]
        fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<Cow<'_, TreeRoot>>>;
        #[doc(hidden)]
        fn source(&self) -> &(impl PageSource + Sync);
    }
}

/// A read transaction: one committed state, for as long as this or a clone of it lives. It can be
/// sent to and shared between threads, and outlive its [`Database`](super::Database).
///
/// ```
/// # use teak::{Database, Transaction, codec::Str};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let before = database.begin_read()?;
/// let mut txn = database.begin_write()?;
/// txn.create_table::<Str, Str>("words")?;
/// txn.commit()?;
/// assert!(before.open_table::<Str, Str>("words").is_err(), "it still sees the state before");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReadTxn {
    reader: Reader,
}

impl ReadTxn {
    pub(super) fn new(reader: Reader) -> Self {
        Self { reader }
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.reader
    }

    /// Fails if somebody has cancelled the transaction.
    #[inline]
    pub(super) fn refuse_cancelled(&self) -> Result<()> {
        self.reader.hold().refuse_cancelled()
    }

    /// How often a part of the file could not be read, because the disk did not give it or somebody cut the file
    /// short, since it was mapped. Every operation that meets such a part fails; but bytes that it has
    /// returned may be lost later, and look like zeros then. So whoever keeps a slice for long or takes a large value
    /// from it can ask before and afterwards: if both numbers are the same, what was read in between was real.
    ///
    /// ```
    /// # use teak::{Database, codec::{Bytes, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let blobs = txn.create_table::<Str, Bytes>("blobs")?;
    /// # blobs.insert(&mut txn, "teak", &[7; 100_000])?;
    /// # txn.commit()?;
    /// let txn = database.begin_read()?;
    /// let faults = txn.read_faults();
    /// let copy = blobs.get(&txn, "teak")?.map(<[u8]>::to_vec);
    /// assert_eq!(txn.read_faults(), faults, "what was copied is what stands in the file");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn read_faults(&self) -> u64 {
        self.reader.read_faults()
    }
}

/// A read transaction that is not used for now, and whose state a writer may give up when it wants the space.
#[derive(Debug)]
pub struct ParkedReadTxn(Parked);

impl ParkedReadTxn {
    /// Goes on reading the same state.
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotLost`] if it was given up, or the transaction was cancelled.
    pub fn resume(self) -> Result<ReadTxn> {
        self.0.resume().map(ReadTxn::new)
    }

    /// The state.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        self.0.transaction()
    }
}

impl ReadTxn {
    /// Parks the transaction: until it is resumed, a writer may give up the state that it reads when the file would have to become
    /// longer. Whoever reads now and then, and can do without just this state, does not make the file grow so.
    ///
    /// ```
    /// # use teak::{Database, Transaction, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let txn = database.begin_read()?;
    /// let parked = txn.park()?;
    /// let txn = match parked.resume() {
    ///     Err(teak::Error::SnapshotLost) => database.begin_read()?,
    ///     resumed => resumed?,
    /// };
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if a clone of it is there, or something that holds one: an owned cursor, range or value. It
    /// has ended then. [`Error::SnapshotLost`] if it was cancelled.
    pub fn park(self) -> Result<ParkedReadTxn> {
        self.refuse_cancelled()?;
        self.reader.park().map(ParkedReadTxn).map_err(|_| {
            let text =
                "a read transaction of which there are clones cannot be parked; end them first";
            Error::InvalidArgument(text.into())
        })
    }
}

impl sealed::Sealed for ReadTxn {
    fn engine(&self) -> &Arc<Engine> {
        self.reader.engine()
    }

    #[inline]
    fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<Cow<'_, TreeRoot>>> {
        self.reader.engine().refuse_forked()?;
        self.refuse_cancelled()?;
        self.reader.root_of(handle, name)
    }

    #[inline]
    fn source(&self) -> &(impl PageSource + Sync) {
        self.reader.hold()
    }
}

impl Transaction for ReadTxn {
    fn id(&self) -> TransactionId {
        self.reader.transaction()
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        self.refuse_cancelled()?;
        let mut tables = Vec::new();
        self.reader.for_each_table(|name, entry| {
            tables.push(TableInfo::new(name, &entry));
            Ok(())
        })?;
        Ok(tables)
    }
}

/// A write transaction. Nobody else sees what it does until it commits; dropping it undoes it.
///
/// ```
/// # use teak::{Database, codec::Str};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let words = txn.create_table::<Str, Str>("words")?;
/// words.insert(&mut txn, "teak", "a tree")?;
/// let result: teak::Result<()> = txn.nested(|txn| {
///     words.insert(txn, "oak", "a tree too")?;
///     Err(teak::Error::InvalidArgument("changed my mind".into()))
/// });
/// assert!(result.is_err());
/// txn.commit()?;
/// let txn = database.begin_read()?;
/// assert_eq!(words.get(&txn, "teak")?, Some("a tree"));
/// assert_eq!(words.get(&txn, "oak")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WriteTxn {
    pub(super) inner: WriteTransaction,
}

/// A point in a [`WriteTxn`] that it can be rolled back to.
#[derive(Debug)]
pub struct Savepoint(SavepointId);

impl WriteTxn {
    pub(super) fn new(inner: WriteTransaction) -> Self {
        Self { inner }
    }

    /// Opens a table, or creates it with default options.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if it exists with other options.
    pub fn create_table<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
    ) -> Result<Table<K, V>> {
        self.create_table_with(name, TableOptions::new())
    }

    /// Opens a table, or creates it with these options.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if it exists with other options; [`Error::KeyTooLong`] for a name
    /// that is longer than keys may be; [`Error::InvalidArgument`] for options that make no sense;
    /// [`Error::ComparisonMissing`], [`Error::ComparisonMismatch`].
    pub fn create_table_with<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
        options: TableOptions,
    ) -> Result<Table<K, V>> {
        if options.is_multi() {
            let text = "options of values are for tables in which a key has several; create it with `create_multi_table_with`, or leave them out";
            return Err(Error::InvalidArgument(text.into()));
        }
        self.create(name.as_ref(), options)?;
        Ok(Table::new(self.inner.engine(), name.as_ref()))
    }

    /// Opens a table in which a key has several values, or creates it with default options: values of any length, in the order of
    /// their bytes.
    ///
    /// # Errors
    ///
    /// Those of [`WriteTxn::create_multi_table_with`].
    pub fn create_multi_table<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        self.create_multi_table_with(name, TableOptions::new())
    }

    /// Opens a table in which a key has several values, or creates it with these options. A database that has had such a table
    /// cannot be opened by programs that do not know them.
    ///
    /// ```
    /// # use teak::{Database, KeyOrder, TableOptions, ValueSize, codec::{NativeU64, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let options = TableOptions::new()
    ///     .value_order(KeyOrder::Integer)
    ///     .value_size(ValueSize::Bytes(8));
    /// let postings = txn.create_multi_table_with::<Str, NativeU64>("postings", options)?;
    /// postings.insert(&mut txn, "teak", 700_000)?;
    /// postings.insert(&mut txn, "teak", 3)?;
    /// let all: Vec<_> = postings.values(&txn, "teak")?.collect::<teak::Result<_>>()?;
    /// assert_eq!(all, [3, 700_000]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`WriteTxn::create_table_with`].
    pub fn create_multi_table_with<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
        options: TableOptions,
    ) -> Result<MultiTable<K, V>> {
        self.create(name.as_ref(), options.multi())?;
        Ok(MultiTable::new(self.inner.engine(), name.as_ref()))
    }

    /// Opens or creates a table of whatever kind.
    pub(super) fn create(&mut self, name: &[u8], options: TableOptions) -> Result<()> {
        self.check_name(name)?;
        let root = options.to_root()?;
        let len = usize::from(root.kind.value_size);
        let max = crate::page::max_key_len(self.inner.engine().page_size());
        if len > max {
            return Err(Error::ValueTooLong { len, max });
        }
        let handle = self.inner.engine().handle(name);
        match self.inner.root_of(handle, name)? {
            None => self.inner.create_table(handle, name, root)?,
            Some(root) => {
                let existing = TableOptions::of_root(&root);
                if existing != options {
                    return Err(Error::TableMismatch {
                        name: write::printable(name),
                        detail: format!("it was created with {existing:?}"),
                    });
                }
                let (engine, pages) = (self.inner.engine(), self.inner.pages());
                engine.refuse_disorder(pages, &root, (handle, name))?;
            }
        }
        Ok(())
    }

    fn check_name(&self, name: &[u8]) -> Result<()> {
        let max = crate::page::max_key_len(self.inner.engine().page_size());
        if name.len() > max {
            return Err(Error::KeyTooLong {
                len: name.len(),
                max,
            });
        }
        Ok(())
    }

    /// Gives a table another name.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::TableExists`], [`Error::KeyTooLong`].
    pub fn rename_table(&mut self, old: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Result<()> {
        let (old, new) = (old.as_ref(), new.as_ref());
        self.check_name(new)?;
        let engine = self.inner.engine();
        let (old_handle, new_handle) = (engine.handle(old), engine.handle(new));
        self.inner
            .rename_table((old_handle, old), (new_handle, new))
    }

    /// Drops a table with all its records; says whether there was one.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`].
    pub fn drop_table(&mut self, name: impl AsRef<[u8]>) -> Result<bool> {
        let name = name.as_ref();
        let handle = self.inner.engine().handle(name);
        self.inner.drop_table(handle, name)
    }

    /// Gives the state that this transaction makes a name, under which it stays, across restarts, until the snapshot is
    /// dropped; if [`WriteTxn::roll_back_to_snapshot`] follows, the state that it began with. That costs nothing but the pages that later transactions would have used again. A snapshot has all tables, and
    /// not the list of snapshots.
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
    /// assert_eq!(ages.get(&database.open_snapshot("monday")?, "Ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotExists`]; [`Error::InvalidArgument`] for a name that is empty or has more than 255 bytes.
    pub fn create_snapshot(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        let name = name.as_ref();
        if !(1..=SNAPSHOT_NAME_MAX).contains(&name.len()) {
            let len = name.len();
            let text = format!("a snapshot's name has 1 to {SNAPSHOT_NAME_MAX} bytes, not {len}");
            return Err(Error::InvalidArgument(text));
        }
        self.inner.create_snapshot(name)
    }

    /// Drops a named snapshot. What only it has kept is free when no crash can bring it back and nobody reads it any more.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # database.create_snapshot("monday")?;
    /// let mut txn = database.begin_write()?;
    /// txn.drop_snapshot("monday")?;
    /// txn.create_snapshot("tuesday")?;
    /// txn.commit()?;
    /// assert!(database.open_snapshot("monday").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotNotFound`].
    pub fn drop_snapshot(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        self.inner.drop_snapshot(name.as_ref())
    }

    /// Has this transaction go on from the state of a named snapshot: all tables are as they were then, and tables created since are
    /// gone. It is a change like any other: nobody sees it before it is committed, others keep reading what they read, and the
    /// snapshot, those made after it, and the geometry stay. It copies nothing, and reads as many pages as have changed since. Names that
    /// this transaction has given before are for the state that it began with, so that a rollback can be taken back.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let ages = txn.create_table::<Str, U64>("ages")?;
    /// # ages.insert(&mut txn, "Ada", 36)?;
    /// # txn.commit()?;
    /// database.create_snapshot("before")?;
    /// let mut txn = database.begin_write()?;
    /// ages.clear(&mut txn)?;
    /// txn.commit()?;
    ///
    /// let mut txn = database.begin_write()?;
    /// txn.create_snapshot("mistaken")?;
    /// txn.roll_back_to_snapshot("before")?;
    /// txn.commit()?;
    /// assert_eq!(ages.get(&database.begin_read()?, "Ada")?, Some(36));
    /// assert_eq!(ages.get(&database.open_snapshot("mistaken")?, "Ada")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotNotFound`]; [`Error::InvalidArgument`] if this transaction has changed a table already, has a savepoint, or was
    /// rolled back before;
    /// [`Error::UnknownFormat`] if there is a table that only a newer version can read; [`Error::Corrupted`].
    pub fn roll_back_to_snapshot(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        self.inner.roll_back_to_snapshot(name.as_ref())
    }

    /// The durability of this commit.
    pub fn set_durability(&mut self, durability: Durability) {
        self.inner.set_durability(durability);
    }

    /// How long the file may be from this commit on, for all processes, and how it grows and shrinks. A file that is
    /// longer than the new upper limit stays so until its end is free.
    ///
    /// ```
    /// # use teak::{Database, Geometry};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.set_geometry(Geometry { upper_limit_bytes: 1 << 30, ..database.geometry()? })?;
    /// txn.commit()?;
    /// assert_eq!(database.geometry()?.upper_limit_bytes, 1 << 30);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the lower limit is above the upper one.
    pub fn set_geometry(&mut self, geometry: Geometry) -> Result<()> {
        refuse_impossible(&geometry)?;
        self.inner.set_geometry(geometry);
        Ok(())
    }

    /// Bytes of pages that are built and not written yet: those in memory, and those that a lazy
    /// transaction builds in the mapped file, which the system may write out when it wants memory.
    #[must_use]
    pub fn dirty_bytes(&self) -> usize {
        self.inner.dirty_bytes()
    }

    /// Commits, and returns the id of the new state. A transaction that changed nothing writes
    /// nothing, and its state is the one it began with; if that is not durable yet, a
    /// [`Durability::Durable`] commit waits until it is.
    ///
    /// While this waits for the disk the next write transaction can begin, and builds on this one.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] and [`Error::Full`]: nothing was committed. If a flush or the write of the
    /// commit record failed the database takes no writes until it is opened anew
    /// ([`Error::Poisoned`]); the commit is not seen, unless an asynchronous or lazy one built on it
    /// meanwhile. [`Error::TransactionBroken`] if an earlier error left this transaction unfinished.
    pub fn commit(self) -> Result<TransactionId> {
        self.inner.commit()
    }

    /// Commits as [`Durability::Async`] does, whatever durability was set, and returns what tells
    /// when the commit is durable.
    ///
    /// # Errors
    ///
    /// Those of [`WriteTxn::commit`].
    pub fn commit_async(self) -> Result<Ticket> {
        self.inner.commit_async()
    }

    /// Undoes everything, as dropping the transaction does.
    pub fn abort(self) {
        self.inner.abort();
    }

    /// Begins a savepoint within all others that have not ended.
    ///
    /// # Errors
    ///
    /// [`Error::TransactionBroken`].
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        self.inner.begin_savepoint().map(Savepoint)
    }

    /// Undoes what was done since a savepoint, which stays. Savepoints within it end.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the savepoint has ended.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.inner.roll_back_to(savepoint.0)
    }

    /// Ends a savepoint and those within it; what was done since stays.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the savepoint has ended.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        self.inner.end_savepoint(savepoint.0)
    }

    /// Runs a nested transaction: what `work` did stays if it returns `Ok`, and is undone if not.
    /// If it panics, all that is left is to roll the whole transaction back.
    ///
    /// # Errors
    ///
    /// Those of `work`.
    pub fn nested<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let savepoint = self.savepoint()?;
        let result = {
            let unfinished = BrokenByPanic(self);
            work(unfinished.0)
        };
        if result.is_err() {
            self.rollback_to(&savepoint)?;
        }
        self.release(savepoint)?;
        result
    }
}

/// A nested transaction that is left by a panic is neither to be kept nor rolled back by chance.
struct BrokenByPanic<'t>(&'t mut WriteTxn);

impl Drop for BrokenByPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.inner.set_broken();
        }
    }
}

impl sealed::Sealed for WriteTxn {
    fn engine(&self) -> &Arc<Engine> {
        self.inner.engine()
    }

    #[inline]
    fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<Cow<'_, TreeRoot>>> {
        self.inner.root_of(handle, name)
    }

    #[inline]
    fn source(&self) -> &(impl PageSource + Sync) {
        self.inner.pages()
    }
}

impl Transaction for WriteTxn {
    fn id(&self) -> TransactionId {
        self.inner.id()
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        let mut tables = Vec::new();
        self.inner.for_each_table(|name, entry| {
            tables.push(TableInfo::new(name, &entry));
            Ok(())
        })?;
        Ok(tables)
    }
}
