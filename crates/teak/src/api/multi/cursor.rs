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

/// A cursor over the pairs of a [`MultiTable`](super::MultiTable) that borrows the transaction. It
/// begins unset: a step forward goes to the first pair, a step back to the last. After the last
/// pair, a step back goes to the last pair again. Before the first pair, a step forward goes to the
/// first pair.
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

    /// Resumes from a parked cursor.
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

    /// Completes a move, and adds to a damage error which keys of the table are affected. Not used
    /// for steps within a leaf, which must be short.
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

    /// Moves to the first pair; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn first(&mut self) -> Result<bool> {
        self.moved(PairCursor::first)
    }

    /// Moves to the last pair; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn last(&mut self) -> Result<bool> {
        self.moved(PairCursor::last)
    }

    /// Moves to the next pair, of this key or of the next; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<bool> {
        match self.inner.next_in_current_leaf() {
            true => Ok(true),
            false => self.moved(PairCursor::next_in_other_leaf),
        }
    }

    /// Moves to the previous pair, of this key or of the previous one; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn prev(&mut self) -> Result<bool> {
        match self.inner.prev_in_current_leaf() {
            true => Ok(true),
            false => self.moved(PairCursor::prev_in_other_leaf),
        }
    }

    /// Moves to the first value of the next key; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn next_key(&mut self) -> Result<bool> {
        self.moved(PairCursor::next_key)
    }

    /// Moves to the last value of the previous key; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn prev_key(&mut self) -> Result<bool> {
        self.moved(PairCursor::prev_key)
    }

    /// Moves to the next value of the key. If there is none, returns `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn next_value(&mut self) -> Result<bool> {
        match self.inner.next_value_in_leaf() {
            true => Ok(true),
            false => self.moved(PairCursor::next_value_in_other_leaf),
        }
    }

    /// Moves to the previous value of the same key. If there is none, returns `false` and does not
    /// move.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn prev_value(&mut self) -> Result<bool> {
        match self.inner.prev_value_in_leaf() {
            true => Ok(true),
            false => self.moved(PairCursor::prev_value_in_other_leaf),
        }
    }

    /// Moves to the first value of the key; `false` if the cursor is not on a pair.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn first_value(&mut self) -> Result<bool> {
        self.moved(PairCursor::first_value)
    }

    /// Moves to the last value of the key; `false` if the cursor is not on a pair.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn last_value(&mut self) -> Result<bool> {
        self.moved(PairCursor::last_value)
    }

    /// Moves to the first value of the first key that is not smaller than `key`; `false` if there
    /// is none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.sought(key, |cursor| cursor.seek_key(key))?.is_some())
    }

    /// Moves to the first value of `key`. If there is no such key, returns `false` and moves to the
    /// first value of the next one, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_exact(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.sought(key, |cursor| cursor.seek_key(key))? == Some(true))
    }

    /// Moves to the first pair that is not smaller, by key and then by value; `false` if there is
    /// none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        check_value_probe(self.inner.root(), value)?;
        let found = self.sought(key, |cursor| cursor.seek_pair(key, value))?;
        Ok(found.is_some())
    }

    /// Moves to a pair. If it is absent, returns `false` and moves to the next one, if there is
    /// one.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair_exact(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        check_value_probe(self.inner.root(), value)?;
        let found = self.sought(key, |cursor| cursor.seek_pair(key, value))?;
        Ok(found == Some(true))
    }

    /// Moves to the first value of exactly this key that is not smaller than `value`. If there is
    /// none, returns `false` and is on no pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
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

    /// Returns the key of the current pair; empty if the cursor is not on a pair.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.inner.key()
    }

    /// Returns the value of the current pair; empty if the cursor is not on a pair.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.inner.value()
    }

    /// Returns the value with the lifetime of the transaction, if it is stored in its page in one
    /// piece. That is always so if values have a fixed size or the table shares no prefixes, and if
    /// a key has few values.
    #[must_use]
    pub fn value_in_page(&self) -> Option<&'t [u8]> {
        self.inner.value_in_page()
    }

    /// Returns how many values the key has; 0 if the cursor is not on a pair.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.inner.count()
    }

    /// Returns the values from the current one to the end of their page, concatenated, and moves to
    /// the last of these. `None` if the cursor is not on a pair, or if the values have no fixed
    /// size. [`MultiCursor::next_value`] moves to the next page.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
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
