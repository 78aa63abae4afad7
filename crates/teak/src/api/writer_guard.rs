//! Holding the writer lock without a transaction.

use super::{Database, WriteTxn};
#[cfg(doc)]
use crate::Error;
use crate::{Result, write::begin::ReservedWriterLock};
use std::time::Duration;

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
    /// [`Error::Forked`] in a forked child; [`Error::Poisoned`] if a write or flush has failed
    /// since the lock was acquired; [`Error::Io`] if releasing dropped pages fails for another
    /// reason than lack of space. The lock is released then.
    pub fn begin(self) -> Result<WriteTxn> {
        self.0.begin().map(WriteTxn::new)
    }
}

impl Database {
    /// Waits for the writer lock, like [`Database::begin_write`], without beginning a transaction.
    /// The newest state stays the newest until the lock is released: by dropping the guard, or by a
    /// transaction that begins with it.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let guard = database.lock_writer()?;
    /// assert!(database.try_begin_write()?.is_none());
    /// let txn = guard.begin()?;
    /// # drop(txn);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Poisoned`] after a failed write or flush; [`Error::Io`] if the
    /// state that another process has written cannot be read; [`Error::InvalidArgument`] if the
    /// database has been closed.
    pub fn lock_writer(&self) -> Result<WriterGuard> {
        let held = ReservedWriterLock::take(self.opening.writable()?, None)?;
        let held = held.expect("without a limit the lock is always acquired");
        Ok(WriterGuard::new(held))
    }

    /// Like [`Database::lock_writer`], but returns `None` if the lock is taken, in this process or
    /// another.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Poisoned`] after a failed write or flush; [`Error::Io`] if the
    /// state that another process has written cannot be read; [`Error::InvalidArgument`] if the
    /// database has been closed.
    pub fn try_lock_writer(&self) -> Result<Option<WriterGuard>> {
        let held = ReservedWriterLock::take(self.opening.writable()?, Some(Duration::ZERO))?;
        Ok(held.map(WriterGuard::new))
    }
}
