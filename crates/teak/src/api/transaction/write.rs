//! Write transactions.

use super::{Transaction, number_of};
use crate::api::sealed::Sealed;
use crate::{
    Error, Geometry, Result, TransactionId,
    api::{
        CommitLatency, Durability, Marks, MultiTable, ReadTxn, Table, Ticket, codec::Codec,
        options::refuse_impossible, table_info::TableInfo, table_options::TableOptions,
    },
    btree::{PageSource, RootRef, TreeRoot},
    instance::engine::Engine,
    maintain::dropped,
    read::catalog,
    write::{
        begin::ReservedWriterLock,
        savepoint::SavepointId,
        transaction::{self, WriteTransaction},
    },
};
use std::{mem, sync::Arc};

/// The longest name of a snapshot in bytes.
const SNAPSHOT_NAME_MAX: usize = 255;

/// A write transaction. Its changes are invisible to others until it commits; dropping it undoes
/// them. It may be sent to another thread, and end there.
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
///
/// While it is not being changed, any number of threads can read its uncommitted state:
///
/// ```
/// # use teak::{Database, codec::U64};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let squares = txn.create_table::<U64, U64>("squares")?;
/// for number in 0..1000 {
///     squares.insert(&mut txn, number, number * number)?;
/// }
/// let (txn, squares) = (&txn, &squares);
/// let sums = std::thread::scope(|scope| {
///     let sum = |part: std::ops::Range<u64>| -> teak::Result<u64> {
///         squares.range(txn, part)?.map(|record| record.map(|(_, square)| square)).sum()
///     };
///     let threads = [0..500, 500..1000].map(|part| scope.spawn(move || sum(part)));
///     threads.map(|thread| thread.join().unwrap())
/// });
/// let mut sum = 0;
/// for part in sums {
///     sum += part?;
/// }
/// assert_eq!(sum, 332_833_500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WriteTxn {
    pub(in crate::api) inner: WriteTransaction,
}

/// A point in a [`WriteTxn`] to which it can be rolled back.
#[derive(Debug)]
pub struct Savepoint(SavepointId);

impl WriteTxn {
    pub(in crate::api) fn new(inner: WriteTransaction) -> Self {
        Self { inner }
    }

