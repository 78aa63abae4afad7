//! What detached cursors change.

use super::{
    CursorTable, DetachedCursor, Hint, TableVersion,
    cursor_step::{HintTarget, TreePath},
    delete_scope::DeleteScope,
    place::CursorPosition,
};
use crate::{
    Result,
    api::{WriteTxn, key_checks::check_key, sealed::Sealed, table_handle::ONE_VALUE},
    btree::PageSource,
    page::key::KeyOrder,
};
use std::mem;

impl DetachedCursor {
    /// Inserts a record, or replaces the value of the key, and is on it then. Where a key has several values it gets this one more, unless it
    /// has it.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::{Bytes, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, Bytes>("words")?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.insert(&mut txn, b"ash", b"a tree")?;
    /// assert!(cursor.is_on_record(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::insert`](crate::Table::insert) and [`MultiTable::insert`](crate::MultiTable::insert).
    pub fn insert(&mut self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
        match &self.table {
            CursorTable::Records(table) => table.insert(txn, key, value)?,
            CursorTable::Pairs(table) => drop(table.insert(txn, key, value)?),
        }
        self.arrive(txn, key, value)
    }

    /// Inserts a record if there is none with this key; says whether it did. Either way the cursor is on the record of the key then, on the
    /// first one if the key has several values.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::{Bytes, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, Bytes>("words")?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(cursor.insert_new(&mut txn, b"ash", b"a tree")?);
    /// assert!(!cursor.insert_new(&mut txn, b"ash", b"what a fire leaves")?);
    /// assert_eq!(*cursor.value(&txn)?, *b"a tree");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::insert`].
    pub fn insert_new(&mut self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<bool> {
        let first = match &self.table {
            CursorTable::Records(table) => {
                let is_new = table.insert_new(txn, key, value)?;
                self.arrive(txn, key, value)?;
                return Ok(is_new);
            }
            CursorTable::Pairs(table) => table.insert_new_key(txn, key, value)?,
        };
        self.arrive(txn, key, first.as_deref().unwrap_or(value))?;
        Ok(first.is_none())
    }

    /// Inserts a pair if it is not there; says whether it did. Either way the cursor is on the pair then.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// let mut cursor = DetachedCursor::for_multi(&words);
    /// assert!(cursor.insert_pair(&mut txn, b"ash", b"a tree")?);
    /// assert!(!cursor.insert_pair(&mut txn, b"ash", b"a tree")?);
    /// assert!(cursor.is_on_record(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`MultiTable::insert`](crate::MultiTable::insert); [`Error::TableMismatch`](crate::Error::TableMismatch) for a cursor over a plain
    /// table.
    pub fn insert_pair(&mut self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<bool> {
        let is_new = match &self.table {
            CursorTable::Records(table) => return Err(table.is_other(ONE_VALUE)),
            CursorTable::Pairs(table) => table.insert(txn, key, value)?,
        };
        self.arrive(txn, key, value)?;
        Ok(is_new)
    }

    /// Inserts a record behind the last one, and is on it then; where a key has one value without a search.
    ///
    /// # Errors
    ///
    /// Those of [`Table::append`](crate::Table::append) and [`MultiTable::append`](crate::MultiTable::append); the place is what it was then.
    pub fn append(&mut self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
        match &self.table {
            CursorTable::Records(table) => table.append(txn, key, value)?,
            CursorTable::Pairs(table) => table.append(txn, key, value)?,
        }
        self.arrive(txn, key, value)
    }

    /// Inserts a pair behind all others of its key, and is on it then.
    ///
    /// # Errors
    ///
    /// Those of [`MultiTable::append_value`](crate::MultiTable::append_value); the place is what it was then.
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) for a cursor over a plain table.
    pub fn append_value(&mut self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
        match &self.table {
            CursorTable::Records(table) => return Err(table.is_other(ONE_VALUE)),
            CursorTable::Pairs(table) => table.append_value(txn, key, value)?,
        }
        self.arrive(txn, key, value)
    }

    /// Replaces the value of the record that the cursor is on; `false` if it is on none, and then nothing changes. Where a key has several
    /// values this one goes, and the new one comes, unless the key has it; the cursor is on that then.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::{Bytes, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, Bytes>("words")?;
    /// words.insert(&mut txn, "ash", b"a tree")?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(!cursor.update(&mut txn, b"?")?);
    /// cursor.first(&txn)?;
    /// assert!(cursor.update(&mut txn, b"what a fire leaves")?);
    /// assert_eq!(words.get(&txn, "ash")?, Some(&b"what a fire leaves"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::insert`].
    pub fn update(&mut self, txn: &mut WriteTxn, value: &[u8]) -> Result<bool> {
        if !self.can_be_on_record(txn)? {
            return Ok(false);
        }
        let is_done = match &self.table {
            CursorTable::Records(table) => return table.update(txn, &self.key, value),
            CursorTable::Pairs(table) => table.exchange(txn, &self.key, &self.value, value)?,
        };
        if is_done {
            let key = mem::take(&mut self.key);
            self.arrive(txn, &key, value)?;
        }
        Ok(is_done)
    }

    /// Removes the record that the cursor is on; `false` if it is on none. The place stays what it was: [`DetachedCursor::next`] and
    /// [`DetachedCursor::current`] lead to the record behind.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut cursor = DetachedCursor::new(&words);
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
        if !self.can_be_on_record(txn)? {
            return Ok(false);
        }
        let is_removed = match &self.table {
            CursorTable::Records(table) => table.remove(txn, &self.key),
            CursorTable::Pairs(table) => return table.remove(txn, &self.key, &self.value),
        }?;
        if is_removed {
            self.set_hint_to_next(txn)?;
        }
        Ok(is_removed)
    }

