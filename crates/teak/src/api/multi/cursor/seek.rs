//! Cursor seeks by key and by pair, batch reads, and whether a cursor over pairs is at an end.

use super::MultiCursor;
use crate::{
    Result,
    api::{
        key_checks::{check_probe, check_value_probe},
        multi::owned_cursor::OwnedMultiCursor,
    },
    btree::{
        PageSource,
        multi::{PairRef, cursor::PairCursor},
    },
};

type DynPairCursor<'t> = PairCursor<'t, dyn PageSource + Sync + 't>;

impl<'t> MultiCursor<'t> {
    fn sought_by_key(
        &mut self,
        key: &[u8],
        seek: impl FnOnce(&mut DynPairCursor<'t>) -> Result<bool>,
    ) -> Result<bool> {
        check_probe(self.inner.root(), key)?;
        self.moved(seek)
    }

    fn sought_by_pair(
        &mut self,
        (key, value): PairRef<'_>,
        seek: impl FnOnce(&mut DynPairCursor<'t>) -> Result<bool>,
    ) -> Result<bool> {
        check_value_probe(self.inner.root(), value)?;
        self.sought_by_key(key, seek)
    }

    /// Moves to the first value of the first key that is greater than `key`. If there is none,
    /// returns `false` and moves after the last pair.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_many(&mut txn, &[("elm", "1"), ("oak", "2"), ("oak", "3")])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(cursor.seek_greater(b"elm")?);
    /// assert_eq!((cursor.key(), cursor.value()), (&b"oak"[..], &b"2"[..]));
    /// assert!(cursor.seek_less(b"yew")?);
    /// assert_eq!((cursor.key(), cursor.value()), (&b"oak"[..], &b"3"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_greater(&mut self, key: &[u8]) -> Result<bool> {
        self.sought_by_key(key, |cursor| cursor.seek_key_greater(key))
    }

    /// Moves to the last value of the last key that is smaller than `key`. If there is none,
    /// returns `false` and moves before the first pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_less(&mut self, key: &[u8]) -> Result<bool> {
        self.sought_by_key(key, |cursor| cursor.seek_key_less(key))
    }

    /// Moves to the last value of the last key that is not greater than `key`. If there is none,
    /// returns `false` and moves before the first pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_less_or_equal(&mut self, key: &[u8]) -> Result<bool> {
        self.sought_by_key(key, |cursor| cursor.seek_key_less_or_equal(key))
    }

    /// Moves to the first pair that is greater, by key and then by value. If there is none, returns
    /// `false` and moves after the last pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair_greater(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let pair = (key, value);
        self.sought_by_pair(pair, |cursor| cursor.seek_pair_greater(pair))
    }

    /// Moves to the last pair that is smaller. If there is none, returns `false` and moves before
    /// the first pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair_less(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let pair = (key, value);
        self.sought_by_pair(pair, |cursor| cursor.seek_pair_less(pair))
    }

    /// Moves to the last pair that is not greater. If there is none, returns `false` and moves
    /// before the first pair.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_many(&mut txn, &[("elm", "1"), ("oak", "2"), ("oak", "4")])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(cursor.seek_pair_less_or_equal(b"oak", b"3")?);
    /// assert_eq!(cursor.value(), b"2");
    /// assert!(cursor.seek_pair_less(b"oak", b"2")?);
    /// assert_eq!(cursor.key(), b"elm");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair_less_or_equal(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let pair = (key, value);
        self.sought_by_pair(pair, |cursor| cursor.seek_pair_less_or_equal(pair))
    }

    /// Moves to a pair. If it is absent, returns `false` and is on no pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_value_exact(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.sought_by_pair((key, value), |cursor| {
            let is_found = cursor.seek_value(key, value)? == Some(true);
            Ok(cursor.on_pair_if(is_found))
        })
    }

    /// Moves to the first value of exactly this key that is greater than `value`. If there is none,
    /// returns `false` and is on no pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_value_greater(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let pair = (key, value);
        self.sought_by_pair(pair, |cursor| {
            let is_found = cursor.seek_value_greater(pair)?;
            Ok(cursor.on_pair_if(is_found))
        })
    }

    /// Moves to the last value of exactly this key that is smaller than `value`. If there is none,
    /// returns `false` and is on no pair.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_value_less(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let pair = (key, value);
        self.sought_by_pair(pair, |cursor| {
            let is_found = cursor.seek_value_less(pair)?;
            Ok(cursor.on_pair_if(is_found))
        })
    }

    /// Moves to the last value of exactly this key that is not greater than `value`. If there is
    /// none, returns `false` and is on no pair.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_many(&mut txn, &[("elm", "1"), ("oak", "2"), ("oak", "4")])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// assert!(cursor.seek_value_less_or_equal(b"oak", b"3")?);
    /// assert_eq!(cursor.value(), b"2");
    /// assert!(!cursor.seek_value_less_or_equal(b"oak", b"1")? && !cursor.is_on_pair());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_value_less_or_equal(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let pair = (key, value);
        self.sought_by_pair(pair, |cursor| {
            let is_found = cursor.seek_value_less_or_equal(pair)?;
            Ok(cursor.on_pair_if(is_found))
        })
    }

    /// Passes at most `max` pairs to `pair`, beginning with the current one, and stays after the
    /// last of them: the next call continues there. An unset cursor begins with the first pair.
    /// Returns whether there are more.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_many(&mut txn, &[("elm", "1"), ("oak", "2"), ("oak", "4")])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// let mut values = Vec::new();
    /// while cursor.read_batch(2, |_key, value| values.push(value.to_vec()))? {}
    /// assert_eq!(values, [b"1", b"2", b"4"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged. Pairs passed on before
    /// an unreadable page was reported must not be relied on.
    pub fn read_batch(&mut self, max: usize, mut pair: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        self.moved(|cursor| {
            let mut is_there = cursor.is_on_pair() || cursor.next()?;
            for _ in 0..max {
                if !is_there {
                    break;
                }
                cursor.decode(|key, value| {
                    pair(key, value);
                    Ok(())
                })?;
                is_there = cursor.next()?;
            }
            cursor.source().refuse_lost()?;
            Ok(is_there)
        })
    }

    /// Returns the values from the beginning of their page to the current one, concatenated in
    /// their order, and moves to the first of these. `None` if the cursor is not on a pair, or if
    /// the values have no fixed size. [`MultiCursor::prev_value`] moves to the previous page.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn read_packed_back(&mut self) -> Result<Option<&'t [u8]>> {
        self.moved(|cursor| {
            let values = cursor.packed_back()?;
            cursor.skip_packed_back(values)?;
            Ok(values)
        })
    }

    /// Whether the cursor is on the first pair of the table.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_many(&mut txn, &[("elm", "1"), ("oak", "2"), ("oak", "4")])?;
    /// let mut cursor = words.cursor(&txn)?;
    /// cursor.seek(b"oak")?;
    /// assert!(cursor.is_first_value() && !cursor.is_first() && !cursor.is_last_value());
    /// cursor.next()?;
    /// assert!(cursor.is_last_value() && cursor.is_last());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.inner.is_first()
    }

    /// Whether the cursor is on the last pair of the table; see [`MultiCursor::is_first`].
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.inner.is_last()
    }

    /// Whether the cursor is on the first value of its key; see [`MultiCursor::is_first`].
    #[must_use]
    pub fn is_first_value(&self) -> bool {
        self.inner.is_first_value()
    }

    /// Whether the cursor is on the last value of its key; see [`MultiCursor::is_first`].
    #[must_use]
    pub fn is_last_value(&self) -> bool {
        self.inner.is_last_value()
    }
}