    /// Opens a table, or creates it with default options.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if it exists with other options; [`Error::KeyTooLong`] if the name
    /// is longer than the longest key; [`Error::ComparisonMissing`] or
    /// [`Error::ComparisonMismatch`].
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
    /// [`Error::TableMismatch`] if it exists with other options; [`Error::KeyTooLong`] if the name
    /// is longer than the longest key; [`Error::InvalidArgument`] if the options are contradictory;
    /// [`Error::ComparisonMissing`] or [`Error::ComparisonMismatch`].
    pub fn create_table_with<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
        options: TableOptions,
    ) -> Result<Table<K, V>> {
        if options.is_multi() {
            let text = "value options are for multi-value tables; use `create_multi_table_with`, or leave them out";
            return Err(Error::InvalidArgument(text.into()));
        }
        self.create(name.as_ref(), options)?;
        Ok(Table::new(self.inner.engine(), name.as_ref()))
    }

    /// Opens a multi-value table, or creates it with default options: values of any length, in byte
    /// order.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if it exists with other options; [`Error::KeyTooLong`] if the name
    /// is longer than the longest key; [`Error::InvalidArgument`] if the options are contradictory;
    /// [`Error::ComparisonMissing`] or [`Error::ComparisonMismatch`].
    pub fn create_multi_table<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        self.create_multi_table_with(name, TableOptions::new())
    }

    /// Opens a multi-value table, or creates it with these options. Versions
    /// of Teak without such tables cannot open a database that has ever had one.
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
    /// [`Error::TableMismatch`] if it exists with other options; [`Error::KeyTooLong`] if the name
    /// is longer than the longest key; [`Error::InvalidArgument`] if the options are contradictory;
    /// [`Error::ComparisonMissing`] or [`Error::ComparisonMismatch`].
    pub fn create_multi_table_with<K: Codec, V: Codec>(
        &mut self,
        name: impl AsRef<[u8]>,
        options: TableOptions,
    ) -> Result<MultiTable<K, V>> {
        self.create(name.as_ref(), options.multi())?;
        Ok(MultiTable::new(self.inner.engine(), name.as_ref()))
    }

    /// Opens or creates a table of any kind, and returns its root.
    pub(in crate::api) fn create(
        &mut self,
        name: &[u8],
        options: TableOptions,
    ) -> Result<TreeRoot> {
        self.check_name(name)?;
        let root = options.to_root()?;
        let len = usize::from(root.kind.value_size);
        let max = crate::page::max_key_len(self.inner.engine().page_size());
        if len > max {
            return Err(Error::ValueTooLong { len, max });
        }
        let handle = self.inner.engine().handle(name);
        let existing = self.inner.root_of(handle, name)?.as_deref().copied();
        let Some(root) = existing else {
            self.inner.create_table(handle, name, root)?;
            return Ok(root);
        };
        let existing = TableOptions::of_root(&root);
        if existing != options {
            return Err(Error::TableMismatch {
                name: catalog::printable(name),
                detail: format!("it was created with {existing:?}"),
            });
        }
        let (engine, pages) = (self.inner.engine(), self.inner.pages());
        engine.refuse_disorder(pages, &root, (handle, name))?;
        Ok(root)
    }

    /// Draws from the sequence of a table of any kind, and returns the first number.
    pub(in crate::api) fn draw_sequence(&mut self, name: &[u8], count: u64) -> Result<u64> {
        match number_of(self, name)? {
            Some(handle) => self.inner.draw_sequence(handle, name, count),
            None => Err(transaction::not_found(name)),
        }
    }

    fn check_name(&self, name: &[u8]) -> Result<()> {
        let max = crate::page::max_key_len(self.inner.engine().page_size());
        if name.len() > max {
            return Err(Error::KeyTooLong {
                len: name.len(),
                max,
            });
        }
        if dropped::is_reserved(name) {
            let text = "names of 20 bytes that begin with a zero and \"dropped\" are reserved for dropped tables; choose another";
            return Err(Error::InvalidArgument(text.into()));
        }
        Ok(())
    }

    /// Renames a table.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::TableExists`] or [`Error::KeyTooLong`].
    pub fn rename_table(&mut self, old: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Result<()> {
        let (old, new) = (old.as_ref(), new.as_ref());
        self.check_name(new)?;
        let old_handle = number_of(self, old)?.ok_or_else(|| transaction::not_found(old))?;
        let new_handle = self.inner.engine().handle(new);
        self.inner
            .rename_table((old_handle, old), (new_handle, new))
    }

    /// Drops a table with all its records; returns whether there was one. The pages of a huge table
    /// are released in parts, by later commits;
    /// [`DatabaseStat::dropped_pages`](crate::DatabaseStat::dropped_pages) reports how many are
    /// left.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged.
    pub fn drop_table(&mut self, name: impl AsRef<[u8]>) -> Result<bool> {
        let name = name.as_ref();
        self.inner.refuse_broken()?;
        match number_of(self, name)? {
            Some(handle) => self.inner.drop_table(handle, name),
            None => Ok(false),
        }
    }

    /// Names the state that this transaction creates. The state is kept under this name, across
    /// restarts, until the snapshot is dropped. If [`WriteTxn::roll_back_to_snapshot`] follows, the
    /// name is for the state that the transaction began with. A snapshot costs only the pages that
    /// later transactions would have reused. It contains all tables, but not the list of snapshots.
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
    /// [`Error::SnapshotExists`]; [`Error::InvalidArgument`] for a name that is empty or longer
    /// than 255 bytes.
    pub fn create_snapshot(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        let name = name.as_ref();
        if !(1..=SNAPSHOT_NAME_MAX).contains(&name.len()) {
            let len = name.len();
            let text = format!("a snapshot's name has 1 to {SNAPSHOT_NAME_MAX} bytes, not {len}");
            return Err(Error::InvalidArgument(text));
        }
        self.inner.create_snapshot(name)
    }

    /// Drops a named snapshot. The pages that only it kept become free when no crash can restore it
    /// and no reader uses it.
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
    /// [`Error::SnapshotNotFound`] if there is no snapshot of this name.
    pub fn drop_snapshot(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        self.inner.drop_snapshot(name.as_ref())
    }

    /// Makes this transaction continue from the state of a named snapshot: all tables are as they
    /// were then, and tables created since are gone. It is a change like any other: it is invisible
    /// until the commit, and other readers keep their states. The snapshot, those created after it,
    /// and the geometry stay. It copies nothing, and reads as many pages as have changed since.
    /// Names that this transaction has given before are for the state that it began with, so that a
    /// rollback can be undone.
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
    /// [`Error::SnapshotNotFound`]; [`Error::InvalidArgument`] if this transaction has changed a
    /// table already, has a savepoint, or was rolled back before; [`Error::UnknownFormat`] if a
    /// table requires a newer version of Teak; [`Error::Corrupted`].
    pub fn roll_back_to_snapshot(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        self.inner.roll_back_to_snapshot(name.as_ref())
    }

    /// Sets the durability of this commit, and of checkpoints.
    pub fn set_durability(&mut self, durability: Durability) {
        self.inner.set_durability(durability);
    }

    /// Sets the size limits of the file, and how it grows and shrinks, for all processes from this
    /// commit on. A file that is longer than the new upper limit stays so until its end is free.
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

    /// Returns the bytes of pages that are built and not written yet: those in memory, and those
    /// that a lazy transaction builds in the mapped file, which the system may write out under
    /// memory pressure.
    #[must_use]
    pub fn dirty_bytes(&self) -> usize {
        self.inner.dirty_bytes()
    }

    /// Commits, and returns the id of the new state. A transaction that changed nothing writes
    /// nothing, and its state is the one it began with. If that state is not durable yet, a
    /// [`Durability::Durable`] commit waits until it is.
    ///
    /// While this commit waits for the disk, the next write transaction can begin, and builds on
    /// this one.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Full`]: nothing was committed. If a flush or the write of the
    /// commit record failed, the database takes no writes until it is reopened
    /// ([`Error::Poisoned`]). The commit is not visible, unless an asynchronous or lazy one built
    /// on it meanwhile. [`Error::TransactionBroken`] if an earlier error left this transaction
    /// unfinished.
    pub fn commit(self) -> Result<TransactionId> {
        self.inner.commit()
    }

    /// Commits with [`Durability::Async`], whatever durability was set, and returns a ticket that
    /// reports when the commit is durable.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Full`]; [`Error::Poisoned`]; [`Error::TransactionBroken`] if an
    /// earlier error left this transaction unfinished. [`WriteTxn::commit`] describes the state
    /// after each.
    pub fn commit_async(self) -> Result<Ticket> {
        self.inner.commit_async()
    }

    /// Commits, and returns how long each step took. [`WriteTxn::commit`] does not read the clock.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<Str, Str>("words")?;
    /// let (transaction, latency) = txn.commit_measured()?;
    /// println!("{transaction} took {:?}, {:?} of it waiting for the disk", latency.whole, latency.wait);
    /// assert!(latency.wait <= latency.whole);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Full`]; [`Error::Poisoned`]; [`Error::TransactionBroken`] if an
    /// earlier error left this transaction unfinished. [`WriteTxn::commit`] describes the state
    /// after each.
    pub fn commit_measured(self) -> Result<(TransactionId, CommitLatency)> {
        self.inner.commit_measured()
    }

    /// Commits, and begins to read exactly the state that this commit created, with no other commit
    /// in between. A transaction that changed nothing reads the state that it began with.
    ///
    /// ```
    /// # use teak::{Database, Transaction, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let ages = txn.create_table::<Str, U64>("ages")?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// let transaction = txn.id();
    /// let reader = txn.commit_and_read()?;
    /// assert_eq!(reader.id(), transaction);
    /// assert_eq!(ages.get(&reader, "Ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TooManyReaders`]: nothing was committed. [`Error::Io`] or [`Error::Full`];
    /// [`Error::Poisoned`]; [`Error::TransactionBroken`] if an earlier error left this transaction
    /// unfinished. [`WriteTxn::commit`] describes the state after each.
    pub fn commit_and_read(self) -> Result<ReadTxn> {
        self.inner.commit_and_read().map(ReadTxn::new)
    }

    /// Commits the changes so far and continues: no other transaction writes in between, open
    /// tables stay open, and the durability setting stays. Returns the id of the new state or, if
    /// nothing has changed, of the state that the transaction began with. Occasional checkpoints
    /// limit the loss if a long import fails, and make the space that it has released reusable.
    /// Savepoints end.
    ///
    /// ```
    /// # use teak::{Database, codec::U64};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<U64, U64>("squares")?;
    /// for number in 0..1000 {
    ///     squares.insert(&mut txn, number, number * number)?;
    ///     if number % 100 == 99 {
    ///         txn.checkpoint()?;
    ///     }
    /// }
    /// squares.insert(&mut txn, 1000, 0)?;
    /// drop(txn); // undoes what came behind the last checkpoint
    /// assert_eq!(squares.len(&database.begin_read()?)?, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] within a [nested](WriteTxn::nested) transaction, or
    /// [`Error::TransactionBroken`]; both change nothing. [`Error::Io`], [`Error::Full`] or
    /// [`Error::Poisoned`] as in [`WriteTxn::commit`]: the changes since the last checkpoint are
    /// undone then, earlier checkpoints stay, and the transaction can only end or be [rolled
    /// back](WriteTxn::roll_back). (If the checkpoint succeeded but the transaction cannot
    /// continue, the next call reports it instead of this one.)
    pub fn checkpoint(&mut self) -> Result<TransactionId> {
        self.inner.checkpoint()
    }

    /// Undoes all changes since the transaction began, or since its last checkpoint, and continues,
    /// keeping the writer lock. Savepoints end; a state broken by an error or by
    /// [`WriteTxn::set_broken`] is cleared. The durability stays.
    ///
    /// ```
    /// # use teak::{Database, Transaction, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<Str, U64>("mistaken")?;
    /// txn.roll_back()?;
    /// txn.create_table::<Str, U64>("ages")?;
    /// txn.commit()?;
    /// assert_eq!(database.begin_read()?.tables()?[0].name, b"ages");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`] after a failed write or flush; [`Error::Io`]. All changes are undone
    /// then, and the transaction can only end or be rolled back once more.
    pub fn roll_back(&mut self) -> Result<()> {
        self.inner.roll_back()
    }

    /// Marks the transaction as broken, so that it can only be rolled back, to a savepoint or
    /// entirely. Everything else fails with [`Error::TransactionBroken`], in particular a commit.
    /// Use it where code deep in a program finds that the transaction must not be committed.
    ///
    /// ```
    /// # use teak::{Database, Error};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.set_broken();
    /// assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_broken(&mut self) {
        self.inner.set_broken();
    }

    /// Sets the marks: three numbers of the application. The database does not interpret them, and
    /// only records which transaction set them last. They are part of the state, like tables:
    /// others see them with the commit, a rollback to a savepoint restores them, and copies contain
    /// them. [`Transaction::marks`] reads them. Setting them to their present values is a change,
    /// too.
    ///
    /// A rollback to a named snapshot does not change them. To restore those of the snapshot, read
    /// them by [`Database::open_snapshot`](crate::Database::open_snapshot) and set them.
    ///
    /// ```
    /// # use teak::{Database, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.set_marks([840_000, 7, 0])?;
    /// let transaction = txn.commit()?;
    /// let marks = database.begin_read()?.marks();
    /// assert_eq!(marks.values, [840_000, 7, 0]);
    /// assert_eq!(marks.set_in, Some(transaction));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TransactionBroken`] if an earlier error left this transaction unfinished.
    pub fn set_marks(&mut self, values: [u64; 3]) -> Result<()> {
        self.inner.set_marks(values)
    }

    /// Undoes all changes, like dropping the transaction.
    pub fn abort(self) {
        self.inner.abort();
    }

    /// Begins a savepoint, nested in all others that have not ended.
    ///
    /// # Errors
    ///
    /// [`Error::TransactionBroken`] if an earlier error left this transaction unfinished.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        self.inner.begin_savepoint().map(Savepoint)
    }

    /// Undoes all changes since a savepoint, which stays. Savepoints within it end.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the savepoint has ended.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.inner.roll_back_to(savepoint.0)
    }

    /// Ends a savepoint and those within it; the changes since stay.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the savepoint has ended.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        self.inner.end_savepoint(savepoint.0)
    }

    /// Runs a nested transaction: the changes of `work` stay if it returns `Ok`, and are undone
    /// otherwise. If it panics, the whole transaction can only be rolled back.
    ///
    /// # Errors
    ///
    /// The error of `work`. [`Error::InvalidArgument`] if `work` has rolled back to before its
    /// beginning and returns `Ok`; its changes since then stay.
    pub fn nested<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let savepoint = Savepoint(self.inner.begin_nested()?);
        let unfinished = BrokenByPanic(self);
        let result = work(unfinished.0);
        mem::forget(unfinished);
        // If the rollback is impossible, `work` has already rolled back to here or further.
        if result.is_ok() || self.rollback_to(&savepoint).is_ok() {
            self.release(savepoint)?;
        }
        result
    }
}

