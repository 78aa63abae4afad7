//! Cursor steps over many records at a time.

use super::Cursor;
use crate::{
    Error, Result,
    api::count::check_counted,
    btree::{TreeRoot, reading::reading},
};

impl Cursor<'_> {
    /// Passes at most `max` records to `record`, beginning with the current one, and stays after
    /// the last of them: the next call continues there. An unset cursor begins with the first
    /// record. Returns whether there are more.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// let mut keys = Vec::new();
    /// while cursor.read_batch(2, |key, _value| keys.push(key.to_vec()))? {}
    /// assert_eq!(keys, [b"ash", b"elm", b"oak"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged. Records passed on before an unreadable page was
    /// reported must not be relied on.
    pub fn read_batch(&mut self, max: usize, record: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        let read = self.read_some(max, record);
        let read = self.inner.source().refuse_lost().and(read);
        self.located(read)
    }

    fn read_some(&mut self, max: usize, mut record: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        let mut is_there = self.is_on_record() || self.inner.next()?;
        for _ in 0..max {
            if !is_there {
                break;
            }
            let read = self.inner.decode(|key, value| {
                record(key, value);
                Ok(())
            });
            read.map_err(|error| *error)?;
            is_there = self.inner.next()?;
        }
        Ok(is_there)
    }

    /// Moves to record `number` of the table, counted from 0. If there are not that many, returns
    /// `false` and moves after the last one.
    ///
    /// ```
    /// # use teak::{Database, TableDef, TableOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().counted(true);
    /// let words = TableDef::<&str, u64>::new("words").options(options).create(&mut txn)?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3), ("teak", 4)])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(cursor.seek_nth(2)?);
    /// assert_eq!(cursor.key(), b"oak");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the table is not counted; [`Error::Corrupted`] if a page is
    /// damaged.
    pub fn seek_nth(&mut self, number: u64) -> Result<bool> {
        check_counted(self.inner.root(), &self.name)?;
        let found = self.inner.seek_nth(number);
        self.located(found)
    }

    /// Does the same as `steps` calls of [`Cursor::next`], or of [`Cursor::prev`] if `steps` is
    /// negative; returns whether the cursor is on a record then. In a counted table with one value
    /// per key this takes two descents. In others with one value per key it passes all leaves on
    /// the way, and in multi-value tables all records.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3), ("teak", 4)])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(cursor.skip(3)?);
    /// assert_eq!(cursor.key(), b"oak");
    /// assert!(cursor.skip(-2)?);
    /// assert_eq!(cursor.key(), b"ash");
    /// assert!(!cursor.skip(9)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged.
    pub fn skip(&mut self, steps: i64) -> Result<bool> {
        let moved = self.inner.skip(steps);
        self.located(moved)
    }

    /// Returns the number of steps forward from this cursor to another one on the same state of the
    /// same table; negative if the other one is before this one. An unset cursor counts as before
    /// the first record. In a counted table this takes two descents; in others it passes all leaves
    /// in between.
    ///
    /// ```
    /// # use teak::{Database, SeekOp};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3), ("teak", 4)])?;
    /// let (mut one, mut other) = (words.cursor(&txn)?, words.cursor(&txn)?);
    /// one.seek(SeekOp::GreaterOrEqual, b"b")?;
    /// other.last()?;
    /// assert_eq!((one.distance(&other)?, other.distance(&one)?), (2, -2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the cursors belong to different tables or states;
    /// [`Error::Corrupted`] if a page is damaged.
    pub fn distance(&self, other: &Cursor<'_>) -> Result<i64> {
        check_same(self.inner.root(), other.inner.root())?;
        let distance = reading(self.inner.source(), || self.inner.distance(&other.inner));
        self.located(distance)
    }
}

/// Refuses positions in two trees.
fn check_same(one: &TreeRoot, other: &TreeRoot) -> Result<()> {
    if one == other {
        return Ok(());
    }
    let text = "these cursors belong to different tables, or to different states of one; only positions of one state have a distance";
    Err(Error::InvalidArgument(text.into()))
}
