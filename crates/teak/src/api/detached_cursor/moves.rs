//! Moves of detached cursors.

use super::{
    DetachedCursor,
    cursor_position::CursorPosition,
    cursor_step::{BorrowedPath, CursorStep},
};
use crate::{
    Result,
    api::Transaction,
    btree::{
        cursor::{TreeCursor, parked::ParkedCursor},
        position::StepDirection,
    },
};
use std::{mem, ops::ControlFlow};

impl DetachedCursor {
    /// Moves to the first record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn first<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        self.move_forward(txn, |cursor| cursor.first())
    }

    /// Moves to the last record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn last<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        self.move_back(txn, |cursor| cursor.last())
    }

    /// Moves to the first record after its position. If there is none, returns `false` and moves
    /// after the last record.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn next<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        if self.step_in_leaf(txn, StepDirection::Forward) {
            return Ok(true);
        }
        self.move_forward(txn, |cursor| cursor.next())
    }

    /// Moves to the last record before its position. If there is none, returns `false` and moves
    /// before the first record.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn prev<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        if self.step_in_leaf(txn, StepDirection::Backward) {
            return Ok(true);
        }
        self.move_back(txn, |cursor| cursor.prev())
    }

    /// Stays on its record or, in a gap, moves to the first record after it. If there is none,
    /// returns `false` and moves after the last record. A cursor whose position has no key does not
    /// move.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2)])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.first(&txn)?;
    /// words.remove(&mut txn, "ash")?;
    /// assert!(cursor.current(&txn)?);
    /// assert_eq!(cursor.key(), b"elm");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn current<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        match self.position {
            CursorPosition::At => self.move_forward(txn, |cursor| cursor.current_or_next_record()),
            _ => self.move_to(txn, None, |_| Ok(false)),
        }
    }

    /// Moves to the first record whose key is not smaller than `key`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::TableNotFound`](crate::Error::TableNotFound) if the table
    /// does not exist; [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        self.move_forward(txn, |cursor| Ok(cursor.seek(key)?.is_some()))
    }

    /// Moves to the record of `key`. If there is none, returns `false` and moves to the first
    /// record with a greater key, or after the last one.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2)])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(cursor.seek_exact(&txn, b"ash")?);
    /// assert!(!cursor.seek_exact(&txn, b"birch")?);
    /// assert_eq!(cursor.key(), b"elm");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::TableNotFound`](crate::Error::TableNotFound) if the table
    /// does not exist; [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_exact<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        let mut is_exact = false;
        self.move_forward(txn, |cursor| {
            let found = cursor.seek(key)?;
            is_exact = found == Some(true);
            Ok(found.is_some())
        })?;
        Ok(is_exact)
    }

    /// Moves to the first record whose key is greater than `key`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::TableNotFound`](crate::Error::TableNotFound) if the table
    /// does not exist; [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_greater<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        self.move_forward(txn, |cursor| cursor.seek_greater(key))
    }

    /// Moves to the last record whose key is smaller than `key`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::TableNotFound`](crate::Error::TableNotFound) if the table
    /// does not exist; [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_less<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        self.move_back(txn, |cursor| cursor.seek_less(key))
    }

    /// Moves to the last record whose key is not greater than `key`; `false` if there is none.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2)])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(cursor.seek_less_or_equal(&txn, b"birch")?);
    /// assert_eq!(cursor.key(), b"ash");
    /// assert!(cursor.seek_greater(&txn, b"birch")?);
    /// assert!(!cursor.seek_less(&txn, b"ash")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::TableNotFound`](crate::Error::TableNotFound) if the table
    /// does not exist; [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_less_or_equal<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        self.move_back(txn, |cursor| cursor.seek_less_or_equal(key))
    }

    /// Passes at most `max` records to `record`, beginning with the current one or the first one
    /// after its position. Then it moves to the record after the last of them, where the next call
    /// continues; `false` if there is none. An unset cursor begins with the first record.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// let mut keys = Vec::new();
    /// while cursor.read_batch(&txn, 2, |key, _value| keys.push(key.to_vec()))? {}
    /// assert_eq!(keys, [b"ash", b"elm", b"oak"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    /// Records passed on before an unreadable page was reported must not be relied on.
    pub fn read_batch<T: Transaction>(
        &mut self,
        txn: &T,
        max: usize,
        mut record: impl FnMut(&[u8], &[u8]),
    ) -> Result<bool> {
        self.scan_some(txn, max, |key, value| {
            record(key, value);
            ControlFlow::Continue(())
        })
    }

    /// Moves forward, beginning with the current record or the first one after its position, to the
    /// first record for which `inspect` returns [`ControlFlow::Break`]. If there is none, returns
    /// `false` and moves after the last record. An unset cursor begins with the first record.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use teak::{Database, DetachedCursor, codec::{Bytes, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, Bytes>("words")?;
    /// words.insert_many(&mut txn, &[("ash", b"grey"), ("elm", b"dark"), ("oak", b"fair")])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// let is_found = cursor.scan(&txn, |_key, value| match value {
    ///     b"dark" => ControlFlow::Break(()),
    ///     _ => ControlFlow::Continue(()),
    /// })?;
    /// assert!(is_found);
    /// assert_eq!(cursor.key(), b"elm");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    /// Records passed on before an unreadable page was reported must not be relied on.
    pub fn scan<T: Transaction>(
        &mut self,
        txn: &T,
        inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.scan_some(txn, usize::MAX, inspect)
    }

    /// Like [`DetachedCursor::scan`], but stops at the record after `max` records, which is not
    /// inspected.
    fn scan_some<T: Transaction>(
        &mut self,
        txn: &T,
        max: usize,
        inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.move_to_unchecked(txn, Some(CursorPosition::AfterLast), |cursor| {
            let is_there = cursor.check_faults(|cursor| match cursor.position {
                CursorPosition::At => cursor.current_or_next_record(),
                _ => cursor.next(),
            })?;
            Ok(is_there && cursor.search(StepDirection::Forward, max, inspect)?)
        })
    }

    /// Moves back, beginning with the current record or the last one before its position, to the
    /// first record for which `inspect` returns [`ControlFlow::Break`]. If there is none, returns
    /// `false` and moves before the first record. An unset cursor begins with the last record.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    /// Records passed on before an unreadable page was reported must not be relied on.
    pub fn scan_back<T: Transaction>(
        &mut self,
        txn: &T,
        inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.move_to_unchecked(txn, Some(CursorPosition::BeforeFirst), |cursor| {
            let is_there = cursor.check_faults(|cursor| match cursor.position {
                CursorPosition::At => cursor.current_or_previous_record(),
                _ => cursor.prev(),
            })?;
            Ok(is_there && cursor.search(StepDirection::Backward, usize::MAX, inspect)?)
        })
    }
}

