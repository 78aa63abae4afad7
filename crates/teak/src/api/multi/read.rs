//! Reading multi-value tables.

use super::not_packed;
use crate::{
    Result,
    api::{
        MultiTable, Transaction,
        codec::{Codec, EncodeAs},
        count::check_counted,
        key_checks::{check_probe, check_value_probe},
    },
    btree::{
        multi::{count, cursor::PairCursor, lookup},
        position::Direction,
        reading::{reading, reading_twice},
    },
};
use std::{
    cmp::Ordering,
    ops::{Bound, ControlFlow},
};

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Returns the first value of a key.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn first_value<T: Transaction>(
        &self,
        txn: &T,
        key: impl EncodeAs<K>,
    ) -> Result<Option<V::Owned>> {
        self.values(txn, key)?.next().transpose()
    }

    /// Returns the last value of a key.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_values(&mut txn, "teak", &[9, 1, 5])?;
    /// assert_eq!(lines.first_value(&txn, "teak")?, Some(1));
    /// assert_eq!(lines.last_value(&txn, "teak")?, Some(9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn last_value<T: Transaction>(
        &self,
        txn: &T,
        key: impl EncodeAs<K>,
    ) -> Result<Option<V::Owned>> {
        self.values(txn, key)?.next_back().transpose()
    }

    /// Returns how many values a key has, without reading them.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn count<T: Transaction>(&self, txn: &T, key: impl EncodeAs<K>) -> Result<u64> {
        let root = self.root(txn)?;
        let (source, key) = (txn.source(), key.encode_as()?);
        check_probe(&root, key.as_ref())?;
        let found = reading_twice(source, || {
            let values = lookup::find(source, &root, key.as_ref())?;
            Ok(values.map_or(0, |values| values.count()))
        });
        found.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }

    /// Returns whether a key has this value.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert(&mut txn, "teak", 9)?;
    /// assert!(lines.contains(&txn, "teak", 9)?);
    /// assert!(!lines.contains(&txn, "teak", 8)?);
    /// assert!(lines.contains_key(&txn, "teak")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values.
    pub fn contains<T: Transaction>(
        &self,
        txn: &T,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<bool> {
        let root = self.root(txn)?;
        let (source, key, value) = (txn.source(), key.encode_as()?, value.encode_as()?);
        check_probe(&root, key.as_ref())?;
        check_value_probe(&root, value.as_ref())?;
        let found = reading_twice(source, || {
            lookup::contains(source, &root, key.as_ref(), value.as_ref())
        });
        found.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }

    /// Returns how many pairs are before this one, by key and then by value. For a pair that is
    /// present this is its zero-based index. Only for counted tables
    /// ([`TableOptions::counted`](crate::TableOptions::counted)); takes one descent, and another
    /// among the values of the key.
    ///
    /// ```
    /// # use teak::{Database, MultiTableDef, TableOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().counted(true);
    /// let lines = MultiTableDef::<&str, u32>::new("lines").options(options).create(&mut txn)?;
    /// lines.insert_many(&mut txn, &[("ash", 7), ("oak", 1), ("oak", 4), ("teak", 2)])?;
    /// assert_eq!(lines.rank(&txn, "oak", 4)?, 2);
    /// assert_eq!(lines.nth(&txn, 2)?, Some(("oak".into(), 4)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the table is not counted, or if
    /// an argument is an integer of another length than the keys or the values;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn rank<T: Transaction>(
        &self,
        txn: &T,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<u64> {
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        let pair = (key.as_ref(), Some(value.as_ref()));
        self.reading(txn, |source, root| {
            check_counted(root, self.name())?;
            check_probe(root, key.as_ref())?;
            check_value_probe(root, value.as_ref())?;
            count::count_pairs(source, root, Bound::Unbounded, Bound::Excluded(pair))
        })
    }

    /// Compares two values of a key in the order of the table. They need not be in the table.
    ///
    /// ```
    /// # use std::cmp::Ordering;
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// assert_eq!(lines.compare_values(&txn, 3, 300)?, Ordering::Less);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if a value is an integer of
    /// another length than the values; [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn compare_values<T: Transaction>(
        &self,
        txn: &T,
        a: impl EncodeAs<V>,
        b: impl EncodeAs<V>,
    ) -> Result<Ordering> {
        let root = self.root(txn)?;
        let (a, b) = (a.encode_as()?, b.encode_as()?);
        check_value_probe(&root, a.as_ref())?;
        check_value_probe(&root, b.as_ref())?;
        Ok(root.value_order().compare(a.as_ref(), b.as_ref()))
    }

    /// Passes the values of a key to `take` in their form in the file: concatenated, a page at a
    /// time, until `take` breaks. For tables whose values have a fixed size.
    ///
    /// ```
    /// # use teak::{Database, MultiTableDef, TableOptions, ValueSize};
    /// # use std::ops::ControlFlow;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().value_size(ValueSize::Bytes(4));
    /// let lines = MultiTableDef::<&str, u32>::new("lines").options(options).create(&mut txn)?;
    /// lines.insert_values(&mut txn, "teak", &(0..10_000).collect::<Vec<_>>())?;
    /// let mut sum = 0;
    /// lines.for_each_packed(&txn, "teak", |values| {
    ///     let (values, _) = values.as_chunks();
    ///     sum += values.iter().map(|value| u64::from(u32::from_be_bytes(*value))).sum::<u64>();
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(sum, 49_995_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys. [`Error::InvalidArgument`](crate::Error::InvalidArgument) also
    /// if the values have no fixed size.
    pub fn for_each_packed<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: impl EncodeAs<K>,
        mut take: impl FnMut(&'t [u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let root = *self.root(txn)?;
        if root.kind.value_size == 0 && !root.kind.first_decides {
            return Err(not_packed());
        }
        let (source, key) = (txn.source(), key.encode_as()?);
        check_probe(&root, key.as_ref())?;
        let mut cursor = PairCursor::new(source, root);
        let read = reading(source, || {
            if cursor.seek_key(key.as_ref())? != Some(true) {
                return Ok(());
            }
            while let Some(values) = cursor.packed(Direction::Forward)? {
                if take(values).is_break() {
                    break;
                }
                cursor.skip_packed(Some(values), Direction::Forward)?;
                if !cursor.next_value()? {
                    break;
                }
            }
            Ok(())
        });
        read.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }
}
