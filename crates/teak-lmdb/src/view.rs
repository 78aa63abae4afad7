//! What is read: the state of a read transaction, or of a write transaction.

use crate::{
    codes::{Code, Outcome},
    description,
    handles::{Open, Tables},
};
use std::{ffi::c_uint, sync::Arc};
use teak::{Error, ReadTxn, TableOptions, TableStat, Transaction, WriteTxn, codec::Bytes};

/// A transaction of either kind, to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'t> {
    Read(&'t ReadTxn),
    Write(&'t WriteTxn),
}

/// Does the same with a transaction of either kind.
macro_rules! viewed {
    ($view:expr, $txn:ident => $work:expr) => {
        match $view {
            $crate::view::View::Read($txn) => $work,
            $crate::view::View::Write($txn) => $work,
        }
    };
}
pub(crate) use viewed;

impl<'t> View<'t> {
    /// The table of this name, if it is there.
    pub(crate) fn find(self, name: &[u8]) -> Outcome<Option<(Tables, TableOptions)>> {
        viewed!(self, txn => find(txn, name))
    }

    /// The database of this name, if it is there, with flags that are known, or else those that the table tells.
    pub(crate) fn open(self, name: &[u8], known: Option<c_uint>) -> Outcome<Option<Arc<Open>>> {
        Ok(self.find(name)?.map(|(tables, options)| {
            let told = description::flags_of(&options);
            Open::new(known.unwrap_or(told), tables)
        }))
    }

    /// Counts of a table.
    pub(crate) fn stat(self, tables: &Tables) -> teak::Result<TableStat> {
        match tables {
            Tables::Plain(table) => viewed!(self, txn => table.stat(txn)),
            Tables::Multi(table) => viewed!(self, txn => table.stat(txn)),
        }
    }

    /// The value of a key, or the first one.
    pub(crate) fn get(self, tables: &Tables, key: &[u8]) -> Outcome<Option<&'t [u8]>> {
        Ok(match tables {
            Tables::Plain(table) => viewed!(self, txn => table.get(txn, key))?,
            Tables::Multi(table) => {
                let mut cursor = viewed!(self, txn => table.cursor(txn))?;
                match cursor.seek_exact(key)? {
                    true => cursor.value_in_page(),
                    false => None,
                }
            }
        })
    }

    /// The last value of a key that has several.
    pub(crate) fn last_value(self, tables: &Tables, key: &[u8]) -> Outcome<Option<Vec<u8>>> {
        match tables {
            Tables::Plain(_) => Ok(None),
            Tables::Multi(table) => Ok(viewed!(self, txn => table.last_value(txn, key))?),
        }
    }

    /// The last key.
    pub(crate) fn last_key(self, tables: &Tables) -> Outcome<Option<Vec<u8>>> {
        Ok(match tables {
            Tables::Plain(table) => {
                let mut cursor = viewed!(self, txn => table.cursor(txn))?;
                cursor.last()?.then(|| cursor.key().to_vec())
            }
            Tables::Multi(table) => {
                let mut cursor = viewed!(self, txn => table.cursor(txn))?;
                cursor.last()?.then(|| cursor.key().to_vec())
            }
        })
    }

    /// The names of all tables.
    pub(crate) fn names(self) -> Outcome<Vec<Vec<u8>>> {
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

fn find<T: Transaction>(txn: &T, name: &[u8]) -> Outcome<Option<(Tables, TableOptions)>> {
    match txn.open_table::<Bytes, Bytes>(name) {
        Ok(table) => {
            let options = table.options(txn)?;
            Ok(Some((Tables::Plain(table), options)))
        }
        Err(Error::TableNotFound(_)) => Ok(None),
        Err(Error::TableMismatch { .. }) => {
            let table = txn.open_multi_table::<Bytes, Bytes>(name)?;
            let options = table.options(txn)?;
            Ok(Some((Tables::Multi(table), options)))
        }
        Err(error) => Err(Code::from(error)),
    }
}
