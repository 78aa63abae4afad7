//! What free cursors change.

use super::{FreeCursor, Place};
use crate::{
    Error, Result,
    api::{WriteTxn, table::check_key, transaction::sealed::Sealed},
    page::key::KeyOrder,
    tree::{PageSource, seek::Landmark},
};
use std::ops::Bound;

/// Which records [`FreeCursor::remove_bunch`] removes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bunch {
    /// All before the cursor's place.
    Before,
    /// The one that it is on, and all before.
    ToHere,
    /// The one that it is on, and all behind.
    FromHere,
    /// All behind the cursor's place.
    Behind,
    /// All.
    Whole,
}

impl FreeCursor {
    /// Inserts a record, or replaces the value of the key, and is on it then.
    ///
    /// ```
    /// # use teak::{Database, FreeCursor, codec::{Bytes, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, Bytes>("words")?;
    /// let mut cursor = FreeCursor::new(&words);
    /// cursor.insert(&mut txn, b"ash", b"a tree")?;
    /// assert!(cursor.is_on_record(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::insert`](crate::Table::insert).
    pub fn insert(&mut self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
        self.table.insert(txn, key, value)?;
        self.arrive(txn, key)
    }

    /// Inserts a record if there is none with this key; says whether it did. Either way the cursor is on the record of the key then.
    ///
    /// ```
    /// # use teak::{Database, FreeCursor, codec::{Bytes, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, Bytes>("words")?;
    /// let mut cursor = FreeCursor::new(&words);
    /// assert!(cursor.insert_new(&mut txn, b"ash", b"a tree")?);
    /// assert!(!cursor.insert_new(&mut txn, b"ash", b"what a fire leaves")?);
    /// assert_eq!(*cursor.value(&txn)?, *b"a tree");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::insert`](crate::Table::insert).
    pub fn insert_new(&mut self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<bool> {
        let is_new = self.table.insert_new(txn, key, value)?;
        self.arrive(txn, key)?;
        Ok(is_new)
    }

    /// Inserts a record behind the last one, without a search, and is on it then.
    ///
    /// # Errors
    ///
    /// Those of [`Table::append`](crate::Table::append); the place is what it was then.
    pub fn append(&mut self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
        self.table.append(txn, key, value)?;
        self.arrive(txn, key)
    }

    /// Replaces the value of the record that the cursor is on; `false` if it is on none, and then nothing changes.
    ///
    /// ```
    /// # use teak::{Database, FreeCursor, codec::{Bytes, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, Bytes>("words")?;
    /// words.insert(&mut txn, "ash", b"a tree")?;
    /// let mut cursor = FreeCursor::new(&words);
    /// assert!(!cursor.update(&mut txn, b"?")?);
    /// cursor.first(&txn)?;
    /// assert!(cursor.update(&mut txn, b"what a fire leaves")?);
    /// assert_eq!(words.get(&txn, "ash")?, Some(&b"what a fire leaves"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::insert`](crate::Table::insert).
    pub fn update(&mut self, txn: &mut WriteTxn, value: &[u8]) -> Result<bool> {
        match self.can_be_on_record(txn)? {
            true => self.table.update(txn, &self.key, value),
            false => Ok(false),
        }
    }

    /// Removes the record that the cursor is on; `false` if it is on none. The place stays what it was: [`FreeCursor::next`] and
    /// [`FreeCursor::current`] lead to the record behind.
    ///
    /// ```
    /// # use teak::{Database, FreeCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut cursor = FreeCursor::new(&words);
    /// cursor.seek(&txn, b"elm")?;
    /// assert!(cursor.remove(&mut txn)?);
    /// assert!(!cursor.remove(&mut txn)?);
    /// assert!(cursor.next(&txn)?);
    /// assert_eq!(cursor.key(), b"oak");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::remove`](crate::Table::remove).
    pub fn remove(&mut self, txn: &mut WriteTxn) -> Result<bool> {
        match self.can_be_on_record(txn)? {
            true => self.table.remove(txn, &self.key),
            false => Ok(false),
        }
    }

    /// Removes all records on one side of the cursor's place, whole subtrees at once; returns how many there were. The place stays
    /// what it was.
    ///
    /// ```
    /// # use teak::{Bunch, Database, FreeCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3), ("yew", 4)])?;
    /// let mut cursor = FreeCursor::new(&words);
    /// cursor.seek(&txn, b"elm")?;
    /// assert_eq!(cursor.remove_bunch(&mut txn, Bunch::Behind)?, 2);
    /// assert!(cursor.is_last(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a cursor that is nowhere, unless it is all records that are to go; those of
    /// [`Table::remove_range`](crate::Table::remove_range).
    pub fn remove_bunch(&mut self, txn: &mut WriteTxn, bunch: Bunch) -> Result<u64> {
        let root = *self.table.root(txn)?;
        let landmark = Landmark::new(&root, &self.key);
        let is_up_to = matches!(bunch, Bunch::Before | Bunch::ToHere);
        let (low, high) = match (bunch, self.place) {
            (Bunch::Whole, _) => (Bound::Unbounded, Bound::Unbounded),
            (_, Place::Nowhere) => {
                let text = "the cursor is nowhere yet, so there is nothing before or behind it; seek first";
                return Err(Error::InvalidArgument(text.into()));
            }
            (_, Place::BeforeFirst) if is_up_to => return Ok(0),
            (_, Place::BehindLast) if !is_up_to => return Ok(0),
            (_, Place::BeforeFirst | Place::BehindLast) => (Bound::Unbounded, Bound::Unbounded),
            (_, Place::At) if is_up_to => {
                let high = landmark.as_upper_bound(bunch == Bunch::ToHere);
                (Bound::Unbounded, high)
            }
            (_, Place::At) => {
                let low = landmark.as_lower_bound(bunch == Bunch::FromHere);
                (low, Bound::Unbounded)
            }
        };
        let handle = self.table.handle(txn);
        txn.inner.change(handle, self.table.raw_name(), |tree| {
            tree.remove_range(low, high)
        })
    }

    /// Whether the table could hold the key of the place.
    fn can_be_on_record(&self, txn: &WriteTxn) -> Result<bool> {
        let root = self.table.root(txn)?;
        let page_size = txn.source().page_size();
        Ok(self.place == Place::At && check_key(&root, page_size, &self.key).is_ok())
    }

    /// Is at a key that was put there just now.
    fn arrive(&mut self, txn: &WriteTxn, key: &[u8]) -> Result<()> {
        self.place = Place::At;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.hint = None;
        // What a comparison calls the same key may be other bytes, and these stay.
        if matches!(self.table.root(txn)?.order, KeyOrder::Custom(_)) {
            self.current(txn)?;
        }
        Ok(())
    }
}
