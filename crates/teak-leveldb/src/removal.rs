//! Removing and repairing databases.

use crate::{
    comparator::KeyComparator,
    directory::{create_for_repair, open_tables, with_key, write_current},
    failure::{Failure, Kind, Result},
    files::{DAMAGED, DATA, SAVED, data_files, leveldb_files},
    lock_file::LockFile,
};
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use teak::{Create, Database, Deletion, KeyOrder, Options, Sharing, Transaction as _};

/// Removes a database, and its directory if that is empty then. Files with other names stay. It is
/// no error if there is no directory. Nothing is removed while any program has `data.teak` open.
pub(crate) fn destroy(directory: &Path) -> Result<()> {
    if fs::read_dir(directory).is_err() {
        return Ok(());
    }
    let lock = LockFile::take(&directory.join("LOCK"))?;
    delete_data(&directory.join(DATA))?;
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

/// Removes a file of records, unless it is in use: programs of Teak do not take `LOCK`. A file that
/// is no database is left to the caller.
fn delete_data(data: &Path) -> Result<()> {
    match teak::delete(data, Deletion::IfUnused) {
        Err(teak::Error::NotADatabase { .. }) => Ok(()),
        deleted => Ok(deleted.map(drop)?),
    }
}

/// Repairs a database: if a page is damaged, what can be read is saved to a new file, which takes
/// the place of the damaged one. That one is kept as `data.teak.damaged`. As in LevelDB, an empty
/// directory becomes an empty database. A file that another program has open is left unchanged.
pub(crate) fn repair(directory: &Path, comparator: KeyComparator) -> Result<()> {
    fs::read_dir(directory).map_err(Failure::file(directory))?;
    let _lock = LockFile::take(&directory.join("LOCK"))?;
    if !directory.join(DATA).exists() {
        return create_for_repair(directory, comparator);
    }
    let name = comparator.name().to_vec();
    let id = directory.canonicalize().map_err(Failure::file(directory))?;
    let order = comparator.order(&id);
    if !is_sound(directory, order)? {
        replace_damaged(directory, &name, order)?;
    }
    write_current(directory)
}

fn is_sound(directory: &Path, order: KeyOrder) -> Result<bool> {
    let Some(database) = open_alone(&directory.join(DATA), order)? else {
        return Ok(false);
    };
    let checked = database.check(&mut |_| ControlFlow::Continue(()));
    Ok(checked.is_ok_and(|report| report.is_clean()))
}

/// Opens a file so that no other program can use it. `None` if it is too damaged for that.
fn open_alone(data: &Path, order: KeyOrder) -> Result<Option<Database>> {
    match options(order)?.sharing(Sharing::Alone).open(data) {
        Ok(database) => Ok(Some(database)),
        Err(error @ teak::Error::InUse(_)) => Err(error.into()),
        // This process has it open in another way.
        Err(teak::Error::OptionsDiffer { .. }) => {
            Err(teak::Error::InUse(data.to_path_buf()).into())
        }
        Err(_) => Ok(None),
    }
}

fn options(order: KeyOrder) -> Result<Options> {
    let options = with_key(Options::new().create(Create::Never))?;
    Ok(match order {
        KeyOrder::Custom(comparison) => options.comparison(comparison),
        _ => options,
    })
}

/// Replaces a damaged file by one with its readable part.
fn replace_damaged(directory: &Path, comparator: &[u8], order: KeyOrder) -> Result<()> {
    let [data, saved, damaged] = [DATA, SAVED, DAMAGED].map(|name| directory.join(name));
    let _ = fs::remove_file(&saved);
    let go_on = &mut |_| ControlFlow::Continue(());
    let report = options(order)?.salvage(&data, &saved, go_on)?;
    // A file without the tables of the library is no repaired database.
    let database = options(order)?.sharing(Sharing::Alone).open(&saved)?;
    open_tables(&database, comparator, order)?;
    database.close()?;
    // No program can begin to use the damaged file while the other one gets its name.
    let held = open_alone(&data, order)?;
    if let Some(database) = &held
        && database.begin_read()?.id() != report.transaction
    {
        let _ = fs::remove_file(&saved);
        let text = format!("{}: was written to during the repair", data.display());
        return Err(Failure::new(Kind::Io, text));
    }
    // The damaged file has its name until the repaired one gets it.
    let _ = fs::remove_file(&damaged);
    fs::hard_link(&data, &damaged).map_err(Failure::file(&damaged))?;
    fs::rename(&saved, &data).map_err(Failure::file(&saved))
}