    /// Keeps the way to the record behind the one that was just removed.
    fn set_hint_to_next(&mut self, txn: &WriteTxn) -> Result<()> {
        let next_position = txn.inner.position_after_removed(self.table.handle(txn));
        self.hint = match next_position {
            Some(position) => Some(Hint {
                version: TableVersion::new(txn, &self.table, &*self.table.root(txn)?),
                committed: None,
                path: TreePath::Record(position),
                hint_target: HintTarget::Next,
            }),
            None => None,
        };
        Ok(())
    }

    /// Removes the key of the place with all its values; returns how many it had. The place stays what it was.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// words.insert_many(&mut txn, &[("ash", "1"), ("ash", "2"), ("oak", "3")])?;
    /// let mut cursor = DetachedCursor::for_multi(&words);
    /// cursor.next(&txn)?;
    /// assert_eq!(cursor.remove_all_values(&mut txn)?, 2);
    /// assert!(cursor.next(&txn)?);
    /// assert_eq!(cursor.key(), b"oak");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`DetachedCursor::remove`].
    pub fn remove_all_values(&mut self, txn: &mut WriteTxn) -> Result<u64> {
        self.remove_scope(txn, DeleteScope::AllValues)
    }

    /// Whether the table could hold the record of the place.
    fn can_be_on_record(&self, txn: &WriteTxn) -> Result<bool> {
        let root = self.table.root(txn)?;
        let page_size = txn.source().page_size();
        let has_key =
            self.position == CursorPosition::At && check_key(&root, page_size, &self.key).is_ok();
        Ok(has_key && (!root.is_multi() || root.refuse_value(page_size, &self.value).is_ok()))
    }

    /// Is at a record that was put there just now.
    fn arrive(&mut self, txn: &WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
        self.position = CursorPosition::At;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.value.clear();
        if let CursorTable::Pairs(_) = self.table {
            self.value.extend_from_slice(value);
        }
        self.hint = None;
        // What a comparison calls the same may be other bytes, and these stay.
        let root = self.table.root(txn)?;
        if [root.order, root.value_order()]
            .iter()
            .any(|order| matches!(order, KeyOrder::Custom(_)))
        {
            self.current(txn)?;
        }
        Ok(())
    }
}
