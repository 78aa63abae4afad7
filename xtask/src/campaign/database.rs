//! Checks of databases that several campaigns make.

use crate::Result;
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use teak::{Database, Error, Transaction, codec::Raw};

/// The records of a table.
pub(crate) type OwnedRecords = Vec<(Vec<u8>, Vec<u8>)>;

/// The path of the write-ahead log of a database.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_os_string();
    log.push("-wal");
    log.into()
}

/// Copies a database and its log, if they exist.
pub(crate) fn copy_with_log(from: &Path, to: &Path) -> Result {
    remove_with_log(to);
    for (from, to) in [(from, to), (&log_of(from), &log_of(to))] {
        if from.exists() {
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

/// Removes a database and its log, if they exist.
pub(crate) fn remove_with_log(path: &Path) {
    for file in [path, &log_of(path)] {
        let _ = fs::remove_file(file);
    }
}

/// Fails unless a check finds no damage.
pub(crate) fn expect_clean(database: &Database) -> Result {
    let damages = database.check(&mut |_| ControlFlow::Continue(()))?.damages;
    ensure!(damages.is_empty(), "check found damage: {damages:?}");
    Ok(())
}

/// The opened table; `None` if there is none.
pub(crate) fn existing<T>(opened: teak::Result<T>) -> teak::Result<Option<T>> {
    match opened {
        Err(Error::TableNotFound(_)) => Ok(None),
        opened => opened.map(Some),
    }
}

/// All records of a table; none if it does not exist.
pub(crate) fn records(txn: &impl Transaction, name: &str) -> teak::Result<OwnedRecords> {
    let Some(table) = existing(txn.open_table::<Raw, Raw>(name))? else {
        return Ok(OwnedRecords::new());
    };
    let records = table.iter(txn)?;
    records
        .map(|record| record.map(|(key, value)| (key, value.to_vec())))
        .collect()
}

/// Fails unless a table has exactly these records.
pub(crate) fn expect_records(
    txn: &impl Transaction,
    name: &str,
    expected: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
) -> Result {
    let table = txn.open_table::<Raw, Raw>(name)?;
    let mut found = table.iter(txn)?;
    let mut count = 0;
    for (key, value) in expected {
        let (key, value) = (key.as_ref(), value.as_ref());
        match found.next().transpose()? {
            Some(record) if record.0 == key && record.1 == value => count += 1,
            Some((found, _)) => bail!(
                "table {name}: \"{}\" where \"{}\" should be, or its value differs",
                found.escape_ascii(),
                key.escape_ascii()
            ),
            None => bail!("table {name} ends before \"{}\"", key.escape_ascii()),
        }
    }
    ensure!(
        found.next().is_none(),
        "table {name} has more than {count} records"
    );
    let counted = table.len(txn)?;
    ensure!(
        counted == count,
        "table {name} has {count} records, but counts {counted}"
    );
    Ok(())
}
