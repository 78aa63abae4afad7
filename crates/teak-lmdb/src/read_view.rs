//! The state that a read or write transaction sees.

use crate::{
    codes::CallResult,
    compare::ComparisonScope,
    description, flags,
    handles::{OpenDatabase, TableHandle},
    orders,
};
use std::{ffi::c_uint, sync::Arc};
use teak::{
    Database, Error, KeyOrder, MultiTableDef, ReadTxn, SeekOp, TableDef, TableOptions, TableStat,
    Transaction, ValueSize, WriteTxn, codec::Raw,
};

/// A transaction of either kind, to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadView<'t> {
    Read(&'t ReadTxn),
    Write(&'t WriteTxn),
}

/// Runs an expression with a transaction of either kind.
macro_rules! viewed {
    ($view:expr, $txn:ident => $work:expr) => {
        match $view {
            $crate::read_view::ReadView::Read($txn) => $work,
            $crate::read_view::ReadView::Write($txn) => $work,
        }
    };
}
pub(crate) use viewed;

impl<'t> ReadView<'t> {
    /// The table with this name, if it exists.
    pub(crate) fn find(
        self,
        database: &Database,
        name: &[u8],
    ) -> CallResult<Option<(TableHandle, TableOptions)>> {
        let found = || viewed!(self, txn => find(txn, name));
        match found() {
            Err(Error::ComparisonMissing { .. }) => {
                // It can only be an order that a client has brought.
                orders::order_of(database, name, ComparisonScope::Keys, 0)?;
                orders::order_of(database, name, ComparisonScope::Values, 0)?;
                Ok(found()?)
            }
            found => Ok(found?),
        }
    }

    /// The database with this name, if it exists. Its flags are `known`, or those that the table's
    /// options tell.
    pub(crate) fn open(
        self,
        database: &Database,
        name: &[u8],
        known: Option<c_uint>,
    ) -> CallResult<Option<Arc<OpenDatabase>>> {
        let Some((tables, options)) = self.find(database, name)? else {
            return Ok(None);
        };
        let database_flags = known.unwrap_or_else(|| description::flags_of(&options));
        let open = OpenDatabase::new(database_flags, tables);
        let orders = [
            (ComparisonScope::Keys, Some(options.order)),
            (ComparisonScope::Values, options.value_order),
        ];
        for (of, order) in orders {
            if matches!(order, Some(KeyOrder::Custom(_))) {
                let (given, _) = orders::order_of(database, name, of, database_flags)?;
                open.set_order(given);
            }
        }
        orders::know_order_of_sizes(database, name, database_flags)?;
        Ok(Some(open))
    }

    /// Whether keys may have values of different sizes, although the flags say otherwise: see
    /// `Transaction::free_sizes`.
    pub(crate) fn has_sizes(self, open: &OpenDatabase) -> CallResult<bool> {
        if !open.has(flags::DUPFIXED | flags::INTEGERDUP) {
            return Ok(false);
        }
        let options = match &open.tables {
            TableHandle::Plain(_) => return Ok(false),
            TableHandle::Multi(table) => viewed!(self, txn => table.options(txn))?,
        };
        Ok(options.value_size == Some(ValueSize::Any))
    }

    /// Whether a table exists and has this kind.
    pub(crate) fn has(self, tables: &TableHandle) -> bool {
        match tables {
            TableHandle::Plain(table) => viewed!(self, txn => table.len(txn)).is_ok(),
            TableHandle::Multi(table) => viewed!(self, txn => table.len(txn)).is_ok(),
        }
    }

    /// Counts of a table.
    pub(crate) fn stat(self, tables: &TableHandle) -> teak::Result<TableStat> {
        match tables {
            TableHandle::Plain(table) => viewed!(self, txn => table.stat(txn)),
            TableHandle::Multi(table) => viewed!(self, txn => table.stat(txn)),
        }
    }

    /// The value of a key, or the first one.
    pub(crate) fn get(self, tables: &TableHandle, key: &[u8]) -> CallResult<Option<&'t [u8]>> {
        Ok(match tables {
            TableHandle::Plain(table) => viewed!(self, txn => table.get(txn, key))?,
            TableHandle::Multi(table) => {
                let mut cursor = viewed!(self, txn => table.cursor(txn))?;
                match cursor.seek(SeekOp::Equal, key)? {
                    true => cursor.value_in_page()?,
                    false => None,
                }
            }
        })
    }

    /// The last value of a key that has several.
    pub(crate) fn last_value(
        self,
        tables: &TableHandle,
        key: &[u8],
    ) -> CallResult<Option<Vec<u8>>> {
        match tables {
            TableHandle::Plain(_) => Ok(None),
            TableHandle::Multi(table) => Ok(viewed!(self, txn => table.last_value(txn, key))?),
        }
    }

    /// The last key.
    pub(crate) fn last_key(self, tables: &TableHandle) -> CallResult<Option<Vec<u8>>> {
        Ok(match tables {
            TableHandle::Plain(table) => {
                let mut cursor = viewed!(self, txn => table.cursor(txn))?;
                cursor.last()?.then(|| cursor.key().to_vec())
            }
            TableHandle::Multi(table) => {
                let mut cursor = viewed!(self, txn => table.cursor(txn))?;
                cursor.last()?.then(|| cursor.key().to_vec())
            }
        })
    }

    /// The names of all tables.
    pub(crate) fn names(self) -> CallResult<Vec<Vec<u8>>> {
        let tables = viewed!(self, txn => txn.tables())?;
        Ok(tables.into_iter().map(|table| table.name).collect())
    }

    /// The marks of the application.
    pub(crate) fn marks(self) -> [u64; 3] {
        viewed!(self, txn => txn.marks()).values
    }

    pub(crate) fn id(self) -> u64 {
        viewed!(self, txn => txn.id()).0
    }
}

/// A table opened without a check of its order, since clients set their function later.
fn find<T: Transaction>(txn: &T, name: &[u8]) -> teak::Result<Option<(TableHandle, TableOptions)>> {
    let definition = TableDef::<Raw, Raw>::from_bytes(name);
    match definition.open_without_order_check(txn) {
        Ok(table) => {
            let options = table.options(txn)?;
            Ok(Some((TableHandle::Plain(table), options)))
        }
        Err(Error::TableNotFound(_)) => Ok(None),
        Err(Error::TableMismatch { .. }) => {
            let definition = MultiTableDef::<Raw, Raw>::from_bytes(name);
            let table = definition.open_without_order_check(txn)?;
            let options = table.options(txn)?;
            Ok(Some((TableHandle::Multi(table), options)))
        }
        Err(error) => Err(error),
    }
}
