//! The ends that a cursor is at.

/// The ends of its table, and of the values of its key, that a cursor is at. A cursor that is on no
/// record is at none, but may be after the last record.
///
/// ```
/// # use teak::{Database, SeekOp};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_multi_table::<&str, &str>("words")?;
/// words.insert_many(&mut txn, &[("elm", "1"), ("oak", "2"), ("oak", "4")])?;
/// let mut cursor = words.cursor(&txn)?;
/// assert!(!cursor.ends().is_first && !cursor.ends().is_last);
/// cursor.seek(SeekOp::Equal, b"oak")?;
/// let ends = cursor.ends();
/// assert!(ends.is_first_value && !ends.is_first && !ends.is_last_value);
/// cursor.next()?;
/// assert!(cursor.ends().is_last_value && cursor.ends().is_last);
/// assert!(!cursor.next()? && cursor.ends().is_after_last);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CursorEnds {
    /// Whether it is on the first record of the table.
    pub is_first: bool,
    /// Whether it is on the last record of the table.
    pub is_last: bool,
    /// Whether it is on the first value of its key.
    pub is_first_value: bool,
    /// Whether it is on the last value of its key.
    pub is_last_value: bool,
    /// Whether it is on no record and there is none after it either. `false` for a cursor that is
    /// unset.
    pub is_after_last: bool,
}
