//! Operations on tables of both kinds.

use super::{
    Cursor, Iter, Table, TableOptions, Transaction, WriteTxn,
    codec::{Codec, EncodeAs, encode_pairs},
    count::check_counted,
    key_checks::{RecordCheck, check_key, check_probe},
    kind::{Kind, ReadRecord},
    range_cursor::Source,
    sealed::Sealed,
    table_info::TableStat,
};
use crate::{
    Error, Result,
    btree::{PageSource, RootRef, TreeRoot, lookup, mutable_tree::Tree, reading::reading_twice},
    page::value::StoredValue,
    write::pages::WritePages,
};
use std::{cmp::Ordering, ops::Bound};

impl<K: Codec, V: Codec, M: Kind> Table<K, V, M> {
    /// Returns whether the table has this key.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.insert(&mut txn, "teak", 9)?;
    /// assert!(counts.contains_key(&txn, "teak")? && !counts.contains_key(&txn, "oak")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if the key is
    /// an integer of another length than the keys of a multi-value table.
    #[inline]
    pub fn contains_key<T: Transaction>(&self, txn: &T, key: impl EncodeAs<K>) -> Result<bool> {
        let key = key.encode_as()?;
        let key = key.as_ref();
        if !M::IS_MULTI
            && txn.is_buffered()
            && let Some(found) = txn.get_buffered(self.handle(txn), self.name(), key)?
        {
            return Ok(found.is_some());
        }
        let root = self.root(txn)?;
        if M::IS_MULTI {
            check_probe(&root, key)?;
        }
        let source = txn.source();
        let found = reading_twice(source, || Ok(lookup::get(source, &root, key)?.is_some()));
        found.map_err(|error| self.located(error, txn, &root, Some(key)))
    }

