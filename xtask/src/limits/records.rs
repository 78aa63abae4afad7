//! The records that a database should hold.

use crate::Failure;
use std::{collections::BTreeMap, path::Path};
use teak::{Database, Transaction, codec::Bytes};

/// The only table.
pub(super) const TABLE: &str = "main";

/// The records of the table.
pub(super) type ExpectedRecords = BTreeMap<Vec<u8>, Vec<u8>>;

pub(super) fn make(path: &Path, records: &ExpectedRecords) -> Result<(), Failure> {
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<Bytes, Bytes>(TABLE)?;
    for (key, value) in records {
        table.insert(&mut txn, key, value)?;
    }
    txn.commit()?;
    database.close()?;
    Ok(())
}

/// All records of a database that must have no damage.
pub(super) fn read(path: &Path) -> Result<ExpectedRecords, Failure> {
    let database = Database::open(path)
        .map_err(|error| failure!("{} cannot be opened: {error}", path.display()))?;
    let report = database.check(&mut |_| {})?;
    if let Some(damage) = report.damages.first() {
        bail!("{} is damaged: {damage:?}", path.display());
    }
    let txn = database.begin_read()?;
    let table = txn.open_table::<Bytes, Bytes>(TABLE)?;
    let mut records = ExpectedRecords::new();
    for record in table.iter(&txn)? {
        let (key, value) = record?;
        records.insert(key.to_vec(), value.to_vec());
    }
    drop(txn);
    database.close()?;
    Ok(records)
}

/// After a successful run, the records must be `after`. After a failed run, each record must be as
/// in `before` or as in `after`.
pub(super) fn compare(
    found: &ExpectedRecords,
    before: &ExpectedRecords,
    after: &ExpectedRecords,
    is_success: bool,
) -> Result<(), String> {
    if is_success {
        return match found == after {
            true => Ok(()),
            false => Err("it succeeded without its effect".to_owned()),
        };
    }
    let keys = found.keys().chain(before.keys()).chain(after.keys());
    for key in keys {
        let value = found.get(key);
        if value != before.get(key) && value != after.get(key) {
            return Err(format!(
                "the record of key {key:02x?} has a wrong value or is lost"
            ));
        }
    }
    Ok(())
}
