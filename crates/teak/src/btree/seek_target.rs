//! The record that a seek of a cursor looks for.

/// Which record a seek of a [`Cursor`](crate::Cursor) or a
/// [`DetachedCursor`](crate::DetachedCursor) looks for, compared with its [target](SeekTarget).
///
/// ```
/// # use teak::{Database, SeekOp};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_table::<&str, u64>("words")?;
/// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
/// let mut cursor = words.cursor(&txn)?;
/// for (op, found) in [
///     (SeekOp::Equal, "elm"),
///     (SeekOp::GreaterOrEqual, "elm"),
///     (SeekOp::Greater, "oak"),
///     (SeekOp::LessOrEqual, "elm"),
///     (SeekOp::Less, "ash"),
/// ] {
///     assert!(cursor.seek(op, b"elm")?);
///     assert_eq!(cursor.key(), found.as_bytes());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeekOp {
    /// The one that is equal.
    Equal,
    /// The first one that is not smaller.
    GreaterOrEqual,
    /// The first one that is greater.
    Greater,
    /// The last one that is not greater.
    LessOrEqual,
    /// The last one that is smaller.
    Less,
}

/// The step that completes a seek after a search for the first record that is not smaller than its
/// target.
pub(super) enum LastStep {
    /// None, and whether the record was found.
    Stay(bool),
    Next,
    Prev,
}

impl SeekOp {
    /// Whether it looks for a record before the target.
    pub(crate) fn is_back(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual)
    }

    /// The last step after a search for the first record that is not smaller than the target:
    /// `Some(true)` if it is equal, `None` if there is none.
    #[inline]
    pub(super) fn last_step(self, found: Option<bool>) -> LastStep {
        match (self, found) {
            (Self::Equal, _) => LastStep::Stay(found == Some(true)),
            (Self::Greater, Some(true)) => LastStep::Next,
            (Self::GreaterOrEqual | Self::Greater, _) => LastStep::Stay(found.is_some()),
            (Self::LessOrEqual, Some(true)) => LastStep::Stay(true),
            (Self::LessOrEqual | Self::Less, _) => LastStep::Prev,
        }
    }
}

/// The target of a seek: records are compared with it. Any reference that converts to `&[u8]` is a
/// key, and two of these are a pair of a key and a value.
///
/// ```
/// # use teak::{Database, SeekOp, SeekTarget};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_multi_table::<&str, &str>("words")?;
/// words.insert_many(&mut txn, &[("elm", "1"), ("oak", "2"), ("oak", "4")])?;
/// let mut cursor = words.cursor(&txn)?;
/// assert!(cursor.seek(SeekOp::Greater, b"elm")?);
/// assert_eq!((cursor.key(), cursor.value()?), (&b"oak"[..], &b"2"[..]));
/// assert!(cursor.seek(SeekOp::Less, (b"oak", b"2"))?);
/// assert_eq!((cursor.key(), cursor.value()?), (&b"elm"[..], &b"1"[..]));
/// assert!(!cursor.seek(SeekOp::Less, SeekTarget::Value(b"oak", b"2"))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeekTarget<'a> {
    /// A key. If keys have several values, the seek leads to the first value of a key, or to the
    /// last one for [`SeekOp::Less`] and [`SeekOp::LessOrEqual`].
    Key(&'a [u8]),
    /// A pair of a key and a value, compared by key and then by value. Only for tables in which a
    /// key has several values.
    Pair(&'a [u8], &'a [u8]),
    /// A value among those of exactly this key. Only for tables in which a key has several values.
    Value(&'a [u8], &'a [u8]),
}

impl<'a> SeekTarget<'a> {
    /// Its key, and its value if it has one.
    pub(crate) fn parts(self) -> (&'a [u8], Option<&'a [u8]>) {
        match self {
            Self::Key(key) => (key, None),
            Self::Pair(key, value) | Self::Value(key, value) => (key, Some(value)),
        }
    }
}

impl<'a, K: AsRef<[u8]> + ?Sized> From<&'a K> for SeekTarget<'a> {
    fn from(key: &'a K) -> Self {
        Self::Key(key.as_ref())
    }
}

impl<'a, K, V> From<(&'a K, &'a V)> for SeekTarget<'a>
where
    K: AsRef<[u8]> + ?Sized,
    V: AsRef<[u8]> + ?Sized,
{
    fn from((key, value): (&'a K, &'a V)) -> Self {
        Self::Pair(key.as_ref(), value.as_ref())
    }
}