    /// Returns the number of records; in a multi-value table, of pairs of key and value.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn len<T: Transaction>(&self, txn: &T) -> Result<u64> {
        Ok(self.root(txn)?.records)
    }

    /// Returns whether the table has no records.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn is_empty<T: Transaction>(&self, txn: &T) -> Result<bool> {
        Ok(self.len(txn)? == 0)
    }

    /// Returns counts of records and pages.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn stat<T: Transaction>(&self, txn: &T) -> Result<TableStat> {
        Ok(TableStat::new(&*self.root(txn)?))
    }

    /// Returns the options the table was created with.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn options<T: Transaction>(&self, txn: &T) -> Result<TableOptions> {
        Ok(TableOptions::of_root(&*self.root(txn)?))
    }

    /// Returns an iterator over all records, from both ends: in key order, and the values of a key
    /// in their order. [`Table::range`] has iterators over a part of them, over keys, and over
    /// values.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn iter<'t, T: Transaction>(&self, txn: &'t T) -> Result<Iter<'t, K, V, M>> {
        let state = self.tree_of(txn)?;
        Iter::new(
            state,
            self.shared_name(),
            Bound::Unbounded,
            Bound::Unbounded,
        )
    }

    /// Returns a cursor over the raw bytes of the table.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if the table does not exist.
    pub fn cursor<'t, T: Transaction>(&self, txn: &'t T) -> Result<Cursor<'t>> {
        let root = *self.root(txn)?;
        Ok(Cursor::new(txn.source(), root, self.shared_name()))
    }

    /// Returns the first record, with the first value of its key.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn first<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<ReadRecord<'t, K, V, M>>> {
        self.iter(txn)?.next().transpose()
    }

    /// Returns the last record, with the last value of its key.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::Decode`].
    pub fn last<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<ReadRecord<'t, K, V, M>>> {
        self.iter(txn)?.next_back().transpose()
    }

    /// Returns record `number` in the order of [`Table::iter`], counted from 0; `None` if there are
    /// not that many. Only for counted tables
    /// ([`TableOptions::counted`](crate::TableOptions::counted)); takes one descent, and another
    /// among the values of a key.
    ///
    /// ```
    /// # use teak::{Database, MultiTableDef, TableOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().counted(true);
    /// let lines = MultiTableDef::<&str, u32>::new("lines").options(options).create(&mut txn)?;
    /// lines.insert_many(&mut txn, &[("ash", 7), ("oak", 1), ("oak", 4), ("teak", 2)])?;
    /// assert_eq!(lines.nth(&txn, 2)?, Some(("oak".into(), 4)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the table is not counted; [`Error::TableNotFound`],
    /// [`Error::Corrupted`] or [`Error::Decode`].
    pub fn nth<'t, T: Transaction>(
        &self,
        txn: &'t T,
        number: u64,
    ) -> Result<Option<ReadRecord<'t, K, V, M>>> {
        self.reading(txn, |source, root| {
            check_counted(root, self.name())?;
            M::nth::<K, V>((source, *root), number)
        })
    }

    /// Compares two keys in the order of the table. They need not be in the table.
    ///
    /// ```
    /// # use std::cmp::Ordering;
    /// # use teak::{Database, KeyOrder, TableDef, TableOptions, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().order(KeyOrder::ReverseBytes);
    /// let words = TableDef::<Bytes, Bytes>::new("words").options(options).create(&mut txn)?;
    /// assert_eq!(words.compare_keys(&txn, b"ab", b"ba")?, Ordering::Greater);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if a key is an integer of another length than the keys;
    /// [`Error::TableNotFound`] or [`Error::Corrupted`].
    pub fn compare_keys<T: Transaction>(
        &self,
        txn: &T,
        a: impl EncodeAs<K>,
        b: impl EncodeAs<K>,
    ) -> Result<Ordering> {
        let root = self.root(txn)?;
        let (a, b) = (a.encode_as()?, b.encode_as()?);
        check_probe(&root, a.as_ref())?;
        check_probe(&root, b.as_ref())?;
        Ok(root.order.compare(a.as_ref(), b.as_ref()))
    }

    /// Inserts many records. They are applied in key order, whatever their order in the argument,
    /// which is faster than one insert after the other. In a table with one value per key they
    /// replace stored values, and if a key occurs several times, its last record counts. Returns
    /// how many keys, or pairs in a multi-value table, are new.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// assert_eq!(counts.insert_many(&mut txn, &[("teak", 1), ("oak", 2), ("teak", 3)])?, 2);
    /// assert_eq!(counts.get(&txn, "teak")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`] or [`Error::TableNotFound`];
    /// [`Error::InvalidArgument`] if a key or value does not have the size of the table's;
    /// [`Error::Io`] or [`Error::Full`] if there is no space. A record that the table cannot hold
    /// is found before anything changes.
    pub fn insert_many(
        &self,
        txn: &mut WriteTxn,
        records: &[(impl EncodeAs<K>, impl EncodeAs<V>)],
    ) -> Result<u64> {
        let encoded = encode_pairs(records)?;
        let (added, records) = match self.insert_small(txn, &encoded)? {
            Some((added, [])) => return Ok(added),
            part => part.unwrap_or((0, &encoded)),
        };
        let mut check = RecordCheck::new(self, txn)?;
        for (key, value) in records {
            check.check(key.as_ref(), value.as_ref())?;
        }
        let new = self.change_checked(txn, |tree| match M::IS_MULTI {
            true => tree.insert_pairs(records),
            false => tree.insert_many(records),
        })?;
        Ok(added + new)
    }

    /// Inserts a record after the last one. In a table with one value per key, and after another
    /// append, this takes no search. For many such records at once [`Table::bulk_load`] is faster.
    ///
    /// ```
    /// # use teak::{Database, Error};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// counts.append(&mut txn, "oak", 1)?;
    /// counts.append(&mut txn, "teak", 2)?;
    /// assert!(matches!(counts.append(&mut txn, "ash", 3), Err(Error::NotSorted { index: 2 })));
    /// assert_eq!(counts.len(&txn)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`], with the number of records in the table, if it is not after the last
    /// one; nothing changes then, and the transaction can continue. [`Error::KeyTooLong`],
    /// [`Error::ValueTooLong`] or [`Error::TableNotFound`]; [`Error::InvalidArgument`] if the key
    /// or value does not have the size of the table's; [`Error::Io`] or [`Error::Full`] if there is
    /// no space.
    pub fn append(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<()> {
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        let (key, value) = (key.as_ref(), value.as_ref());
        let is_after = if M::IS_MULTI {
            RecordCheck::new(self, txn)?.check(key, value)?;
            self.change_checked(txn, |tree| tree.append_pair(key, value))?
        } else {
            let (handle, page_size) = (self.handle(txn), txn.source().page_size());
            let record = (key, StoredValue::inline(value));
            let check = |root: Option<&TreeRoot>| self.check_key(root, page_size, key);
            (txn.whole_mut()?).append((handle, self.name()), check, record)?
        };
        match is_after {
            true => Ok(()),
            false => Err(Error::NotSorted {
                index: self.len(txn)?,
            }),
        }
    }

    /// Removes all records. The pages of a huge table are released in parts, like those of a
    /// [dropped](WriteTxn::drop_table) one.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space for the changed pages.
    pub fn clear(&self, txn: &mut WriteTxn) -> Result<()> {
        self.change(txn, |tree| tree.clear()).map(drop)
    }
}

