//! The cursor over the raw bytes of a table in which a key has several values.

mod seek;

use crate::{
    Result,
    api::{
        key_checks::{check_probe, check_value_probe},
        range::Source,
    },
    btree::{
        PageSource, TreeRoot,
        multi::{cursor::PairCursor, position::PairPosition},
    },
    read::located::located,
};
use std::{fmt, sync::Arc};

/// A cursor over the pairs of a [`MultiTable`](super::MultiTable), borrowing the transaction. It begins nowhere: a step forward leads
/// to the first pair, a step back to the last. Behind the last pair a step back leads to the last one again, before the first a
/// step forward to the first one.
///
/// ```
/// # use teak::{Database, codec::Str};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_multi_table::<Str, Str>("words")?;
/// words.insert_many(&mut txn, &[("oak", "1"), ("teak", "2"), ("teak", "5")])?;
/// let mut cursor = words.cursor(&txn)?;
/// assert!(cursor.seek_value(b"teak", b"3")?);
/// assert_eq!((cursor.key(), cursor.value()), (&b"teak"[..], &b"5"[..]));
/// assert!(cursor.prev_key()?);
/// assert_eq!((cursor.key(), cursor.count()), (&b"oak"[..], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct MultiCursor<'t> {
    inner: PairCursor<'t, dyn PageSource + Sync + 't>,
    name: Arc<[u8]>,
}

impl<'t> MultiCursor<'t> {
    pub(super) fn new(source: Source<'t>, root: TreeRoot, name: Arc<[u8]>) -> Self {
        Self {
            inner: PairCursor::new(source, root),
            name,
        }
    }

    /// Goes on where one was parked.
    pub(super) fn resume(
        source: Source<'t>,
        root: TreeRoot,
        name: Arc<[u8]>,
        position: PairPosition,
    ) -> Result<Self> {
        match PairCursor::resume(source, root, position) {
            Ok(inner) => Ok(Self { inner, name }),
            Err(error) => Err(located(error, source, &root, &name, None)),
        }
    }

    pub(super) fn park(self) -> PairPosition {
        self.inner.park()
    }

    /// Moves, and says of damage which keys of the table it concerns. Apart from steps within a leaf, which are to be short.
    #[inline(never)]
    fn moved<T>(
        &mut self,
        move_cursor: impl FnOnce(&mut PairCursor<'t, dyn PageSource + Sync + 't>) -> Result<T>,
    ) -> Result<T> {
        move_cursor(&mut self.inner).map_err(|error| {
            let (source, root) = (self.inner.source(), self.inner.root());
            located(error, source, root, &self.name, Some(self.inner.key()))
        })
    }

    fn sought(
        &mut self,
        key: &[u8],
        seek: impl FnOnce(&mut PairCursor<'t, dyn PageSource + Sync + 't>) -> Result<Option<bool>>,
    ) -> Result<Option<bool>> {
        check_probe(self.inner.root(), key)?;
        self.moved(seek)
    }

    /// Goes to the first pair; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted), as for all steps.
    pub fn first(&mut self) -> Result<bool> {
        self.moved(PairCursor::first)
    }

    /// Goes to the last pair; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    pub fn last(&mut self) -> Result<bool> {
        self.moved(PairCursor::last)
    }

    /// Goes to the next pair, of this key or of the next; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<bool> {
        match self.inner.next_in_current_leaf() {
            true => Ok(true),
            false => self.moved(PairCursor::next_in_other_leaf),
        }
    }

    /// Goes to the pair before, of this key or of the one before; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    pub fn prev(&mut self) -> Result<bool> {
        match self.inner.prev_in_current_leaf() {
            true => Ok(true),
            false => self.moved(PairCursor::prev_in_other_leaf),
        }
    }

    /// Goes to the first value of the next key; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    pub fn next_key(&mut self) -> Result<bool> {
        self.moved(PairCursor::next_key)
    }

    /// Goes to the last value of the key before; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    pub fn prev_key(&mut self) -> Result<bool> {
        self.moved(PairCursor::prev_key)
    }

    /// Goes to the next value of the key; `false`, and it stays where it is, if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    pub fn next_value(&mut self) -> Result<bool> {
        match self.inner.next_value_in_leaf() {
            true => Ok(true),
            false => self.moved(PairCursor::next_value_in_other_leaf),
        }
    }

    /// Goes to the value before, of the same key; `false`, and it stays where it is, if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    pub fn prev_value(&mut self) -> Result<bool> {
        match self.inner.prev_value_in_leaf() {
            true => Ok(true),
            false => self.moved(PairCursor::prev_value_in_other_leaf),
        }
    }

    /// Goes to the first value of the key; `false` if it is on no pair.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    pub fn first_value(&mut self) -> Result<bool> {
        self.moved(PairCursor::first_value)
    }

    /// Goes to the last value of the key; `false` if it is on no pair.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    pub fn last_value(&mut self) -> Result<bool> {
        self.moved(PairCursor::last_value)
    }

    /// Goes to the first value of the first key that is not smaller than `key`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`]; [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an integer of another length than
    /// the keys.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.sought(key, |cursor| cursor.seek_key(key))?.is_some())
    }

    /// Goes to the first value of `key`. If there is no such key it returns `false` and is on the first value of the next one, if there
    /// is one.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::seek`].
    pub fn seek_exact(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.sought(key, |cursor| cursor.seek_key(key))? == Some(true))
    }

    /// Goes to the first pair that is not smaller, by key and then by value; `false` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::seek`].
    pub fn seek_pair(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        check_value_probe(self.inner.root(), value)?;
        let found = self.sought(key, |cursor| cursor.seek_pair(key, value))?;
        Ok(found.is_some())
    }

    /// Goes to a pair. If it is not there it returns `false` and is on the next one, if there is one.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::seek`].
    pub fn seek_pair_exact(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        check_value_probe(self.inner.root(), value)?;
        let found = self.sought(key, |cursor| cursor.seek_pair(key, value))?;
        Ok(found == Some(true))
    }

    /// Goes to the first value of just this key that is not smaller than `value`; if there is none it returns `false` and is on no pair.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::seek`].
    pub fn seek_value(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        check_value_probe(self.inner.root(), value)?;
        let found = self.sought(key, |cursor| cursor.seek_value(key, value))?;
        Ok(found.is_some())
    }

    /// Whether the cursor is on a pair.
    #[must_use]
    pub fn is_on_pair(&self) -> bool {
        self.inner.is_on_pair()
    }

    /// The key of the pair that it is on; empty if it is on none.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.inner.key()
    }

    /// The value of the pair that it is on; empty if it is on none.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.inner.value()
    }

    /// The same for as long as the transaction, where the value stands in its page in one piece: always where values have one size or
    /// the table shares no prefixes, and where a key has few.
    #[must_use]
    pub fn value_in_page(&self) -> Option<&'t [u8]> {
        self.inner.value_in_page()
    }

    /// How many values the key has; 0 if it is on none.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.inner.count()
    }

    /// Values from the one that it is on up to the end of their page, one behind the other, and goes to the last of these; `None` if it is on no
    /// pair, or the size of values varies. [`MultiCursor::next_value`] leads on to the next page.
    ///
    /// # Errors
    ///
    /// Those of [`MultiCursor::first`].
    pub fn read_packed(&mut self) -> Result<Option<&'t [u8]>> {
        self.moved(|cursor| {
            let values = cursor.packed()?;
            cursor.skip_packed(values)?;
            Ok(values)
        })
    }
}

impl fmt::Debug for MultiCursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiCursor")
            .field("is_on_pair", &self.is_on_pair())
            .finish_non_exhaustive()
    }
}
