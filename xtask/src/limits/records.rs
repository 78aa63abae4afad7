//! The records that a database should hold.

use crate::{
    Context, Result,
    campaign::database::{self, expect_clean},
};
use std::{collections::BTreeMap, path::Path};
use teak::{Database, codec::Raw};

/// The only table.
pub(super) const TABLE: &str = "main";

/// The records of the table.
pub(super) type ExpectedRecords = BTreeMap<Vec<u8>, Vec<u8>>;

pub(super) fn make(path: &Path, records: &ExpectedRecords) -> Result {
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<Raw, Raw>(TABLE)?;
    for (key, value) in records {
        table.insert(&mut txn, key, value)?;
    }
    txn.commit()?;
    database.close()?;
    Ok(())
}

/// All records of a database that must have no damage.
pub(super) fn read(path: &Path) -> Result<ExpectedRecords> {
    let database =
        Database::open(path).context(format_args!("{} cannot be opened", path.display()))?;
    expect_clean(&database).context(path.display())?;
    let records = database::records(&database.begin_read()?, TABLE)?;
    database.close()?;
    Ok(records.into_iter().collect())
}

/// After a successful run, the records must be `after`. After a failed run, each record must be as
/// in `before` or as in `after`.
pub(super) fn compare(
    found: &ExpectedRecords,
    before: &ExpectedRecords,
    after: &ExpectedRecords,
    is_success: bool,
) -> Result {
    if is_success {
        ensure!(found == after, "it succeeded without its effect");
        return Ok(());
    }
    let keys = found.keys().chain(before.keys()).chain(after.keys());
    for key in keys {
        let value = found.get(key);
        if value != before.get(key) && value != after.get(key) {
            bail!("the record of key {key:02x?} has a wrong value or is lost");
        }
    }
    Ok(())
}