impl OwnedMultiCursor {
    /// Moves to the first value of the first key that is greater, like
    /// [`MultiCursor::seek_greater`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_greater(&mut self, key: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_greater(key))
    }

    /// Moves to the last value of the last key that is smaller, like [`MultiCursor::seek_less`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_less(&mut self, key: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_less(key))
    }

    /// Moves to the last value of the last key that is not greater, like
    /// [`MultiCursor::seek_less_or_equal`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `key` is an integer of another
    /// length than the keys; [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    pub fn seek_less_or_equal(&mut self, key: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_less_or_equal(key))
    }

    /// Moves to the first pair that is greater, like [`MultiCursor::seek_pair_greater`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair_greater(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_pair_greater(key, value))
    }

    /// Moves to the last pair that is smaller, like [`MultiCursor::seek_pair_less`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair_less(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_pair_less(key, value))
    }

    /// Moves to the last pair that is not greater, like [`MultiCursor::seek_pair_less_or_equal`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_pair_less_or_equal(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_pair_less_or_equal(key, value))
    }

    /// Moves to a pair, like [`MultiCursor::seek_value_exact`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_value_exact(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_value_exact(key, value))
    }

    /// Moves to the first value of exactly this key that is greater, like
    /// [`MultiCursor::seek_value_greater`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_value_greater(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_value_greater(key, value))
    }

    /// Moves to the last value of exactly this key that is smaller, like
    /// [`MultiCursor::seek_value_less`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_value_less(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_value_less(key, value))
    }

    /// Moves to the last value of exactly this key that is not greater, like
    /// [`MultiCursor::seek_value_less_or_equal`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values; [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn seek_value_less_or_equal(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.moved(|cursor| cursor.seek_value_less_or_equal(key, value))
    }

    /// Passes pairs to `pair`, like [`MultiCursor::read_batch`].
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged. Pairs passed on before
    /// an unreadable page was reported must not be relied on.
    pub fn read_batch(&mut self, max: usize, pair: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        self.moved(|cursor| cursor.read_batch(max, pair))
    }

    /// Whether the cursor is on the first pair of the table.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.position.is_first()
    }

    /// Whether the cursor is on the last pair of the table.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.position.is_last()
    }

    /// Whether the cursor is on the first value of its key.
    #[must_use]
    pub fn is_first_value(&self) -> bool {
        self.position.is_first_value()
    }

    /// Whether the cursor is on the last value of its key.
    #[must_use]
    pub fn is_last_value(&self) -> bool {
        self.position.is_last_value()
    }
}
