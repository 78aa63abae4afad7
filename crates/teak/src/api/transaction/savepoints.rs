//! Savepoints and nested transactions.

use super::write::WriteTxn;
use crate::{Error, Result, write::savepoint::SavepointId};
use std::mem;

/// A point in a [`WriteTxn`] to which it can be rolled back.
#[derive(Debug)]
pub struct Savepoint(SavepointId);

impl WriteTxn {
    /// Begins a savepoint, nested in all others that have not ended.
    ///
    /// # Errors
    ///
    /// [`Error::TransactionBroken`] if an earlier error left this transaction unfinished.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        self.whole_mut()?.begin_savepoint().map(Savepoint)
    }

    /// Undoes all changes since a savepoint, which stays. Savepoints within it end.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the savepoint has ended.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.whole_mut()?.roll_back_to(savepoint.0)
    }

    /// Ends a savepoint and those within it; the changes since stay.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the savepoint has ended.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        self.whole_mut()?.end_savepoint(savepoint.0)
    }

    /// Runs a nested transaction: the changes of `work` stay if it returns `Ok`, and are undone
    /// otherwise. If it panics, the whole transaction can only be rolled back.
    ///
    /// ```
    /// # use teak::Database;
    /// #[derive(Debug)]
    /// enum Refused {
    ///     NoMoney,
    ///     Database(teak::Error),
    /// }
    ///
    /// impl From<teak::Error> for Refused {
    ///     fn from(error: teak::Error) -> Self {
    ///         Self::Database(error)
    ///     }
    /// }
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let accounts = txn.create_table::<&str, u64>("accounts")?;
    /// accounts.insert(&mut txn, "Ada", 5)?;
    /// let paid = txn.nested(|txn| {
    ///     let money = accounts.get(&*txn, "Ada")?.unwrap_or(0);
    ///     accounts.insert(txn, "Ada", 0)?;
    ///     money.checked_sub(7).ok_or(Refused::NoMoney)
    /// });
    /// assert!(matches!(paid, Err(Refused::NoMoney)));
    /// assert_eq!(accounts.get(&txn, "Ada")?, Some(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error of `work`, which may be of a type of the application. [`Error::InvalidArgument`]
    /// if `work` has rolled back to before its beginning and returns `Ok`; its changes since then
    /// stay.
    pub fn nested<R, E: From<Error>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let savepoint = Savepoint(self.whole_mut()?.begin_nested()?);
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

/// A nested transaction that ends in a panic must neither be kept nor rolled back by accident.
struct BrokenByPanic<'t>(&'t mut WriteTxn);

impl Drop for BrokenByPanic<'_> {
    fn drop(&mut self) {
        self.0.set_broken();
    }
}
