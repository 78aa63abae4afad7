//! A cursor over pairs that holds the transaction.

use super::{cursor::MultiCursor, handle::MultiTable};
use crate::{
    Result,
    api::{ReadTxn, codec::Codec, sealed::Sealed},
    btree::{TreeRoot, multi::position::PairPosition},
};
use std::{fmt, mem, sync::Arc};

/// A cursor over pairs that holds the transaction, so that it can be kept or sent to another
/// thread. Its steps are those of [`MultiCursor`].
///
/// ```
/// # use teak::{Database, codec::{Str, U32}};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// # let lines = txn.create_multi_table::<Str, U32>("lines")?;
/// # lines.insert_many(&mut txn, &[("oak", 7), ("teak", 3), ("teak", 12)])?;
/// # txn.commit()?;
/// let mut cursor = lines.cursor_owned(&database.begin_read()?)?;
/// assert!(cursor.seek_exact(b"teak")? && cursor.next_value()?);
/// assert_eq!((cursor.value(), cursor.count()), (&12u32.to_be_bytes()[..], 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct OwnedMultiCursor {
    txn: ReadTxn,
    root: TreeRoot,
    name: Arc<[u8]>,
    pub(super) position: PairPosition,
    /// Key and value of the current pair.
    key: Vec<u8>,
    value: Vec<u8>,
}

impl OwnedMultiCursor {
    pub(super) fn moved(
        &mut self,
        move_cursor: impl FnOnce(&mut MultiCursor<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let position = mem::replace(&mut self.position, PairPosition::lost());
        self.key.clear();
        self.value.clear();
        let (source, name) = (self.txn.source(), Arc::clone(&self.name));
        let mut cursor = MultiCursor::resume(source, self.root, name, position)?;
        let moved = move_cursor(&mut cursor);
        self.key.extend_from_slice(cursor.key());
        self.value.extend_from_slice(cursor.value());
        self.position = cursor.park();
        moved
    }

    /// Moves to the first pair; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn first(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.first())
    }

    /// Moves to the last pair; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn last(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.last())
    }

    /// Moves to the next pair, of this key or of the next; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.next())
    }

    /// Moves to the previous pair, of this key or of the previous one; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn prev(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.prev())
    }

    /// Moves to the first value of the next key; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn next_key(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.next_key())
    }

    /// Moves to the last value of the previous key; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn prev_key(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.prev_key())
    }

    /// Moves to the next value of the key. If there is none, returns `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn next_value(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.next_value())
    }

    /// Moves to the previous value of the same key. If there is none, returns `false` and does not
    /// move.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn prev_value(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.prev_value())
    }

    /// Moves to the first value of the key; `false` if the cursor is not on a pair.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn first_value(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.first_value())
    }

    /// Moves to the last value of the key; `false` if the cursor is not on a pair.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn last_value(&mut self) -> Result<bool> {
        self.moved(|cursor| cursor.last_value())
    }

    /// Moves to the first value of the first key that is not smaller, like [`MultiCursor::seek`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek(key))
    }

    /// Moves to the first value of `key`, like [`MultiCursor::seek_exact`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_exact(&mut self, key: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_exact(key))
    }

    /// Moves to the first pair that is not smaller, like [`MultiCursor::seek_pair`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_pair(key, value))
    }

    /// Moves to a pair, like [`MultiCursor::seek_pair_exact`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair_exact(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_pair_exact(key, value))
    }

    /// Moves to the first value of exactly this key that is not smaller, like
    /// [`MultiCursor::seek_value`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_value(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_value(key, value))
    }

    /// Whether the cursor is on a pair.
    #[must_use]
    pub fn is_on_pair(&self) -> bool {
        self.position.is_on_pair()
    }

    /// Returns the key of the current pair; empty if the cursor is not on a pair.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the value of the current pair; empty if the cursor is not on a pair.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// Returns how many values the key has; 0 if the cursor is not on a pair.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.position.count()
    }
}

impl fmt::Debug for OwnedMultiCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedMultiCursor")
            .field("is_on_pair", &self.is_on_pair())
            .finish_non_exhaustive()
    }
}

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Returns a cursor over the raw bytes of the table that holds the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) if the table does not exist.
    pub fn cursor_owned(&self, txn: &ReadTxn) -> Result<OwnedMultiCursor> {
        Ok(OwnedMultiCursor {
            txn: txn.clone(),
            root: *self.root(txn)?,
            name: self.table.shared_name(),
            position: PairPosition::default(),
            key: Vec::new(),
            value: Vec::new(),
        })
    }
}