/// The writer lock, held without a transaction: while it is held, no other thread or process begins
/// to write, and the newest state stays the newest. See
/// [`Database::lock_writer`](crate::Database::lock_writer).
#[derive(Debug)]
#[must_use = "the writer lock is released when this is dropped"]
pub struct WriterGuard(ReservedWriterLock);

impl WriterGuard {
    pub(in crate::api) fn new(held: ReservedWriterLock) -> Self {
        Self(held)
    }

    /// Begins a write transaction without waiting.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`] in a forked child; [`Error::Poisoned`] if a write or flush has failed since
    /// the lock was acquired; [`Error::Io`] if releasing dropped pages fails for another reason than
    /// lack of space. The lock is released then.
    pub fn begin(self) -> Result<WriteTxn> {
        self.0.begin().map(WriteTxn::new)
    }
}

/// A nested transaction that ends in a panic must neither be kept nor rolled back by accident.
struct BrokenByPanic<'t>(&'t mut WriteTxn);

impl Drop for BrokenByPanic<'_> {
    fn drop(&mut self) {
        self.0.inner.set_broken();
    }
}

impl Sealed for WriteTxn {
    fn engine(&self) -> &Arc<Engine> {
        self.inner.engine()
    }

    #[inline]
    fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        self.inner.root_of(handle, name)
    }

    #[inline]
    fn source(&self) -> &(impl PageSource + Sync) {
        self.inner.pages()
    }

    fn version_of(&self, handle: usize) -> Option<(u64, u64)> {
        self.inner.version_of(handle)
    }

    #[inline]
    fn committed(&self) -> Option<(u64, TransactionId)> {
        None
    }
}

impl Transaction for WriteTxn {
    fn id(&self) -> TransactionId {
        self.inner.id()
    }

    fn marks(&self) -> Marks {
        self.inner.marks()
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
