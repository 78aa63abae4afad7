//! Where detached cursors go.

use super::{
    DetachedCursor,
    cursor_step::{BorrowedPath, CursorStep},
    place::CursorPosition,
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
    /// Goes to the first record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::next`].
    pub fn first<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        self.move_to(txn, Some(CursorPosition::AfterLast), |cursor| {
            cursor.first()
        })
    }

    /// Goes to the last record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::next`].
    pub fn last<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        self.move_to(txn, Some(CursorPosition::BeforeFirst), |cursor| {
            cursor.last()
        })
    }

    /// Goes to the first record behind its place; `false` if there is none, and then it is behind the last one.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table is not there, as for all steps;
    /// [`Error::Corrupted`](crate::Error::Corrupted); [`Error::SnapshotLost`](crate::Error::SnapshotLost) in a read transaction
    /// that was cancelled.
    pub fn next<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        if self.step_in_leaf(txn, StepDirection::Forward) {
            return Ok(true);
        }
        self.move_to(txn, Some(CursorPosition::AfterLast), |cursor| cursor.next())
    }

    /// Goes to the last record before its place; `false` if there is none, and then it is before the first one.
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::next`].
    pub fn prev<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        if self.step_in_leaf(txn, StepDirection::Backward) {
            return Ok(true);
        }
        self.move_to(txn, Some(CursorPosition::BeforeFirst), |cursor| {
            cursor.prev()
        })
    }

    /// Stays on its record, or, in a gap, goes to the first record behind that; `false` if there is none, and then it is behind the
    /// last one. A cursor whose place is none of a key stays where it is.
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
    /// Those of [`DetachedCursor::next`].
    pub fn current<T: Transaction>(&mut self, txn: &T) -> Result<bool> {
        match self.position {
            CursorPosition::At => self.move_to(txn, Some(CursorPosition::AfterLast), |cursor| {
                cursor.current_or_next_record()
            }),
            _ => self.move_to(txn, None, |_| Ok(false)),
        }
    }

    /// Goes to the first record whose key is not smaller than `key`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::next`]; [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an integer of another length
    /// than the keys.
    pub fn seek<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        self.move_to(txn, Some(CursorPosition::AfterLast), |cursor| {
            Ok(cursor.seek(key)?.is_some())
        })
    }

    /// Goes to the record of `key`. If there is none it returns `false` and goes to the first record with a greater key, or behind
    /// the last one.
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
    /// Those of [`DetachedCursor::seek`].
    pub fn seek_exact<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        let mut is_exact = false;
        self.move_to(txn, Some(CursorPosition::AfterLast), |cursor| {
            let found = cursor.seek(key)?;
            is_exact = found == Some(true);
            Ok(found.is_some())
        })?;
        Ok(is_exact)
    }

    /// Goes to the first record whose key is greater than `key`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::seek`].
    pub fn seek_greater<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        self.move_to(txn, Some(CursorPosition::AfterLast), |cursor| {
            cursor.seek_greater(key)
        })
    }

    /// Goes to the last record whose key is smaller than `key`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::seek`].
    pub fn seek_less<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        self.move_to(txn, Some(CursorPosition::BeforeFirst), |cursor| {
            cursor.seek_less(key)
        })
    }

    /// Goes to the last record whose key is not greater than `key`; `false` if there is none.
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
    /// Those of [`DetachedCursor::seek`].
    pub fn seek_less_or_equal<T: Transaction>(&mut self, txn: &T, key: &[u8]) -> Result<bool> {
        self.move_to(txn, Some(CursorPosition::BeforeFirst), |cursor| {
            cursor.seek_less_or_equal(key)
        })
    }

    /// Hands records to `record`, from the one that the cursor is on or the first one behind its place, at most so many, and goes to
    /// the record behind the last of them, where the next call goes on; `false` if there is none. A cursor that is nowhere yet begins with
    /// the first record.
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
    /// Those of [`DetachedCursor::next`]. What was handed out before an error says that something cannot be read is not to be relied on.
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

    /// Goes forward, from the record that the cursor is on or the first one behind its place, to the first one of which `inspect` says
    /// [`ControlFlow::Break`]; `false` if there is none, and then it is behind the last one. A cursor that is nowhere yet begins with the
    /// first record.
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
    /// Those of [`DetachedCursor::read_batch`].
    pub fn scan<T: Transaction>(
        &mut self,
        txn: &T,
        inspect: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.scan_some(txn, usize::MAX, inspect)
    }

    /// The same up to the record behind so many, which is not looked at.
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

    /// Goes back, from the record that the cursor is on or the last one before its place, to the first one of which `inspect` says
    /// [`ControlFlow::Break`]; `false` if there is none, and then it is before the first one. A cursor that is nowhere yet begins with the
    /// last record.
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::read_batch`].
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
    /// Goes on, from the record that it is on, until `inspect` says that this is it, or to the one behind so many. After an error the record that was
    /// looked at last may have been none.
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
                        // Back it is faster by index, forwards it is not.
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
