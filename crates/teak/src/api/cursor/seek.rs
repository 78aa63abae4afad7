//! Cursor seeks by key, and whether a cursor is at an end.

use super::{Cursor, OwnedCursor, check_probe};
use crate::Result;

impl Cursor<'_> {
    /// Moves to the first record whose key is greater than `key`. If there is none, returns `false`
    /// and moves after the last record.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(cursor.seek_greater(b"elm")?);
    /// assert_eq!(cursor.key(), b"oak");
    /// assert!(!cursor.seek_greater(b"oak")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_greater(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.inner.root(), key)?;
        let moved = self.inner.seek_greater(key);
        self.located(moved)
    }

    /// Moves to the last record whose key is smaller than `key`. If there is none, returns `false`
    /// and moves before the first record.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(cursor.seek_less(b"elm")?);
    /// assert_eq!(cursor.key(), b"ash");
    /// assert!(!cursor.seek_less(b"ash")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_less(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.inner.root(), key)?;
        let moved = self.inner.seek_less(key);
        self.located(moved)
    }

    /// Moves to the last record whose key is not greater than `key`. If there is none, returns
    /// `false` and moves before the first record.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(cursor.seek_less_or_equal(b"fir")?);
    /// assert_eq!(cursor.key(), b"elm");
    /// assert!(cursor.seek_less_or_equal(b"ash")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_less_or_equal(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.inner.root(), key)?;
        let moved = self.inner.seek_less_or_equal(key);
        self.located(moved)
    }

    /// Whether the cursor is on the first record of the table.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2)])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(!cursor.is_first() && !cursor.is_last());
    /// cursor.next()?;
    /// assert!(cursor.is_first() && !cursor.is_last());
    /// cursor.next()?;
    /// assert!(cursor.is_last());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.inner.position().is_first()
    }

    /// Whether the cursor is on the last record of the table; see [`Cursor::is_first`].
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.inner.position().is_last()
    }
}

impl OwnedCursor {
    /// Moves to the first record whose key is greater than `key`, like [`Cursor::seek_greater`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_greater(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(&self.root, key)?;
        self.step(|position, source, root| position.seek_greater(source, root, key))
    }

    /// Moves to the last record whose key is smaller than `key`, like [`Cursor::seek_less`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_less(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(&self.root, key)?;
        self.step(|position, source, root| position.seek_less(source, root, key))
    }

    /// Moves to the last record whose key is not greater than `key`, like
    /// [`Cursor::seek_less_or_equal`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_less_or_equal(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(&self.root, key)?;
        self.step(|position, source, root| position.seek_less_or_equal(source, root, key))
    }

    /// Whether the cursor is on the first record of the table.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.position.is_first()
    }

    /// Whether the cursor is on the last record of the table.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.position.is_last()
    }
}
