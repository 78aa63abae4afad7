//! The steps of cursors by keys, and among the values of a key.

/// A step of a [`Cursor`](crate::Cursor) or a [`DetachedCursor`](crate::DetachedCursor) by keys, or
/// among the values of its key. In a table in which a key has one value, a step to a value finds
/// only that one.
///
/// ```
/// # use teak::{Database, KeyStep};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_multi_table::<&str, &str>("words")?;
/// words.insert_many(&mut txn, &[("ash", "1"), ("ash", "2"), ("oak", "3")])?;
/// let mut cursor = words.cursor(&txn)?;
/// let mut keys = Vec::new();
/// while cursor.step(KeyStep::NextKey)? {
///     keys.push(cursor.key().to_vec());
/// }
/// assert_eq!(keys, [b"ash", b"oak"]);
/// assert!(cursor.first()? && cursor.step(KeyStep::LastValue)?);
/// assert_eq!(cursor.value()?, b"2");
/// assert!(!cursor.step(KeyStep::NextValue)?, "it stays where it is");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyStep {
    /// To the first value of the next key. Without such a key the cursor is after the last record.
    NextKey,
    /// To the last value of the previous key. Without such a key the cursor is before the first
    /// record.
    PrevKey,
    /// To the next value of the key. Without such a value the cursor does not move.
    NextValue,
    /// To the previous value of the key. Without such a value the cursor does not move.
    PrevValue,
    /// To the first value of the key. A cursor that is on no record does not move; a detached one
    /// uses the key of its position, also in a gap.
    FirstValue,
    /// To the last value of the key, under the conditions of [`KeyStep::FirstValue`].
    LastValue,
}