impl<K, V, M: Kind> Table<K, V, M> {
    /// Changes the tree of the table.
    pub(super) fn change<R>(
        &self,
        txn: &mut WriteTxn,
        change: impl FnOnce(&mut Tree<'_, WritePages>) -> Result<R>,
    ) -> Result<R> {
        self.root(txn)?;
        self.change_checked(txn, change)
    }

    /// Changes the tree of the table, whose root the caller has read: it exists, and is of this
    /// kind.
    pub(super) fn change_checked<R>(
        &self,
        txn: &mut WriteTxn,
        change: impl FnOnce(&mut Tree<'_, WritePages>) -> Result<R>,
    ) -> Result<R> {
        let handle = self.handle(txn);
        txn.whole_mut()?.change(handle, self.name(), change)
    }

    /// Refuses a key that the table cannot hold, and a table of the other kind or none.
    #[inline]
    pub(super) fn check_key(
        &self,
        root: Option<&TreeRoot>,
        page_size: usize,
        key: &[u8],
    ) -> Result<()> {
        check_key(
            &*self.of_this_kind(root.map(RootRef::Kept))?,
            page_size,
            key,
        )
    }

    /// Reads the table's tree; on damage the error names the affected keys of the table.
    pub(super) fn reading<'t, T: Sealed, R>(
        &self,
        txn: &'t T,
        read: impl Fn(Source<'t>, &TreeRoot) -> Result<R>,
    ) -> Result<R> {
        let root = self.root(txn)?;
        let source = txn.source();
        let result = reading_twice(source, || read(source, &root));
        result.map_err(|error| self.located(error, txn, &root, None))
    }

    /// Draws `count` numbers from the sequence of the table, and returns the first. It and the
    /// `count - 1` numbers after it belong to the caller. Each table has one sequence, which begins
    /// at 0 and is independent of the records. It is part of the table's state: rolling back a
    /// transaction or savepoint undoes its draws, and so does a rollback to a named snapshot.
    /// Clearing the table does not change it.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let people = txn.create_table::<u64, &str>("people")?;
    /// let ada = people.draw_sequence(&mut txn, 1)?;
    /// people.insert(&mut txn, ada, "Ada")?;
    /// let more = people.draw_sequence(&mut txn, 10)?;
    /// assert_eq!((ada, more, people.stat(&txn)?.sequence), (0, 1, 11));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SequenceExhausted`] if the numbers up to 2^64 - 1 do not suffice; nothing was drawn
    /// then. [`Error::TableNotFound`]; [`Error::TableMismatch`] if the table is of the other kind;
    /// [`Error::TransactionBroken`] or [`Error::Corrupted`].
    pub fn draw_sequence(&self, txn: &mut WriteTxn, count: u64) -> Result<u64> {
        self.root(txn)?;
        txn.draw_sequence(self.name(), count)
    }
}
