//! Cursor moves to the ends of a table, to neighbouring records, and among the values of a key.

use super::Cursor;
use crate::Result;

impl Cursor<'_> {
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

    /// Moves to the next record, of this key or of the next; `false` if there is none.
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

    /// Moves to the previous record, of this key or of the previous one; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        let moved = self.inner.prev();
        self.located(moved)
    }

    /// Moves to the first value of the next key; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn next_key(&mut self) -> Result<bool> {
        let moved = self.inner.next_key();
        self.located(moved)
    }

    /// Moves to the last value of the previous key; `false` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn prev_key(&mut self) -> Result<bool> {
        let moved = self.inner.prev_key();
        self.located(moved)
    }

    /// Moves to the next value of the key. If there is none, returns `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn next_value(&mut self) -> Result<bool> {
        let moved = self.inner.next_value();
        self.located(moved)
    }

    /// Moves to the previous value of the key. If there is none, returns `false` and does not move.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn prev_value(&mut self) -> Result<bool> {
        let moved = self.inner.prev_value();
        self.located(moved)
    }

    /// Moves to the first value of the key; `false` if the cursor is not on a record.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn first_value(&mut self) -> Result<bool> {
        let moved = self.inner.first_value();
        self.located(moved)
    }

    /// Moves to the last value of the key; `false` if the cursor is not on a record.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn last_value(&mut self) -> Result<bool> {
        let moved = self.inner.last_value();
        self.located(moved)
    }
}
