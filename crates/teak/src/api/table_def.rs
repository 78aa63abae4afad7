//! Definitions of tables: name, types, kind and options in one constant.

use super::{
    Table, TableOptions, Transaction, WriteTxn,
    codec::Codec,
    kind::{Kind, Multi, Single},
    open_table::{open_table, open_unordered},
    order_check::refuse_orders,
    table_handle::Types,
    table_types::CodecNames,
};
use crate::api::sealed::Sealed;
use crate::{Error, Result, read::catalog::printable};
use std::{fmt, marker::PhantomData};

/// The definition of a table: its name, the types of its keys and values, and its options. The kind
/// is [`Single`], or [`Multi`] in a [`MultiTableDef`].
///
/// ```
/// use teak::{Database, MultiTableDef, TableDef, TableOptions};
///
/// const PEOPLE: TableDef<&str, u64> = TableDef::new("people");
/// const BY_AGE: MultiTableDef<u64, &str> =
///     MultiTableDef::new("by age").options(TableOptions::new().counted(true));
///
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// PEOPLE.create(&mut txn)?.insert(&mut txn, "Ada", 36)?;
/// BY_AGE.create(&mut txn)?.insert(&mut txn, 36, "Ada")?;
/// txn.commit()?;
///
/// let txn = database.begin_read()?;
/// assert_eq!(PEOPLE.open(&txn)?.get(&txn, "Ada")?, Some(36));
/// assert!(BY_AGE.open(&txn)?.contains(&txn, 36, "Ada")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TableDef<'n, K, V, M = Single> {
    name: &'n [u8],
    options: TableOptions,
    types: PhantomData<Types<K, V, M>>,
}

/// The definition of a [`MultiTable`](super::MultiTable), in which a key has several values.
pub type MultiTableDef<'n, K, V> = TableDef<'n, K, V, Multi>;

impl<K, V, M> Clone for TableDef<'_, K, V, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V, M> Copy for TableDef<'_, K, V, M> {}

impl<K, V, M> fmt::Debug for TableDef<'_, K, V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableDef")
            .field("name", &printable(self.name))
            .field("options", &self.options)
            .finish()
    }
}

impl<'n, K, V, M> TableDef<'n, K, V, M> {
    /// Defines a table with default options.
    #[must_use]
    pub const fn new(name: &'n str) -> Self {
        Self::from_bytes(name.as_bytes())
    }

    /// Defines a table whose name may be any bytes.
    #[must_use]
    pub const fn from_bytes(name: &'n [u8]) -> Self {
        Self {
            name,
            options: TableOptions::new(),
            types: PhantomData,
        }
    }

    /// Sets the options that the table is created with.
    #[must_use]
    pub const fn options(mut self, options: TableOptions) -> Self {
        self.options = options;
        self
    }
}

impl<K: Codec, V: Codec, M: Kind> TableDef<'_, K, V, M> {
    /// Opens the table, or creates it and records the names of its types. A table that exists
    /// without such names keeps none; [`WriteTxn::set_table_types`] records them.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if it exists with other options, and [`Error::TableTypeMismatch`]
    /// with other types; [`Error::KeyTooLong`] if the name is longer than the longest key;
    /// [`Error::InvalidArgument`] if the options are contradictory; [`Error::ComparisonMissing`] or
    /// [`Error::ComparisonMismatch`]; [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn create(&self, txn: &mut WriteTxn) -> Result<Table<K, V, M>> {
        let options = match M::IS_MULTI {
            true => self.options.multi(),
            false => self.options,
        };
        if options.class() != M::CLASS {
            let text = match options.expiring {
                true => {
                    "tables whose records expire are created with `WriteTxn::create_expiring_table`"
                }
                false => {
                    "value options are for multi-value tables; use `MultiTableDef`, or leave them out"
                }
            };
            return Err(Error::InvalidArgument(text.into()));
        }
        refuse_orders::<K, V>(self.name, options.order, options.value_order)?;
        txn.create(self.name, options, CodecNames::of::<K, V>().names())?;
        Ok(Table::new(txn.engine(), self.name))
    }

    /// Opens the table, whatever options it was created with. The handle is not tied to this
    /// transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`]; [`Error::TableMismatch`] if it is of the other kind, and
    /// [`Error::TableTypeMismatch`] if it has other types; [`Error::ComparisonMissing`] or
    /// [`Error::ComparisonMismatch`]; [`Error::Corrupted`].
    pub fn open<T: Transaction + ?Sized>(&self, txn: &T) -> Result<Table<K, V, M>> {
        open_table(txn, self.name)
    }

    /// Opens the table without checking that its keys are in the order of its comparison. Use it to
    /// scan a table from one end to the other, or to set up the comparison before the first search.
    ///
    /// ```
    /// # use teak::{Comparison, Database, KeyOrder, TableDef, TableOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("x.teak");
    /// static BACKWARDS: Comparison = Comparison::new("some order", &|a, b| b.cmp(a));
    /// static FORWARDS: Comparison = Comparison::new("some order", &|a, b| a.cmp(b));
    /// const TREES: TableDef<&str, u64> = TableDef::new("trees");
    /// # {
    /// # let database = teak::Options::new().comparison(&BACKWARDS).open(&path)?;
    /// # let mut txn = database.begin_write()?;
    /// # let options = TableOptions::new().order(KeyOrder::Custom(&BACKWARDS));
    /// # let trees = TREES.options(options).create(&mut txn)?;
    /// # trees.insert_many(&mut txn, &[("elm", 1), ("oak", 2)])?;
    /// # txn.commit()?;
    /// # }
    /// let database = teak::Options::new().comparison(&FORWARDS).open(&path)?;
    /// let txn = database.begin_read()?;
    /// assert!(TREES.open(&txn).is_err());
    /// let trees = TREES.open_without_order_check(&txn)?;
    /// let names: Vec<_> = trees.iter(&txn)?.map(|record| record.map(|(name, _)| name)).collect::<teak::Result<_>>()?;
    /// assert_eq!(names, ["oak", "elm"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`]; [`Error::TableMismatch`] if it is of the other kind, and
    /// [`Error::TableTypeMismatch`] if it has other types; [`Error::ComparisonMissing`];
    /// [`Error::Corrupted`].
    pub fn open_without_order_check<T: Transaction + ?Sized>(
        &self,
        txn: &T,
    ) -> Result<Table<K, V, M>> {
        open_unordered(txn, self.name)
    }
}
