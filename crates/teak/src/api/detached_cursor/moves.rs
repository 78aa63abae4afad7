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
        PageSource,
        cursor::{TreeCursor, parked::ParkedCursor},
        multi::cursor::PairCursor,
        position::Direction,
        seek_target::{SeekOp, SeekTarget},
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
        if self.step_in_leaf(txn, Direction::Forward) {
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
        if self.step_in_leaf(txn, Direction::Backward) {
            return Ok(true);
        }
        self.move_back(txn, |cursor| cursor.prev())
    }

    /// Stays on its record or, in a gap, moves to the first record after it. If there is none,
    /// returns `false` and moves after the last record. A cursor whose position has no key does not
    /// move.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
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
            CursorPosition::At => {
                self.move_forward(txn, |cursor| cursor.seek_position(SeekOp::GreaterOrEqual))
            }
            _ => self.move_to(txn, None, |_| Ok(false)),
        }
    }

    /// Moves to the record that `op` looks for, compared with `target`; returns whether there is
    /// one. `target` is a key, a pair of a key and a value, or a [`SeekTarget`].
    ///
    /// If there is none, the cursor moves after the last record, or before the first one after a
    /// seek to a smaller record. After a seek to an [equal](SeekOp::Equal) key or pair it moves to
    /// the next greater record, if there is one. After a seek among the
    /// [values](SeekTarget::Value) of a key that found nothing, it does not move.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, SeekOp};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2)])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(!cursor.seek(&txn, SeekOp::Equal, b"birch")?);
    /// assert_eq!(cursor.key(), b"elm");
    /// assert!(cursor.seek(&txn, SeekOp::LessOrEqual, b"birch")?);
    /// assert_eq!(cursor.key(), b"ash");
    /// assert!(!cursor.seek(&txn, SeekOp::Less, b"ash")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// In a multi-value table:
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, SeekOp, SeekTarget};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<&str, &str>("words")?;
    /// words.insert_many(&mut txn, &[("ash", "1"), ("ash", "3"), ("oak", "2")])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(cursor.seek(&txn, SeekOp::Equal, (b"ash", b"3"))?);
    /// assert!(!cursor.seek(&txn, SeekOp::Equal, (b"ash", b"4"))?);
    /// assert_eq!((cursor.key(), &*cursor.value(&txn)?), (&b"oak"[..], &b"2"[..]));
    /// assert!(!cursor.seek(&txn, SeekOp::Greater, SeekTarget::Value(b"ash", b"3"))?);
    /// assert_eq!(cursor.key(), b"oak");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the key or the value is an
    /// integer of another length than those of the table;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) for a pair or a value if keys have one
    /// value; [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek<'k, T: Transaction>(
        &mut self,
        txn: &T,
        op: SeekOp,
        target: impl Into<SeekTarget<'k>>,
    ) -> Result<bool> {
        self.seek_target(txn, op, target.into())
    }

    fn seek_target<T: Transaction>(
        &mut self,
        txn: &T,
        op: SeekOp,
        target: SeekTarget<'_>,
    ) -> Result<bool> {
        let otherwise = match target {
            SeekTarget::Value(..) => None,
            _ if op.is_back() => Some(CursorPosition::BeforeFirst),
            _ => Some(CursorPosition::AfterLast),
        };
        let mut is_found = false;
        self.move_to(txn, otherwise, |cursor| {
            is_found = cursor.seek(op, target)?;
            Ok(cursor.path.is_on_record())
        })?;
        Ok(is_found)
    }

    /// Passes at most `max` records to `record`, beginning with the current one or the first one
    /// after its position. Then it moves to the record after the last of them, where the next call
    /// continues; `false` if there is none. An unset cursor begins with the first record.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
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
        self.scan_some(txn, Direction::Forward, max, |key, value| {
            record(key, value);
            ControlFlow::Continue(())
        })
    }

    /// Moves in a direction, beginning with the current record or the nearest one in that
    /// direction, to the first record for which `inspect` returns [`ControlFlow::Break`]. If there
    /// is none, returns `false` and moves after the last record, or before the first one going
    /// back. An unset cursor begins with the first record, or with the last one going back.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use teak::{Database, DetachedCursor, Direction, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, Bytes>("words")?;
    /// words.insert_many(&mut txn, &[("ash", b"grey"), ("elm", b"dark"), ("oak", b"fair")])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// let is_found = cursor.scan(&txn, Direction::Forward, |_key, value| match value {
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
        direction: Direction,
        inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.scan_some(txn, direction, usize::MAX, inspect)
    }

    /// Like [`DetachedCursor::scan`], but stops at the record after `max` records, which is not
    /// inspected.
    fn scan_some<T: Transaction>(
        &mut self,
        txn: &T,
        direction: Direction,
        max: usize,
        inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        let otherwise = match direction {
            Direction::Forward => CursorPosition::AfterLast,
            Direction::Backward => CursorPosition::BeforeFirst,
        };
        self.move_to_unchecked(txn, Some(otherwise), |cursor| {
            let is_there = cursor.check_faults(|cursor| match (cursor.position, direction) {
                (CursorPosition::At, Direction::Forward) => {
                    cursor.seek_position(SeekOp::GreaterOrEqual)
                }
                (CursorPosition::At, Direction::Backward) => {
                    cursor.seek_position(SeekOp::LessOrEqual)
                }
                (_, Direction::Forward) => cursor.next(),
                (_, Direction::Backward) => cursor.prev(),
            })?;
            Ok(is_there && cursor.search(direction, max, inspect)?)
        })
    }
}

impl CursorStep<'_, '_> {
    /// Moves on from the current record until `inspect` accepts a record, or to the one after `max`
    /// records. After an error the last inspected record may be invalid.
    fn search(
        &mut self,
        direction: Direction,
        max: usize,
        inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        match &mut self.path {
            BorrowedPath::Pair(cursor) => search(cursor, direction, max, inspect),
            BorrowedPath::Record(position) => {
                let parked = ParkedCursor::at(mem::take(position));
                let mut cursor = TreeCursor::resume(self.source, *self.root, parked)?;
                let is_there = match direction {
                    Direction::Forward => search_records(&mut cursor, max, inspect, |cursor| {
                        Ok(cursor.next_in_current_leaf(false) || cursor.next()?)
                    })?,
                    Direction::Backward => search_records(&mut cursor, max, inspect, |cursor| {
                        Ok(cursor.prev_in_current_leaf(false) || cursor.prev()?)
                    })?,
                };
                *position = cursor.park().into_position();
                Ok(is_there)
            }
        }
    }
}

/// Like [`search`], in a tree with one value per key.
#[inline]
fn search_records<S: PageSource + ?Sized>(
    cursor: &mut TreeCursor<'_, S>,
    max: usize,
    mut inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    step: impl Fn(&mut TreeCursor<'_, S>) -> Result<bool>,
) -> Result<bool> {
    for _ in 0..max {
        let inspected = cursor.decode(|value| Ok(inspect(cursor.key(), value)));
        if inspected.map_err(|error| *error)?.is_break() {
            break;
        }
        if !step(cursor)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn search<S: PageSource + ?Sized>(
    cursor: &mut PairCursor<'_, S>,
    direction: Direction,
    max: usize,
    mut inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<bool> {
    for _ in 0..max {
        let inspected = cursor.decode(|key, value| Ok(inspect(key, value)));
        if inspected.map_err(|error| *error)?.is_break() {
            break;
        }
        let is_there = match direction {
            Direction::Forward => cursor.next()?,
            Direction::Backward => cursor.prev()?,
        };
        if !is_there {
            return Ok(false);
        }
    }
    Ok(true)
}
