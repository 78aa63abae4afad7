//! The transaction interface of the public API.

// The sealed trait uses types of lower layers, which users cannot name.
#![allow(private_interfaces)]

pub(super) mod info;
pub(super) mod read;
pub(super) mod savepoints;
mod tables;
pub(super) mod write;

use self::read::ReadTxn;
use super::{
    Marks,
    codec::{Codec, refuse_orders},
    kind::Kind,
    sealed::Sealed,
    table_handle::{MultiTable, Table},
    table_info::TableInfo,
};
use crate::{Result, TransactionId, write::transaction::not_found};

/// A transaction that tables are read through: a [`ReadTxn`](crate::ReadTxn) or a
/// [`WriteTxn`](crate::WriteTxn).
pub trait Transaction: Sealed {
    /// The id of the state that is read: the commit that made it or, in a write transaction, the
    /// commit it will make.
    fn id(&self) -> TransactionId;

    /// Opens a table. The handle is not tied to this transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the keys or the values of a key
    /// do not sort in the order of the table;
    /// [`Error::ComparisonMissing`](crate::Error::ComparisonMissing) or
    /// [`Error::ComparisonMismatch`](crate::Error::ComparisonMismatch);
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    fn open_table<K: Codec, V: Codec>(&self, name: impl AsRef<[u8]>) -> Result<Table<K, V>> {
        open(self, name.as_ref(), OrderCheck::Checked)
    }

    /// Opens a multi-value table. The handle is not tied to this transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) for a table in which a key has one
    /// value; [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the keys or the values of a key
    /// do not sort in the order of the table;
    /// [`Error::ComparisonMissing`](crate::Error::ComparisonMissing) or
    /// [`Error::ComparisonMismatch`](crate::Error::ComparisonMismatch);
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    fn open_multi_table<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        open(self, name.as_ref(), OrderCheck::Checked)
    }

    /// Opens a table without checking that its keys are in the order of its comparison. Use it to
    /// scan a table from one end to the other, or to set up the comparison before the first search.
    ///
    /// ```
    /// # use teak::{Comparison, Database, KeyOrder, TableOptions, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("x.teak");
    /// static BACKWARDS: Comparison = Comparison::new("some order", &|a, b| b.cmp(a));
    /// static FORWARDS: Comparison = Comparison::new("some order", &|a, b| a.cmp(b));
    /// # {
    /// # let database = teak::Options::new().comparison(&BACKWARDS).open(&path)?;
    /// # let mut txn = database.begin_write()?;
    /// # let options = TableOptions::new().order(KeyOrder::Custom(&BACKWARDS));
    /// # let trees = txn.create_table_with::<&str, u64>("trees", options)?;
    /// # trees.insert_many(&mut txn, &[("elm", 1), ("oak", 2)])?;
    /// # txn.commit()?;
    /// # }
    /// let database = teak::Options::new().comparison(&FORWARDS).open(&path)?;
    /// let txn = database.begin_read()?;
    /// assert!(txn.open_table::<&str, u64>("trees").is_err());
    /// let trees = txn.open_table_without_order_check::<&str, u64>("trees")?;
    /// let names: Vec<_> = trees.iter(&txn)?.map(|record| record.map(|(name, _)| name)).collect::<teak::Result<_>>()?;
    /// assert_eq!(names, ["oak", "elm"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the keys or the values of a key
    /// do not sort in the order of the table;
    /// [`Error::ComparisonMissing`](crate::Error::ComparisonMissing);
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    fn open_table_without_order_check<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<Table<K, V>> {
        open(self, name.as_ref(), OrderCheck::Unchecked)
    }

    /// Opens a multi-value table, without checking that its keys are in the
    /// order of its comparison.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`](crate::Error::TableMismatch) for a table in which a key has one
    /// value; [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the keys or the values of a key
    /// do not sort in the order of the table;
    /// [`Error::ComparisonMissing`](crate::Error::ComparisonMissing);
    /// [`Error::Corrupted`](crate::Error::Corrupted).
    fn open_multi_table_without_order_check<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        open(self, name.as_ref(), OrderCheck::Unchecked)
    }

    /// Lists all tables in the order of their names, including those that require a newer version
    /// of Teak: see [`TableInfo::unknown`].
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) if a page is damaged.
    fn tables(&self) -> Result<Vec<TableInfo>>;

    /// The application's marks, as this transaction sees them; see
    /// [`WriteTxn::set_marks`](crate::WriteTxn::set_marks).
    fn marks(&self) -> Marks;
}

impl Transaction for ReadTxn {
    #[inline]
    fn id(&self) -> TransactionId {
        self.reader.transaction()
    }

    fn marks(&self) -> Marks {
        self.reader.marks()
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        self.refuse_cancelled()?;
        let mut tables = Vec::new();
        self.reader.for_each_table(|name, entry| {
            tables.push(TableInfo::new(name, &entry));
            Ok(())
        })?;
        Ok(tables)
    }
}

/// A number that no table has and that has no root.
const NO_NUMBER: usize = usize::MAX;

/// Returns the number of an existing table. The name of a missing table gets no number, because a
/// number takes memory until the database is closed.
pub(super) fn number_of<T: Sealed + ?Sized>(txn: &T, name: &[u8]) -> Result<Option<usize>> {
    let engine = txn.engine();
    if let Some(known) = engine.known_handle(name) {
        return Ok(Some(known));
    }
    match txn.root_of(NO_NUMBER, name) {
        Ok(None) => Ok(None),
        // The table exists, in an order that cannot be searched.
        Ok(Some(_)) | Err(crate::Error::ComparisonMissing { .. }) => Ok(Some(engine.handle(name))),
        Err(error) => Err(error),
    }
}

/// Whether a table is opened only if its keys are in the order of its comparison.
#[derive(PartialEq, Eq)]
enum OrderCheck {
    Checked,
    Unchecked,
}

/// Opens an existing table, which must be of this kind.
fn open<K: Codec, V: Codec, M: Kind>(
    txn: &(impl Sealed + ?Sized),
    name: &[u8],
    order_check: OrderCheck,
) -> Result<Table<K, V, M>> {
    let engine = txn.engine();
    if engine.named(number_of(txn, name))?.is_none() {
        return Err(not_found(name));
    }
    let table = Table::new(engine, name);
    let root = table.root(txn)?;
    refuse_orders::<K, V>(name, root.order, root.kind.values)?;
    if order_check == OrderCheck::Checked {
        engine.refuse_disorder(txn.source(), &root, (table.handle(txn), name))?;
    }
    Ok(table)
}

#[cfg(test)]
#[path = "transaction_tests.rs"]
mod tests;
