//! The sequence of a table: numbers that are drawn once.

use super::{MultiTable, Table, Transaction, WriteTxn};
use crate::Result;

impl<K, V> Table<K, V> {
    /// The number that the sequence of the table gives next: how many were drawn so far. See [`Table::draw_sequence`].
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound), [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn sequence<T: Transaction>(&self, txn: &T) -> Result<u64> {
        Ok(self.root(txn)?.sequence)
    }

    /// Draws `count` numbers from the sequence of the table, and returns the first: that and those behind it belong to the caller. Each
    /// table has one, which begins at 0 and knows nothing of the records. It is a part of the table's state: a transaction or savepoint
    /// that is rolled back has drawn nothing, and a rollback to a named snapshot takes the sequence back, too. Clearing the table leaves it.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let people = txn.create_table::<U64, Str>("people")?;
    /// let ada = people.draw_sequence(&mut txn, 1)?;
    /// people.insert(&mut txn, ada, "Ada")?;
    /// let more = people.draw_sequence(&mut txn, 10)?;
    /// assert_eq!((ada, more, people.sequence(&txn)?), (0, 1, 11));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SequenceExhausted`](crate::Error::SequenceExhausted) if there are not so many numbers up to 2^64 - 1: nothing was drawn.
    /// [`Error::TableNotFound`](crate::Error::TableNotFound), [`Error::TableMismatch`](crate::Error::TableMismatch) if a key has several
    /// values in it; [`Error::TransactionBroken`](crate::Error::TransactionBroken), [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn draw_sequence(&self, txn: &mut WriteTxn, count: u64) -> Result<u64> {
        self.root(txn)?;
        txn.draw_sequence(self.raw_name(), count)
    }
}

impl<K, V> MultiTable<K, V> {
    /// The number that the sequence of the table gives next. See [`Table::draw_sequence`].
    ///
    /// # Errors
    ///
    /// Those of [`Table::sequence`].
    pub fn sequence<T: Transaction>(&self, txn: &T) -> Result<u64> {
        Ok(self.root(txn)?.sequence)
    }

    /// Draws numbers from the sequence of the table, as [`Table::draw_sequence`] does.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U64>("lines")?;
    /// let number = lines.draw_sequence(&mut txn, 1)?;
    /// lines.insert(&mut txn, "teak", number)?;
    /// assert_eq!(lines.sequence(&txn)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::draw_sequence`].
    pub fn draw_sequence(&self, txn: &mut WriteTxn, count: u64) -> Result<u64> {
        self.root(txn)?;
        txn.draw_sequence(self.name(), count)
    }
}
