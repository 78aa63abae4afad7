//! Write transactions.

use super::Transaction;
use crate::{
    Error, Geometry, Result, TransactionId,
    api::{CommitLatency, Durability, ReadTxn, Ticket, options::refuse_impossible},
    sync::lock,
    write::{
        small::{Begun, SmallTransaction},
        transaction::WriteTransaction,
    },
};
use std::{
    fmt,
    sync::{Mutex, OnceLock},
};

/// A write transaction. Its changes are invisible to others until it commits; dropping it undoes
/// them. It may be sent to another thread, and end there.
///
/// ```
/// # use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let words = txn.create_table::<&str, &str>("words")?;
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
/// # use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let squares = txn.create_table::<u64, u64>("squares")?;
/// for number in 0..1000 {
///     squares.insert(&mut txn, number, number * number)?;
/// }
/// let (txn, squares) = (&txn, &squares);
/// let sums = std::thread::scope(|scope| {
///     let sum = |part: std::ops::Range<u64>| -> teak::Result<u64> {
///         squares.range(part).iter(txn)?.map(|record| record.map(|(_, square)| square)).sum()
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
pub struct WriteTxn {
    /// Set from the start, or by the first operation that a small transaction does not have.
    pub(super) whole: OnceLock<WriteTransaction>,
    pub(super) small: Option<Box<SmallTransaction>>,
    /// Held while a small transaction becomes a whole one.
    change: Mutex<()>,
}

impl fmt::Debug for WriteTxn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteTxn")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

impl WriteTxn {
    pub(in crate::api) fn new(whole: WriteTransaction) -> Self {
        Self {
            whole: OnceLock::from(whole),
            small: None,
            change: Mutex::default(),
        }
    }

    pub(in crate::api) fn begun(begun: Begun) -> Self {
        match begun {
            Begun::Whole(whole) => Self::new(whole),
            Begun::Small(small) => Self {
                whole: OnceLock::new(),
                small: Some(Box::new(small)),
                change: Mutex::default(),
            },
        }
    }

    /// The transaction while it is small.
    #[inline]
    pub(in crate::api) fn small(&self) -> Option<&SmallTransaction> {
        match self.whole.get() {
            Some(_) => None,
            None => self.small.as_deref(),
        }
    }

    #[inline]
    pub(in crate::api) fn small_mut(&mut self) -> Option<&mut SmallTransaction> {
        match self.whole.get_mut() {
            Some(_) => None,
            None => self.small.as_deref_mut(),
        }
    }

    /// The whole transaction, which a small one becomes now.
    #[inline]
    pub(in crate::api) fn whole(&self) -> Result<&WriteTransaction> {
        match self.whole.get() {
            Some(whole) => Ok(whole),
            None => self.become_whole(),
        }
    }

    #[inline]
    pub(in crate::api) fn whole_mut(&mut self) -> Result<&mut WriteTransaction> {
        if self.whole.get_mut().is_none() {
            self.become_whole()?;
        }
        self.whole.get_mut().ok_or(Error::TransactionBroken)
    }

    #[cold]
    fn become_whole(&self) -> Result<&WriteTransaction> {
        let _change = lock(&self.change);
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let small = self.small.as_deref().ok_or(Error::TransactionBroken)?;
        small.engine().memtable.note_outgrown(small.change_count());
        let whole = small.to_whole()?;
        Ok(self.whole.get_or_init(|| whole))
    }

    /// Whether the bytes lie in a page that the transaction has written, or in a value that it has
    /// stored.
    pub(in crate::api) fn has_stored(&self, bytes: &[u8]) -> bool {
        let whole = self.whole.get();
        whole.is_some_and(|whole| whole.pages().is_in_changed_page(bytes))
            || self.small.as_ref().is_some_and(|small| small.holds(bytes))
    }

    /// The whole transaction by value.
    pub(in crate::api) fn into_whole(self) -> Result<WriteTransaction> {
        self.whole()?;
        self.whole.into_inner().ok_or(Error::TransactionBroken)
    }

    /// Sets the durability of this commit, and of checkpoints.
    pub fn set_durability(&mut self, durability: Durability) {
        match self.whole.get_mut() {
            Some(whole) => whole.set_durability(durability),
            None => {
                let small = self.small.iter_mut();
                small.for_each(|small| small.set_durability(durability));
            }
        }
    }

    /// Sets the size limits of the file, and how it grows and shrinks, for all processes from this
    /// commit on. A file that is longer than the new upper limit stays so until its end is free.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.set_geometry(database.geometry()?.upper_limit_bytes(1 << 30))?;
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
        self.whole_mut()?.set_geometry(geometry);
        Ok(())
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
        match (self.whole.into_inner(), self.small) {
            (Some(whole), small) => {
                // It pins the state that it has begun with.
                drop(small);
                whole.commit()
            }
            (None, Some(small)) => small.commit(),
            (None, None) => Err(Error::TransactionBroken),
        }
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
        self.into_whole()?.commit_async()
    }

    /// Commits, and returns how long each step took. [`WriteTxn::commit`] does not read the clock.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("words")?;
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
        self.into_whole()?.commit_measured()
    }

    /// Commits, and begins to read exactly the state that this commit created, with no other commit
    /// in between. A transaction that changed nothing reads the state that it began with.
    ///
    /// ```
    /// # use teak::{Database, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let ages = txn.create_table::<&str, u64>("ages")?;
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
        self.into_whole()?.commit_and_read().map(ReadTxn::new)
    }

    /// Commits the changes so far and continues: no other transaction writes in between, open
    /// tables stay open, and the durability setting stays. Returns the id of the new state or, if
    /// nothing has changed, of the state that the transaction began with. Occasional checkpoints
    /// limit the loss if a long import fails, and make the space that it has released reusable.
    /// Savepoints end.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u64, u64>("squares")?;
    /// for number in 0..1000 {
    ///     squares.insert(&mut txn, number, number * number)?;
    ///     if number % 100 == 99 {
    ///         txn.checkpoint()?;
    ///     }
    /// }
    /// squares.insert(&mut txn, 1000, 0)?;
    /// drop(txn); // undoes everything after the last checkpoint
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
        self.whole_mut()?.checkpoint()
    }

    /// Undoes all changes since the transaction began, or since its last checkpoint, and continues,
    /// keeping the writer lock. Savepoints end; a state broken by an error or by
    /// [`WriteTxn::set_broken`] is cleared. The durability stays.
    ///
    /// ```
    /// # use teak::{Database, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, u64>("mistaken")?;
    /// txn.roll_back()?;
    /// txn.create_table::<&str, u64>("ages")?;
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
        match self.small_mut() {
            Some(small) => small.roll_back(),
            None => self.whole_mut()?.roll_back(),
        }
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
        match self.whole.get_mut() {
            Some(whole) => whole.set_broken(),
            None => {
                let small = self.small.iter_mut();
                small.for_each(|small| small.set_broken());
            }
        }
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
        self.whole_mut()?.set_marks(values)
    }

    /// Undoes all changes, like dropping the transaction.
    pub fn abort(self) {
        if let Some(whole) = self.whole.into_inner() {
            whole.abort();
        }
    }
}

#[cfg(test)]
#[path = "small_tests.rs"]
mod small_tests;
