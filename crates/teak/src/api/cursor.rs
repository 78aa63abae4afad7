//! Cursors over the raw bytes of a table.

mod moves;
mod steps;

use super::{CursorEnds, key_checks::check_probes, range_cursor::Source};
use crate::{
    Error, Result,
    btree::{
        PageSource, TreeRoot,
        multi::cursor::PairCursor,
        position::Direction,
        seek_target::{SeekOp, SeekTarget},
    },
    read::located::located,
};
use std::{fmt, sync::Arc};

/// A cursor over a table that borrows the transaction. It begins unset: a step forward goes to the
/// first record, a step back to the last. After the last record, a step back goes to the last
/// record again. Before the first record, a step forward goes to the first record.
///
/// ```
/// # use teak::{Database, SeekOp};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_table::<&str, &str>("words")?;
/// words.insert(&mut txn, "oak", "1")?;
/// words.insert(&mut txn, "teak", "2")?;
/// let mut cursor = words.cursor(&txn)?;
/// assert!(cursor.seek(SeekOp::GreaterOrEqual, b"p")?);
/// assert_eq!((cursor.key(), cursor.value()?), (&b"teak"[..], &b"2"[..]));
/// assert!(cursor.prev()?);
/// assert!(!cursor.prev()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// In a multi-value table, each pair of key and value is a record, in the order of keys and then of
/// values. In a table with one value per key, moves among the values of a key find only that value.
///
/// ```
/// # use teak::{Database, KeyStep, SeekOp, SeekTarget};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_multi_table::<&str, &str>("words")?;
/// words.insert_many(&mut txn, &[("oak", "1"), ("teak", "2"), ("teak", "5")])?;
/// let mut cursor = words.cursor(&txn)?;
/// assert!(cursor.seek(SeekOp::GreaterOrEqual, SeekTarget::Value(b"teak", b"3"))?);
/// assert_eq!((cursor.key(), cursor.value()?), (&b"teak"[..], &b"5"[..]));
/// assert!(cursor.step(KeyStep::PrevKey)?);
/// assert_eq!((cursor.key(), cursor.count()), (&b"oak"[..], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Cursor<'t> {
    inner: PairCursor<'t, dyn PageSource + Sync + 't>,
    name: Arc<[u8]>,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(source: Source<'t>, root: TreeRoot, name: Arc<[u8]>) -> Self {
        Self {
            inner: PairCursor::new(source, root),
            name,
        }
    }

    /// Adds to a damage error which keys of the table are affected.
    #[inline]
    fn located<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.located_error(error))
    }

    #[cold]
    fn located_error(&self, error: Error) -> Error {
        let (source, root) = (self.inner.source(), self.inner.root());
        located(error, source, root, &self.name, Some(self.inner.key()))
    }

    /// Moves to the record that `op` looks for, compared with `target`; returns whether there is
    /// one. `target` is a key, a pair of a key and a value, or a [`SeekTarget`].
    ///
    /// If there is none, the cursor is on no record, with one exception: after a seek to an
    /// [equal](SeekOp::Equal) key or pair it is on the next greater record, if there is one.
    /// Otherwise it is after the last record, or before the first one after a seek to a smaller
    /// record. After a seek among the [values](SeekTarget::Value) of a key that found nothing, its
    /// position is unspecified.
    ///
    /// ```
    /// # use teak::{Database, SeekOp};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(!cursor.seek(SeekOp::Equal, b"fir")?);
    /// assert_eq!(cursor.key(), b"oak");
    /// assert!(cursor.seek(SeekOp::LessOrEqual, b"fir")?);
    /// assert_eq!(cursor.key(), b"elm");
    /// assert!(!cursor.seek(SeekOp::Greater, b"oak")?);
    /// assert!(cursor.prev()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the key or the value is an integer of another length than
    /// those of the table; [`Error::TableMismatch`] for a pair or a value if keys have one value;
    /// [`Error::Corrupted`] if a page is damaged.
    pub fn seek<'k>(&mut self, op: SeekOp, target: impl Into<SeekTarget<'k>>) -> Result<bool> {
        self.seek_target(op, target.into())
    }

    fn seek_target(&mut self, op: SeekOp, target: SeekTarget<'_>) -> Result<bool> {
        check_probes(self.inner.root(), &self.name, target.parts())?;
        let found = self.inner.seek(op, target);
        self.located(found)
    }

    /// Whether the cursor is on a record.
    #[must_use]
    pub fn is_on_record(&self) -> bool {
        self.inner.is_on_pair()
    }

    /// Returns the key of the current record; empty if the cursor is not on a record.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.inner.key()
    }

    /// Returns the value of the current record; empty if the cursor is not on a record.
    /// [`Cursor::value_in_page`] returns one that outlives the cursor.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged.
    #[inline]
    pub fn value(&self) -> Result<&[u8]> {
        self.located(self.inner.load_value())
    }

    /// Returns the value of the current record with the lifetime of the transaction, if it is
    /// stored in the file in one piece; `None` if the cursor is not on a record. That is always so
    /// in a table with one value per key. In a multi-value table it is so if values have a fixed
    /// size, if the table shares no prefixes, and if a key has few values.
    ///
    /// ```
    /// # use teak::{Database, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, Bytes>("words")?;
    /// words.insert_many(&mut txn, &[("ash", b"1"), ("elm", b"2")])?;
    /// let mut values: Vec<&[u8]> = Vec::new();
    /// let mut cursor = words.cursor(&txn)?;
    /// while cursor.next()? {
    ///     values.extend(cursor.value_in_page()?);
    /// }
    /// drop(cursor);
    /// assert_eq!(values, [b"1", b"2"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged.
    #[inline]
    pub fn value_in_page(&self) -> Result<Option<&'t [u8]>> {
        self.located(self.inner.value_in_page())
    }

    /// Returns how many values the key has; 0 if the cursor is not on a record.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.inner.count()
    }

    /// Returns the values from the current one to the end of their page in a direction,
    /// concatenated in their order, and moves to the farthest of these. `None` if the cursor is not
    /// on a record, or if the values have no fixed size. A step to the
    /// [next](crate::KeyStep::NextValue) or [previous](crate::KeyStep::PrevValue) value moves to the
    /// next page in that direction.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged.
    pub fn read_packed(&mut self, direction: Direction) -> Result<Option<&'t [u8]>> {
        let values = self.inner.read_packed(direction);
        self.located(values)
    }

    /// Returns which ends the cursor is at.
    #[must_use]
    pub fn ends(&self) -> CursorEnds {
        CursorEnds {
            is_first: self.inner.is_first(),
            is_last: self.inner.is_last(),
            is_first_value: self.inner.is_first_value(),
            is_last_value: self.inner.is_last_value(),
            is_after_last: self.inner.is_after_last(),
        }
    }
}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("is_on_record", &self.is_on_record())
            .finish_non_exhaustive()
    }
}
