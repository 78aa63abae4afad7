//! Cursor moves to the ends of a table, to neighbouring records and keys, and among the values of
//! a key.

use super::Cursor;
use crate::{Result, api::KeyStep};

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

    /// Moves to another key, or among the values of the key; returns whether there is such a
    /// record.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    #[inline]
    pub fn step(&mut self, step: KeyStep) -> Result<bool> {
        let moved = match step {
            KeyStep::NextKey => self.inner.next_key(),
            KeyStep::PrevKey => self.inner.prev_key(),
            KeyStep::NextValue => self.inner.next_value(),
            KeyStep::PrevValue => self.inner.prev_value(),
            KeyStep::FirstValue => self.inner.first_value(),
            KeyStep::LastValue => self.inner.last_value(),
        };
        self.located(moved)
    }
}
