//! Moves of detached cursors by keys, and among the values of a key.

use super::{DetachedCursor, cursor_position::CursorPosition, cursor_step::CursorStep};
use crate::{
    Result,
    api::Transaction,
    btree::{position::Direction, seek_target::SeekOp},
};

impl DetachedCursor {
    /// Moves to the first value of the first key after that of its position. If there is none,
    /// returns `false` and moves after the last record.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<&str, &str>("words")?;
    /// words.insert_many(&mut txn, &[("ash", "1"), ("ash", "2"), ("oak", "3")])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// let mut keys = Vec::new();
    /// while cursor.next_key(&txn)? {
    ///     keys.push(cursor.key().to_vec());
    /// }
    /// assert_eq!(keys, [b"ash", b"oak"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn next_key<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        self.move_forward(txn, |cursor| cursor.next_key())
    }

    /// Moves to the last value of the last key before that of its position. If there is none,
    /// returns `false` and moves before the first record.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn prev_key<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        self.move_back(txn, |cursor| cursor.prev_key())
    }

    /// Moves to the first value of the same key after its position. If there is none, returns
    /// `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn next_value<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        if self.step_in_values(txn, Direction::Forward) {
            return Ok(true);
        }
        self.move_to(txn, None, |cursor| cursor.next_value())
    }

    /// Moves to the last value of the same key before its position. If there is none, returns
    /// `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn prev_value<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        if self.step_in_values(txn, Direction::Backward) {
            return Ok(true);
        }
        self.move_to(txn, None, |cursor| cursor.prev_value())
    }

    /// Moves to the first value of the key of its position. If there is no such key, returns
    /// `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn first_value<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        self.move_to(txn, None, |cursor| cursor.end_value(Direction::Forward))
    }

    /// Moves to the last value of the key of its position. If there is no such key, returns `false`
    /// and does not move.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<&str, &str>("words")?;
    /// words.insert_values(&mut txn, "ash", &["1", "2", "3"])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.next(&txn)?;
    /// assert!(cursor.last_value(&txn)? && cursor.prev_value(&txn)?);
    /// assert_eq!(*cursor.value(&txn)?, *b"2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn last_value<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        self.move_to(txn, None, |cursor| cursor.end_value(Direction::Backward))
    }

    /// Returns the values from the current one to the end of their page in a direction,
    /// concatenated in their order, and moves to the farthest of these. `None` if the cursor is not
    /// on a record, or if the values have no fixed size. [`DetachedCursor::next_value`] or
    /// [`DetachedCursor::prev_value`] moves to the next page in that direction.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, Direction, TableOptions, ValueSize};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().value_size(ValueSize::Bytes(4));
    /// let lines = txn.create_multi_table_with::<&str, u32>("lines", options)?;
    /// lines.insert_values(&mut txn, "teak", &(0..10_000).collect::<Vec<_>>())?;
    /// let mut cursor = DetachedCursor::new(&lines);
    /// let (mut is_there, mut len) = (cursor.next(&txn)?, 0);
    /// while is_there {
    ///     len += cursor.read_packed(&txn, Direction::Forward)?.map_or(0, <[u8]>::len);
    ///     is_there = cursor.next_value(&txn)?;
    /// }
    /// assert_eq!(len, 40_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn read_packed<'t, T: Transaction>(
        &mut self,
        txn: &'t T,
        direction: Direction,
    ) -> Result<Option<&'t [u8]>> {
        let mut values = None;
        let read = |cursor: &mut CursorStep<'_, 't>| {
            let is_on_pair =
                cursor.position == CursorPosition::At && cursor.seek_position(SeekOp::Equal)?;
            if let (true, Some(cursor)) = (is_on_pair, cursor.as_pairs()) {
                values = cursor.read_packed(direction)?;
            }
            Ok(values.is_some())
        };
        self.move_to(txn, None, read)?;
        Ok(values)
    }
}
