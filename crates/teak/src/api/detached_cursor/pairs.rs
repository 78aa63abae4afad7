//! Moves of detached cursors by keys, and among the values of a key.

use super::{DetachedCursor, cursor_position::CursorPosition, cursor_step::CursorStep};
use crate::{
    Result,
    api::{KeyStep, Transaction},
    btree::{position::Direction, seek_target::SeekOp},
};

impl DetachedCursor {
    /// Moves to another key, or among the values of the key of its position; returns whether there
    /// is such a record.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, KeyStep};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<&str, &str>("words")?;
    /// words.insert_values(&mut txn, "ash", &["1", "2", "3"])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(cursor.step(&txn, KeyStep::NextKey)?);
    /// assert!(cursor.step(&txn, KeyStep::LastValue)? && cursor.step(&txn, KeyStep::PrevValue)?);
    /// assert_eq!(*cursor.value(&txn)?, *b"2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    #[inline]
    pub fn step<T: Transaction>(&mut self, txn: &T, step: KeyStep) -> Result<bool> {
        match step {
            KeyStep::NextKey => self.move_forward(txn, |cursor| cursor.next_key()),
            KeyStep::PrevKey => self.move_back(txn, |cursor| cursor.prev_key()),
            KeyStep::NextValue => {
                if self.step_in_values(txn, Direction::Forward) {
                    return Ok(true);
                }
                self.move_to(txn, None, |cursor| cursor.next_value())
            }
            KeyStep::PrevValue => {
                if self.step_in_values(txn, Direction::Backward) {
                    return Ok(true);
                }
                self.move_to(txn, None, |cursor| cursor.prev_value())
            }
            KeyStep::FirstValue => {
                self.move_to(txn, None, |cursor| cursor.end_value(Direction::Forward))
            }
            KeyStep::LastValue => {
                self.move_to(txn, None, |cursor| cursor.end_value(Direction::Backward))
            }
        }
    }

    /// Returns the values from the current one to the end of their page in a direction,
    /// concatenated in their order, and moves to the farthest of these. `None` if the cursor is not
    /// on a record, or if the values have no fixed size. A step to the
    /// [next](KeyStep::NextValue) or [previous](KeyStep::PrevValue) value moves to the next page in
    /// that direction.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, Direction, KeyStep};
    /// # use teak::{MultiTableDef, TableOptions, ValueSize};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().value_size(ValueSize::Bytes(4));
    /// let lines = MultiTableDef::<&str, u32>::new("lines").options(options).create(&mut txn)?;
    /// lines.insert_values(&mut txn, "teak", &(0..10_000).collect::<Vec<_>>())?;
    /// let mut cursor = DetachedCursor::new(&lines);
    /// let (mut is_there, mut len) = (cursor.next(&txn)?, 0);
    /// while is_there {
    ///     len += cursor.read_packed(&txn, Direction::Forward)?.map_or(0, <[u8]>::len);
    ///     is_there = cursor.step(&txn, KeyStep::NextValue)?;
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
