//! Removing and repairing databases.

use crate::{
    comparator::KeyComparator,
    directory::{open_tables, write_current},
    failure::{Failure, Result},
    files::{DAMAGED, DATA, SAVED, data_files, leveldb_files},
    lock_file::LockFile,
};
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use teak::{Comparison, Create, KeyOrder, Options};

/// Removes a database, and its directory if that is empty then. Files with other names stay. It is
/// no error if there is no directory.
pub(crate) fn destroy(directory: &Path) -> Result<()> {
    if fs::read_dir(directory).is_err() {
        return Ok(());
    }
    let lock = LockFile::take(&directory.join("LOCK"), false)?;
    let mut result = Ok(());
    let mut remove = |path: PathBuf| {
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
            && result.is_ok()
        {
            result = Err(Failure::file(&path)(error));
        }
    };
    for path in leveldb_files(directory)
        .into_iter()
        .chain(data_files(directory))
    {
        remove(path);
    }
    remove(directory.join("CURRENT"));
    drop(lock);
    // Only an empty directory can be removed.
    let _ = fs::remove_file(directory.join("LOCK"));
    let _ = fs::remove_dir(directory);
    result
}

/// Repairs a database: if a page is damaged, what can be read is saved to a new file, which takes
/// the place of the damaged one. That one is kept as `data.teak.damaged`.
pub(crate) fn repair(directory: &Path, comparator: KeyComparator) -> Result<()> {
    // It creates nothing if there is nothing to repair.
    fs::read_dir(directory).map_err(Failure::file(directory))?;
    let _lock = LockFile::take(&directory.join("LOCK"), false)?;
    let (data, saved) = (directory.join(DATA), directory.join(SAVED));
    if !data.exists() {
        let text = format!(
            "{}: has no {DATA}; a directory of LevelDB is repaired by LevelDB itself",
            directory.display()
        );
        return Err(Failure::invalid_argument(text));
    }
    let name = comparator.name().to_vec();
    let id = directory.canonicalize().map_err(Failure::file(directory))?;
    let order = comparator.order(&id);
    let options = || match order {
        KeyOrder::Custom(comparison) => Options::new().comparison(comparison),
        _ => Options::new(),
    };
    let checked = options()
        .create(Create::Never)
        .open(&data)
        .and_then(|database| database.check(&mut |_| ControlFlow::Continue(())));
    if !checked.is_ok_and(|report| report.is_clean()) {
        let _ = fs::remove_file(&saved);
        let comparisons: Vec<&'static Comparison> = match order {
            KeyOrder::Custom(comparison) => vec![comparison],
            _ => Vec::new(),
        };
        teak::salvage(&data, &saved, &comparisons, &mut |_| {
            ControlFlow::Continue(())
        })?;
        // A file without the tables of the library is no repaired database.
        let database = options().create(Create::Never).open(&saved)?;
        open_tables(&database, &name, order)?;
        database.close()?;
        // The damaged file has its name until the repaired one gets it.
        let damaged = directory.join(DAMAGED);
        let _ = fs::remove_file(&damaged);
        fs::hard_link(&data, &damaged).map_err(Failure::file(&damaged))?;
        fs::rename(&saved, &data).map_err(Failure::file(&saved))?;
    }
    write_current(directory)
}
