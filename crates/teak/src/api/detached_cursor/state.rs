//! Queries on the position of a detached cursor.

use super::{DetachedCursor, cursor_position::CursorPosition};
use crate::{
    Result,
    api::{CursorEnds, KeyStep, Transaction},
};
use std::{borrow::Cow, cmp::Ordering};

impl DetachedCursor {
    /// Returns the value of the current record. It is empty if the cursor is not on a record;
    /// [`DetachedCursor::is_on_record`] tells this from an empty value.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, Bytes>("words")?;
    /// words.insert(&mut txn, "ash", b"a tree")?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.first(&txn)?;
    /// assert_eq!(*cursor.value(&txn)?, *b"a tree");
    /// words.insert(&mut txn, "ash", b"what a fire leaves")?;
    /// assert_eq!(*cursor.value(&txn)?, *b"what a fire leaves");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn value<'t, T: Transaction>(&self, txn: &'t T) -> Result<Cow<'t, [u8]>> {
        if let Some(value) = self.value_in_leaf(txn) {
            return Ok(Cow::Borrowed(value));
        }
        let value = self.inspect(txn, |source, root, path| path.value(source, root))?;
        Ok(value.flatten().unwrap_or_default())
    }

    /// Returns whether the cursor is on a record: whether the table has its key now.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert(&mut txn, "ash", 1)?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.first(&txn)?;
    /// assert!(cursor.is_on_record(&txn)?);
    /// words.remove(&mut txn, "ash")?;
    /// assert!(!cursor.is_on_record(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn is_on_record<T: Transaction>(&self, txn: &T) -> Result<bool> {
        Ok(self.inspect(txn, |_, _, _| Ok(()))?.is_some())
    }

    /// Returns which ends the cursor is at.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert(&mut txn, "ash", 1)?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.first(&txn)?;
    /// assert!(cursor.ends(&txn)?.is_first && cursor.ends(&txn)?.is_last);
    /// words.insert(&mut txn, "oak", 1)?;
    /// assert!(cursor.ends(&txn)?.is_first && !cursor.ends(&txn)?.is_last);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn ends<T: Transaction>(&self, txn: &T) -> Result<CursorEnds> {
        if let Some(ends) = self.inspect(txn, |_, _, path| Ok(path.ends()))? {
            return Ok(ends);
        }
        let is_after_last = match self.position {
            CursorPosition::Unset | CursorPosition::BeforeFirst => false,
            CursorPosition::AfterLast => true,
            CursorPosition::At => !self.clone().current(txn)?,
        };
        Ok(CursorEnds {
            is_after_last,
            ..CursorEnds::default()
        })
    }

    /// Compares the positions of two cursors in the order of the table; `None` if they belong to
    /// different tables, or one of them is unset. [`Table::compare_keys`](crate::Table::compare_keys)
    /// compares their keys alone.
    ///
    /// ```
    /// # use std::cmp::Ordering;
    /// # use teak::{Database, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2)])?;
    /// let (mut one, mut other) = (DetachedCursor::new(&words), DetachedCursor::new(&words));
    /// assert_eq!(one.compare(&other, &txn)?, None);
    /// one.first(&txn)?;
    /// other.last(&txn)?;
    /// assert_eq!(one.compare(&other, &txn)?, Some(Ordering::Less));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn compare<T: Transaction>(&self, other: &Self, txn: &T) -> Result<Option<Ordering>> {
        let root = self.table.root(txn)?;
        let has_no_position =
            self.position == CursorPosition::Unset || other.position == CursorPosition::Unset;
        if self.table.name() != other.table.name() || has_no_position {
            return Ok(None);
        }
        Ok(Some(match (self.position, other.position) {
            (CursorPosition::At, CursorPosition::At) => {
                root.compare_pairs((&self.key, &self.value), (&other.key, &other.value))
            }
            (one, other) => one.cmp(&other),
        }))
    }

    /// Returns how many values the key of the position has, without reading them; 0 if there is no
    /// such key.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<&str, &str>("words")?;
    /// words.insert_values(&mut txn, "ash", &["a tree", "what a fire leaves"])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.next(&txn)?;
    /// assert_eq!(cursor.count(&txn)?, 2);
    /// cursor.remove(&mut txn)?;
    /// assert_eq!(cursor.count(&txn)?, 1, "also in a gap");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn count<T: Transaction>(&self, txn: &T) -> Result<u64> {
        if let Some(count) = self.inspect(txn, |_, _, path| Ok(path.count()))? {
            return Ok(count);
        }
        let mut other = self.clone();
        match other.step(txn, KeyStep::FirstValue)? {
            true => Ok(other
                .inspect(txn, |_, _, path| Ok(path.count()))?
                .unwrap_or(0)),
            false => Ok(0),
        }
    }
}
