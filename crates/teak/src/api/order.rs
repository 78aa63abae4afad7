//! The order of the keys and values of a table.

use super::{
    MultiTable, Table, Transaction,
    codec::Codec,
    key_checks::{check_probe, check_value_probe},
};
use crate::Result;
use std::cmp::Ordering;

impl<K: Codec, V: Codec> Table<K, V> {
    /// Compares two keys in the order of the table. They need not be in the table.
    ///
    /// ```
    /// # use std::cmp::Ordering;
    /// # use teak::{Database, KeyOrder, TableOptions, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().order(KeyOrder::ReverseBytes);
    /// let words = txn.create_table_with::<Bytes, Bytes>("words", options)?;
    /// assert_eq!(words.compare_keys(&txn, b"ab", b"ba")?, Ordering::Greater);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if a key is an integer of another
    /// length than the keys; [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn compare_keys<T: Transaction>(
        &self,
        txn: &T,
        a: K::Item<'_>,
        b: K::Item<'_>,
    ) -> Result<Ordering> {
        let root = self.root(txn)?;
        let (a, b) = (K::encode(&a), K::encode(&b));
        check_probe(&root, a.as_ref())?;
        check_probe(&root, b.as_ref())?;
        Ok(root.order.compare(a.as_ref(), b.as_ref()))
    }
}

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Compares two keys in the order of the table. They need not be in the table.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if a key is an integer of another
    /// length than the keys; [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    pub fn compare_keys<T: Transaction>(
        &self,
        txn: &T,
        a: K::Item<'_>,
        b: K::Item<'_>,
    ) -> Result<Ordering> {
        let root = self.root(txn)?;
        let (a, b) = (K::encode(&a), K::encode(&b));
        check_probe(&root, a.as_ref())?;
        check_probe(&root, b.as_ref())?;
        Ok(root.order.compare(a.as_ref(), b.as_ref()))
    }

    /// Compares two values of a key in the order of the table. They need not be in the table.
    ///
    /// ```
    /// # use std::cmp::Ordering;
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
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
        a: V::Item<'_>,
        b: V::Item<'_>,
    ) -> Result<Ordering> {
        let root = self.root(txn)?;
        let (a, b) = (V::encode(&a), V::encode(&b));
        check_value_probe(&root, a.as_ref())?;
        check_value_probe(&root, b.as_ref())?;
        Ok(root.value_order().compare(a.as_ref(), b.as_ref()))
    }
}
