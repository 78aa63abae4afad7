//! Cursors over the raw bytes of a table.

mod seek;
mod steps;

use super::{ReadTxn, key_checks::check_probe, range::Source, sealed::Sealed};
use crate::{
    Result,
    btree::{PageSource, TreeRoot, cursor, position::Position, reading::reading},
    read::located::located,
};
use std::{fmt, sync::Arc};

/// A cursor over a table that borrows the transaction. It begins unset: a step forward goes to the
/// first record, a step back to the last. After the last record, a step back goes to the last
/// record again. Before the first record, a step forward goes to the first record.
///
/// ```
/// # use teak::{Database, codec::Str};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_table::<Str, Str>("words")?;
/// words.insert(&mut txn, "oak", "1")?;
/// words.insert(&mut txn, "teak", "2")?;
/// let mut cursor = words.cursor(&txn)?;
/// assert!(cursor.seek(b"p")?);
/// assert_eq!((cursor.key(), cursor.value()?), (&b"teak"[..], &b"2"[..]));
/// assert!(cursor.prev()?);
/// assert!(!cursor.prev()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Cursor<'t> {
    inner: cursor::TreeCursor<'t, dyn PageSource + Sync + 't>,
    name: Arc<[u8]>,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(source: Source<'t>, root: TreeRoot, name: Arc<[u8]>) -> Self {
        Self {
            inner: cursor::TreeCursor::new(source, root),
            name,
        }
    }

    /// Adds to a damage error which keys of the table are affected.
    #[inline]
    fn located<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            let (source, root) = (self.inner.source(), self.inner.root());
            located(error, source, root, &self.name, Some(self.inner.key()))
        })
    }

    /// Moves to the first record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn first(&mut self) -> Result<bool> {
        let moved = self.inner.first();
        self.located(moved)
    }

    /// Moves to the last record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn last(&mut self) -> Result<bool> {
        let moved = self.inner.last();
        self.located(moved)
    }

    /// Moves to the next record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<bool> {
        let moved = self.inner.next();
        self.located(moved)
    }

    /// Moves to the previous record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        if self.inner.prev_in_current_leaf() {
            return Ok(true);
        }
        let moved = self.inner.prev();
        self.located(moved)
    }

    /// Moves to the first record whose key is not smaller than `key`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.inner.root(), key)?;
        let found = self.inner.seek(key);
        Ok(self.located(found)?.is_some())
    }

    /// Moves to the record of `key`. If there is none, it returns `false` and moves to the first
    /// record with a greater key, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_exact(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.inner.root(), key)?;
        let found = self.inner.seek(key);
        Ok(self.located(found)? == Some(true))
    }

    /// Whether the cursor is on a record.
    #[must_use]
    pub fn is_on_record(&self) -> bool {
        self.inner.position().record().is_some()
    }

    /// Returns the key of the current record; empty if the cursor is not on a record.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.inner.key()
    }

    /// Returns the value of the current record; empty if the cursor is not on a record.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    #[inline]
    pub fn value(&self) -> Result<&'t [u8]> {
        self.located(self.inner.value())
    }
}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("position", self.inner.position())
            .finish()
    }
}

/// A cursor that holds the transaction, so that it can be kept or sent to another thread. Its steps
/// are those of [`Cursor`]; its values are borrowed from the cursor itself.
#[derive(Clone)]
pub struct OwnedCursor {
    txn: ReadTxn,
    root: TreeRoot,
    name: Arc<[u8]>,
    position: Position,
    key: Vec<u8>,
}

impl OwnedCursor {
    pub(super) fn new(txn: ReadTxn, root: TreeRoot, name: Arc<[u8]>) -> Self {
        Self {
            txn,
            root,
            name,
            position: Position::default(),
            key: Vec::new(),
        }
    }

    fn step(
        &mut self,
        step: impl FnOnce(&mut Position, &dyn PageSource, &TreeRoot) -> Result<bool>,
    ) -> Result<bool> {
        let source = self.txn.source();
        let is_found = reading(source, || {
            let is_found = step(&mut self.position, source, &self.root);
            self.key.clear();
            let is_read = cursor::record_at(source, &self.position, &mut self.key);
            Ok(is_found.and_then(|is_found| is_read.map(|_| is_found)))
        });
        let is_found = is_found.unwrap_or_else(|unreadable| {
            self.position.invalidate();
            self.key.clear();
            Err(unreadable)
        });
        self.located(is_found)
    }

    /// Adds to a damage error which keys of the table are affected.
    fn located<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            let source = self.txn.source();
            located(error, source, &self.root, &self.name, Some(&self.key))
        })
    }

    /// Moves to the first record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn first(&mut self) -> Result<bool> {
        self.step(|position, source, root| position.first(source, root))
    }

    /// Moves to the last record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn last(&mut self) -> Result<bool> {
        self.step(|position, source, root| position.last(source, root))
    }

    /// Moves to the next record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<bool> {
        self.step(|position, source, root| position.next(source, root))
    }

    /// Moves to the previous record; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn prev(&mut self) -> Result<bool> {
        self.step(|position, source, root| position.prev(source, root))
    }

    /// Moves to the first record whose key is not smaller than `key`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(&self.root, key)?;
        self.step(|position, source, root| Ok(position.seek(source, root, key)?.is_some()))
    }

    /// Moves to the record of `key`, like [`Cursor::seek_exact`].
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_exact(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(&self.root, key)?;
        self.step(|position, source, root| Ok(position.seek(source, root, key)? == Some(true)))
    }

    /// Whether the cursor is on a record.
    #[must_use]
    pub fn is_on_record(&self) -> bool {
        self.position.record().is_some()
    }

    /// Returns the key of the current record; empty if the cursor is not on a record.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the value of the current record; empty if the cursor is not on a record.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn value(&self) -> Result<&[u8]> {
        let source = self.txn.source();
        let value = reading(source, || cursor::value_at(source, &self.position));
        Ok(self.located(value)?.unwrap_or_default())
    }
}

impl fmt::Debug for OwnedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedCursor")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
