//! How keys and values of a table follow each other.

use super::{
    MultiTable, Table, Transaction,
    codec::Codec,
    key_checks::{check_probe, check_value_probe},
};
use crate::Result;
use std::cmp::Ordering;

impl<K: Codec, V: Codec> Table<K, V> {
    /// How two keys follow each other in the order of the table, whether it has them or not.
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
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an integer of another length than the keys;
    /// [`Error::TableNotFound`](crate::Error::TableNotFound), [`Error::Corrupted`](crate::Error::Corrupted).
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
    /// How two keys follow each other in the order of the table, whether it has them or not.
    ///
    /// # Errors
    ///
    /// Those of [`Table::compare_keys`].
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

    /// How two values of a key follow each other in the order of the table, whether it has them or not.
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
    /// Those of [`Table::compare_keys`], for the values.
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
