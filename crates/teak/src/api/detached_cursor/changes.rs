//! Changes through detached cursors.

use super::{
    CursorTable, DetachedCursor, Hint, TableVersion,
    cursor_position::CursorPosition,
    cursor_step::{HintTarget, TreePath},
};
use crate::{
    Result,
    api::{InsertMode, WriteTxn, key_checks::check_key, sealed::Sealed, table_handle::wrong_kind},
    btree::{PageSource, TableClass},
    page::key::KeyOrder,
};
use std::mem;

impl DetachedCursor {
    /// Inserts a record and moves to it. In a table with one value per key it replaces the value of
    /// the key and returns `true`. In a multi-value table it adds the value, and returns `false` if
    /// the key has it already.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<&str, Bytes>("words")?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(cursor.insert(&mut txn, b"ash", b"a tree")?);
    /// assert!(!cursor.insert(&mut txn, b"ash", b"a tree")?);
    /// assert!(cursor.is_on_record(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong) or
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the value does not have the
    /// size of the table's values; [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space.
    pub fn insert(&mut self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<bool> {
        let is_changed = match &self.table {
            CursorTable::Records(table) => table.insert(txn, key, value).map(|()| true)?,
            CursorTable::Pairs(table) => table.insert(txn, key, value)?,
        };
        self.arrive(txn, key, value)?;
        Ok(is_changed)
    }

    /// Inserts a record under a condition, and moves to it; returns whether it is new. With
    /// [`InsertMode::NewKey`] a key that exists is no error: the cursor moves to its first record.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, Error, InsertMode, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, Bytes>("words")?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(cursor.insert_as(&mut txn, InsertMode::NewKey, b"ash", b"a tree")?);
    /// assert!(!cursor.insert_as(&mut txn, InsertMode::NewKey, b"ash", b"what a fire leaves")?);
    /// assert_eq!(*cursor.value(&txn)?, *b"a tree");
    /// assert!(cursor.insert_as(&mut txn, InsertMode::Last, b"elm", b"a tree")?);
    /// let refused = cursor.insert_as(&mut txn, InsertMode::Last, b"box", b"a shrub");
    /// assert!(matches!(refused, Err(Error::NotSorted { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`](crate::Error::NotSorted) if the record is not after those that the mode
    /// names; [`Error::TableMismatch`](crate::Error::TableMismatch) for [`InsertMode::LastValue`]
    /// if keys have one value; [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong) or
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the value does not have the
    /// size of the table's values; [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space. After an error the position is
    /// unchanged.
    pub fn insert_as(
        &mut self,
        txn: &mut WriteTxn,
        mode: InsertMode,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let mut existing = None;
        let is_new = match (mode, &self.table) {
            (InsertMode::NewKey, CursorTable::Records(table)) => {
                table.insert_new(txn, key, value)?
            }
            (InsertMode::NewKey, CursorTable::Pairs(table)) => {
                existing = table.insert_new_key(txn, key, value)?;
                existing.is_none()
            }
            (InsertMode::Last, CursorTable::Records(table)) => {
                table.append(txn, key, value).map(|()| true)?
            }
            (InsertMode::Last, CursorTable::Pairs(table)) => {
                table.append(txn, key, value).map(|()| true)?
            }
            (InsertMode::LastValue, CursorTable::Records(table)) => {
                return Err(wrong_kind(
                    table.name(),
                    TableClass::Single,
                    TableClass::Multi,
                ));
            }
            (InsertMode::LastValue, CursorTable::Pairs(table)) => {
                table.append_value(txn, key, value).map(|()| true)?
            }
        };
        self.arrive(txn, key, existing.as_deref().unwrap_or(value))?;
        Ok(is_new)
    }

    /// Replaces the value of the current record. If the cursor is not on a record, returns `false`
    /// and changes nothing. In a multi-value table the current value is removed and the new one
    /// inserted, unless the key has it; the cursor moves to the new one.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, Bytes>("words")?;
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
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong) or
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the value does not have the
    /// size of the table's values; [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space.
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

    /// Removes the current record; `false` if the cursor is not on a record. The position does not
    /// change: [`DetachedCursor::next`] and [`DetachedCursor::current`] then move to the record
    /// after it.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor, SeekOp};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.seek(&txn, SeekOp::Equal, b"elm")?;
    /// assert!(cursor.remove(&mut txn)?);
    /// assert!(!cursor.remove(&mut txn)?);
    /// assert!(cursor.next(&txn)?);
    /// assert_eq!(cursor.key(), b"oak");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted); [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space for the changed pages.
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

    /// Stores a hint to the record after the one that was just removed.
    fn set_hint_to_next(&mut self, txn: &WriteTxn) -> Result<()> {
        let next_position = txn.whole()?.position_after_removed(self.table.handle(txn));
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

    /// Whether the table could hold a record at the position.
    fn can_be_on_record(&self, txn: &WriteTxn) -> Result<bool> {
        let root = self.table.root(txn)?;
        let page_size = txn.source().page_size();
        let has_key =
            self.position == CursorPosition::At && check_key(&root, page_size, &self.key).is_ok();
        Ok(has_key && (!root.is_multi() || root.refuse_value(page_size, &self.value).is_ok()))
    }

    /// Moves to a record that was just stored.
    fn arrive(&mut self, txn: &WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
        self.position = CursorPosition::At;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.value.clear();
        if let CursorTable::Pairs(_) = self.table {
            self.value.extend_from_slice(value);
        }
        self.hint = None;
        // The stored bytes may differ from those of a value that the comparison calls equal, and
        // they stay.
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
