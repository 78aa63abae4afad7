//! The sequence of a table: numbers that are drawn at most once.

use super::{MultiTable, Table, Transaction, WriteTxn};
use crate::Result;

impl<K, V> Table<K, V> {
    /// Returns the next number of the table's sequence, which is how many were drawn so far. See
    /// [`Table::draw_sequence`].
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound), [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn sequence<T: Transaction>(&self, txn: &T) -> Result<u64> {
        Ok(self.root(txn)?.sequence)
    }

    /// Draws `count` numbers from the sequence of the table, and returns the first. It and the
    /// `count - 1` numbers after it belong to the caller. Each table has one sequence, which begins
    /// at 0 and is independent of the records. It is part of the table's state: rolling back a
    /// transaction or savepoint undoes its draws, and so does a rollback to a named snapshot.
    /// Clearing the table does not change it.
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
    /// [`Error::SequenceExhausted`](crate::Error::SequenceExhausted) if the numbers up to 2^64 - 1
    /// do not suffice; nothing was drawn then.
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if a key has several values in the
    /// table; [`Error::TransactionBroken`](crate::Error::TransactionBroken) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn draw_sequence(&self, txn: &mut WriteTxn, count: u64) -> Result<u64> {
        self.root(txn)?;
        txn.draw_sequence(self.name(), count)
    }
}

impl<K, V> MultiTable<K, V> {
    /// Returns the next number of the table's sequence. See [`Table::draw_sequence`].
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn sequence<T: Transaction>(&self, txn: &T) -> Result<u64> {
        Ok(self.root(txn)?.sequence)
    }

    /// Draws numbers from the sequence of the table, like [`Table::draw_sequence`].
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
    /// [`Error::SequenceExhausted`](crate::Error::SequenceExhausted) if the numbers up to 2^64 - 1
    /// do not suffice; nothing was drawn then.
    /// [`Error::TableNotFound`](crate::Error::TableNotFound),
    /// [`Error::TableMismatch`](crate::Error::TableMismatch),
    /// [`Error::TransactionBroken`](crate::Error::TransactionBroken) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn draw_sequence(&self, txn: &mut WriteTxn, count: u64) -> Result<u64> {
        self.root(txn)?;
        txn.draw_sequence(self.name(), count)
    }
}
