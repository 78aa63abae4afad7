//! Copying expiring tables record by record: to dense backups, and out of damaged databases.

use super::open_expiring;
use crate::{
    Error, Result, TableOptions,
    api::{
        Table, TableInfo, Transaction, WriteTxn, codec::Raw, kind::Expiring, sealed::Sealed as _,
        transaction::read::ReadTxn,
    },
    page::stamp::{ExpirySettings, Stamp},
    types::TypeNames,
    write::{
        expiring::{ExpiringNames, Put, PutCondition, PutExpiry},
        transaction::not_found,
    },
};

/// An expiring table that records are copied to, with their stamps.
#[derive(Debug)]
pub(in crate::api) struct ExpiringCopy {
    names: ExpiringNames,
}

impl ExpiringCopy {
    /// Creates the table with the settings of the one that is copied.
    pub(in crate::api) fn create(
        txn: &mut WriteTxn,
        name: &[u8],
        options: TableOptions,
        types: TypeNames<'_>,
        settings: &ExpirySettings,
    ) -> Result<Self> {
        txn.create_expiring(name, options, types, settings)?;
        let names = ExpiringNames::new(txn.engine(), name);
        Ok(Self { names })
    }

    /// A table that exists.
    pub(in crate::api) fn of<T: Transaction>(txn: &T, name: &[u8]) -> Self {
        let names = ExpiringNames::new(txn.engine(), name);
        Self { names }
    }

    /// Inserts a record with its stamp. Returns `false` if it has no stamp.
    pub(in crate::api) fn insert(
        &self,
        txn: &mut WriteTxn,
        key: &[u8],
        stored: &[u8],
    ) -> Result<bool> {
        let Ok((stamp, value)) = Stamp::split(stored) else {
            return Ok(false);
        };
        let put = Put {
            condition: PutCondition::Always,
            expires: PutExpiry::Stamped(stamp),
        };
        txn.whole_mut()?
            .put_expiring(&self.names, (key, value), put)?;
        Ok(true)
    }
}

/// Is called with each record that is copied, and can end the copy.
type ReportRecord<'r> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'r;

/// Copies an expiring table with its settings to another database. `report` gets each record.
pub(in crate::api) fn copy_stored(
    source: &ReadTxn,
    target: &mut WriteTxn,
    info: &TableInfo,
    report: &mut ReportRecord<'_>,
) -> Result<()> {
    let settings = open_expiring::<Raw, Raw>(source, &info.name)?.settings(source)?;
    let types = info.types.names();
    let copy = ExpiringCopy::create(target, &info.name, info.options, types, &settings)?;
    for record in stored_table(source, &info.name)?.iter(source)? {
        let (key, stored) = record?;
        report(&key, stored)?;
        if !copy.insert(target, &key, stored)? {
            let text = "a value of an expiring table has no stamp; salvage the database";
            let root = *source
                .root_of(source.engine().handle(&info.name), &info.name)?
                .ok_or_else(|| not_found(&info.name))?;
            return Err(Error::corrupted(root.page, "backup", text));
        }
    }
    Ok(())
}

/// A table of stored values, to be copied.
pub(in crate::api) fn stored_table(
    txn: &ReadTxn,
    name: &[u8],
) -> Result<Table<Raw, Raw, Expiring>> {
    crate::api::open_table::open_table(txn, name)
}
