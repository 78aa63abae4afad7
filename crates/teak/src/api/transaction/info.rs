//! The progress of a write transaction.

use super::{Transaction, write::WriteTxn};
use crate::TransactionId;
use std::time::Duration;

/// The progress of a write transaction; see [`WriteTxn::info`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct WriteInfo {
    /// The id that its commit will have.
    pub transaction: TransactionId,
    /// How long it has held the writer lock, checkpoints included, to within some milliseconds.
    pub age: Duration,
    /// Bytes of pages that are built and not written yet: those in memory, and those that a lazy
    /// transaction builds in the mapped file, which the system may write out under memory pressure.
    pub dirty_bytes: u64,
    /// Pages that it has allocated: copies of changed pages, and new ones.
    pub taken_pages: u64,
    /// Pages of older states that its own state no longer uses. They become free when no reader
    /// uses those states.
    pub dead_pages: u64,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// The size limit of the file in bytes.
    pub limit_bytes: u64,
    /// Savepoints that have not ended: the nesting depth.
    pub savepoints: usize,
}

impl WriteTxn {
    /// Returns the progress of the transaction. This is very cheap.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// assert_eq!(txn.info().taken_pages, 0);
    /// let ages = txn.create_table::<&str, u64>("ages")?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// assert_eq!(txn.info().taken_pages, 2, "a leaf, and one of the catalog");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn info(&self) -> WriteInfo {
        let inner = &self.inner;
        WriteInfo {
            transaction: self.id(),
            age: inner.age(),
            dirty_bytes: inner.dirty_bytes() as u64,
            taken_pages: inner.taken_pages(),
            dead_pages: inner.dead_pages(),
            file_bytes: inner.engine().file_bytes(),
            limit_bytes: inner.limit_bytes(),
            savepoints: inner.savepoint_count(),
        }
    }
}