impl CursorStep<'_, '_> {
    /// Moves on from the current record until `inspect` accepts a record, or to the one after `max`
    /// records. After an error the last inspected record may be invalid.
    fn search(
        &mut self,
        direction: StepDirection,
        max: usize,
        mut inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        let (mut is_there, mut left) = (true, max);
        match &mut self.path {
            BorrowedPath::Pair(cursor) => {
                while is_there && left > 0 {
                    left -= 1;
                    if cursor
                        .decode(|key, value| Ok(inspect(key, value)))?
                        .is_break()
                    {
                        break;
                    }
                    is_there = match direction {
                        StepDirection::Forward => cursor.next()?,
                        StepDirection::Backward => cursor.prev()?,
                    };
                }
            }
            BorrowedPath::Record(position) => {
                let parked = ParkedCursor::at(mem::take(position));
                let mut cursor = TreeCursor::resume(self.source, *self.root, parked)?;
                while is_there && left > 0 {
                    left -= 1;
                    if cursor
                        .decode(|value| Ok(inspect(cursor.key(), value)))?
                        .is_break()
                    {
                        break;
                    }
                    is_there = match direction {
                        StepDirection::Forward => cursor.next()?,
                        // Backwards, access by index is faster; forwards it is not.
                        StepDirection::Backward => {
                            cursor.prev_in_current_leaf() || cursor.prev()?
                        }
                    };
                }
                *position = cursor.park().into_position();
            }
        }
        Ok(is_there)
    }
}
