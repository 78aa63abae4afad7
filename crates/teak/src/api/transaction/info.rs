//! The progress of a write transaction.

use super::{Transaction, write::WriteTxn};
use crate::{TransactionId, api::sealed::Sealed, write::transaction::WriteTransaction};
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
        let (id, engine) = (self.id(), self.engine());
        let file_bytes = engine.file_bytes();
        if let Some(small) = self.small() {
            return WriteInfo {
                transaction: id,
                age: small.age(),
                dirty_bytes: small.change_bytes() as u64,
                taken_pages: 0,
                dead_pages: 0,
                file_bytes,
                limit_bytes: small.state().geometry().upper_limit_bytes,
                savepoints: 0,
            };
        }
        let whole = self.whole().ok();
        let count = |count: fn(&WriteTransaction) -> u64| whole.map_or(0, count);
        WriteInfo {
            transaction: id,
            age: whole.map(WriteTransaction::age).unwrap_or_default(),
            dirty_bytes: count(|whole| whole.dirty_bytes() as u64),
            taken_pages: count(WriteTransaction::taken_pages),
            dead_pages: count(WriteTransaction::dead_pages),
            file_bytes,
            limit_bytes: count(WriteTransaction::limit_bytes),
            savepoints: whole.map_or(0, WriteTransaction::savepoint_count),
        }
    }
}
