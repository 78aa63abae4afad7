//! Moves of detached cursors among the values of a key, and by pairs.

use super::{
    CursorTable, DetachedCursor, cursor_position::CursorPosition, cursor_step::CursorStep,
};
use crate::{
    Result,
    api::{Transaction, table_handle::ONE_VALUE},
    btree::{PageSource, multi::cursor::PairCursor, position::StepDirection},
};

type PairPages<'t> = dyn PageSource + 't;

impl DetachedCursor {
    /// Moves to the first value of the first key after that of its position. If there is none,
    /// returns `false` and moves after the last record.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_many(&mut txn, &[("ash", "1"), ("ash", "2"), ("oak", "3")])?;
    /// let mut cursor = DetachedCursor::for_multi(&words);
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
        if self.step_in_values(txn, StepDirection::Forward) {
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
        if self.step_in_values(txn, StepDirection::Backward) {
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
        self.move_to(txn, None, |cursor| cursor.first_value())
    }

    /// Moves to the last value of the key of its position. If there is no such key, returns `false`
    /// and does not move.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_values(&mut txn, "ash", &["1", "2", "3"])?;
    /// let mut cursor = DetachedCursor::for_multi(&words);
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
        self.move_to(txn, None, |cursor| cursor.last_value())
    }

    /// Moves to the first pair that is not smaller, by key and then by value. If there is none,
    /// returns `false` and moves after the last pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_pair<T: Transaction>(&mut self, txn: &T, key: &[u8], value: &[u8]) -> Result<bool> {
        self.move_to_pair(
            txn,
            Some(CursorPosition::AfterLast),
            (key, value),
            |cursor| Ok(cursor.seek_pair(key, value)?.is_some()),
        )
    }

    /// Moves to a pair. If it is absent, returns `false` and moves to the next one, or after the
    /// last one.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_many(&mut txn, &[("ash", "1"), ("ash", "3"), ("oak", "2")])?;
    /// let mut cursor = DetachedCursor::for_multi(&words);
    /// assert!(cursor.seek_pair_exact(&txn, b"ash", b"3")?);
    /// assert!(!cursor.seek_pair_exact(&txn, b"ash", b"4")?);
    /// assert_eq!((cursor.key(), &*cursor.value(&txn)?), (&b"oak"[..], &b"2"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_pair_exact<T: Transaction>(
        &mut self,
        txn: &T,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let mut is_exact = false;
        self.move_to_pair(
            txn,
            Some(CursorPosition::AfterLast),
            (key, value),
            |cursor| {
                let found = cursor.seek_pair(key, value)?;
                is_exact = found == Some(true);
                Ok(found.is_some())
            },
        )?;
        Ok(is_exact)
    }

    /// Moves to the first pair that is greater. If there is none, returns `false` and moves after
    /// the last pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_pair_greater<T: Transaction>(
        &mut self,
        txn: &T,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let pair = (key, value);
        self.move_to_pair(txn, Some(CursorPosition::AfterLast), pair, |cursor| {
            cursor.seek_pair_greater(pair)
        })
    }

    /// Moves to the last pair that is smaller. If there is none, returns `false` and moves before
    /// the first pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_pair_less<T: Transaction>(
        &mut self,
        txn: &T,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let pair = (key, value);
        self.move_to_pair(txn, Some(CursorPosition::BeforeFirst), pair, |cursor| {
            cursor.seek_pair_less(pair)
        })
    }

    /// Moves to the last pair that is not greater. If there is none, returns `false` and moves
    /// before the first pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_pair_less_or_equal<T: Transaction>(
        &mut self,
        txn: &T,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let pair = (key, value);
        self.move_to_pair(txn, Some(CursorPosition::BeforeFirst), pair, |cursor| {
            cursor.seek_pair_less_or_equal(pair)
        })
    }

    /// Moves to the first value of exactly this key that is not smaller than `value`. If there is
    /// none, returns `false` and does not move.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_many(&mut txn, &[("ash", "1"), ("ash", "3"), ("oak", "2")])?;
    /// let mut cursor = DetachedCursor::for_multi(&words);
    /// assert!(cursor.seek_value(&txn, b"ash", b"2")?);
    /// assert_eq!(*cursor.value(&txn)?, *b"3");
    /// assert!(!cursor.seek_value(&txn, b"ash", b"4")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_value<T: Transaction>(
        &mut self,
        txn: &T,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        self.move_to_pair(txn, None, (key, value), |cursor| {
            Ok(cursor.seek_value(key, value)?.is_some())
        })
    }

    /// Moves to a pair. If it is absent, returns `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_value_exact<T: Transaction>(
        &mut self,
        txn: &T,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        self.move_to_pair(txn, None, (key, value), |cursor| {
            Ok(cursor.seek_value(key, value)? == Some(true))
        })
    }

    /// Moves to the first value of exactly this key that is greater than `value`. If there is none,
    /// returns `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_value_greater<T: Transaction>(
        &mut self,
        txn: &T,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let pair = (key, value);
        self.move_to_pair(txn, None, pair, |cursor| cursor.seek_value_greater(pair))
    }

    /// Moves to the last value of exactly this key that is smaller than `value`. If there is none,
    /// returns `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_value_less<T: Transaction>(
        &mut self,
        txn: &T,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let pair = (key, value);
        self.move_to_pair(txn, None, pair, |cursor| cursor.seek_value_less(pair))
    }

    /// Moves to the last value of exactly this key that is not greater than `value`. If there is
    /// none, returns `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values;
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) if the cursor is over a plain table;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn seek_value_less_or_equal<T: Transaction>(
        &mut self,
        txn: &T,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let pair = (key, value);
        self.move_to_pair(txn, None, pair, |cursor| {
            cursor.seek_value_less_or_equal(pair)
        })
    }

    /// Moves where a search for a pair leads.
    fn move_to_pair<'t, T: Transaction>(
        &mut self,
        txn: &'t T,
        otherwise: Option<CursorPosition>,
        pair: (&[u8], &[u8]),
        seek: impl FnOnce(&mut PairCursor<'t, PairPages<'t>>) -> Result<bool>,
    ) -> Result<bool> {
        if let CursorTable::Records(table) = &self.table {
            table.root(txn)?;
            return Err(table.is_other(ONE_VALUE));
        }
        self.move_to(txn, otherwise, |cursor| cursor.seek_pair(pair, seek))
    }

    /// Returns the values from the current one to the end of their page, concatenated, and moves to
    /// the last of these. `None` if the cursor is not on a pair, or if the values have no fixed
    /// size. [`DetachedCursor::next_value`] moves to the next page.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, TableOptions, ValueSize, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().value_size(ValueSize::Bytes(4));
    /// let lines = txn.create_multi_table_with::<Str, U32>("lines", options)?;
    /// lines.insert_values(&mut txn, "teak", &(0..10_000).collect::<Vec<_>>())?;
    /// let mut cursor = DetachedCursor::for_multi(&lines);
    /// let (mut is_there, mut len) = (cursor.next(&txn)?, 0);
    /// while is_there {
    ///     len += cursor.read_packed(&txn)?.map_or(0, <[u8]>::len);
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
    pub fn read_packed<'t, T: Transaction>(&mut self, txn: &'t T) -> Result<Option<&'t [u8]>> {
        self.read_pack(txn, |cursor| {
            let values = cursor.packed()?;
            cursor.skip_packed(values)?;
            Ok(values)
        })
    }

    /// Returns the values from the beginning of their page to the current one, concatenated in
    /// their order, and moves to the first of these. `None` if the cursor is not on a pair, or if
    /// the values have no fixed size. [`DetachedCursor::prev_value`] moves to the previous page.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist;
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::SnapshotLost`](crate::Error::SnapshotLost) if the read transaction was cancelled.
    pub fn read_packed_back<'t, T: Transaction>(&mut self, txn: &'t T) -> Result<Option<&'t [u8]>> {
        self.read_pack(txn, |cursor| {
            let values = cursor.packed_back()?;
            cursor.skip_packed_back(values)?;
            Ok(values)
        })
    }

    fn read_pack<'t, T: Transaction>(
        &mut self,
        txn: &'t T,
        read: impl FnOnce(&mut PairCursor<'t, PairPages<'t>>) -> Result<Option<&'t [u8]>>,
    ) -> Result<Option<&'t [u8]>> {
        let mut values = None;
        let read = |cursor: &mut CursorStep<'_, 't>| {
            let is_on_pair = cursor.position == CursorPosition::At && cursor.current_record()?;
            if let (true, Some(cursor)) = (is_on_pair, cursor.as_pairs()) {
                values = read(cursor)?;
            }
            Ok(values.is_some())
        };
        self.move_to(txn, None, read)?;
        Ok(values)
    }
}
