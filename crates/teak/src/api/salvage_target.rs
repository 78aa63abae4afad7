//! The tables that salvaged records are written to.

use super::{
    MultiTable, ReadTxn, Table, WriteTxn, codec::Raw, expiring::ExpiringCopy, kind::Expiring,
};
use crate::{Error, Result};

/// The table that receives the saved records.
pub(super) enum SalvageTarget {
    Plain(Table<Raw, Raw>),
    Multi(MultiTable<Raw, Raw>),
    Expiring(ExpiringCopy, Table<Raw, Raw, Expiring>),
}

impl SalvageTarget {
    pub(super) fn len(&self, txn: &ReadTxn) -> Result<u64> {
        match self {
            Self::Plain(table) => table.len(txn),
            Self::Multi(table) => table.len(txn),
            Self::Expiring(_, table) => table.len(txn),
        }
    }

    pub(super) fn insert_many(
        &self,
        txn: &mut WriteTxn,
        records: &[(&[u8], &[u8])],
    ) -> Result<u64> {
        match self {
            Self::Plain(table) => table.insert_many(txn, records),
            Self::Multi(table) => table.insert_many(txn, records),
            Self::Expiring(..) => {
                let put = |(key, value): &(&[u8], &[u8])| self.put(txn, key, value);
                records.iter().try_for_each(put)?;
                Ok(records.len() as u64)
            }
        }
    }

    /// Inserts a record unless the table cannot hold it; such a record is missing from the count.
    pub(super) fn put(&self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
        let inserted = match self {
            Self::Plain(table) => table.insert(txn, key, value),
            Self::Multi(table) => table.insert(txn, key, value).map(drop),
            // A record without a stamp is lost.
            Self::Expiring(copy, _) => copy.insert(txn, key, value).map(drop),
        };
        match inserted {
            Err(error) if is_impossible(&error) => Ok(()),
            inserted => inserted,
        }
    }
}

/// Whether no table can hold such a record.
pub(super) fn is_impossible(error: &Error) -> bool {
    matches!(
        error,
        Error::KeyTooLong { .. } | Error::ValueTooLong { .. } | Error::InvalidArgument(_)
    )
}
