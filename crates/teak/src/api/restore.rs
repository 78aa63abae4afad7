//! A database from its backups.

use super::{
    CheckReport, Options,
    backup::{name, new_place},
};
use crate::{Error, Result, txn::delta::Delta};
use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
    path::Path,
};

/// Makes a database from an exact copy and incremental backups in the order in which they were made, and checks every page of it, from
/// the root in its commit record on. The file gets its name when it is whole, without damage, and on the disk. See
/// [`ReadTxn::write_backup_since`](crate::ReadTxn::write_backup_since).
///
/// ```
/// # use teak::Database;
/// # use std::{fs::File, ops::ControlFlow};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let copy = directory.path().join("copy.teak");
/// # database.backup(&copy, &mut |_| ControlFlow::Continue(()))?;
/// let target = directory.path().join("restored.teak");
/// let report = teak::restore(&mut File::open(&copy)?, &mut [], &target)?;
/// assert!(report.is_clean() && target.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::AlreadyExists`] if there is something at `target`; [`Error::InvalidArgument`] for an increment that is not whole, that is
/// of another database, or that leads from a state behind that of the copy; [`Error::NotADatabase`], [`Error::Io`];
/// [`Error::Corrupted`] if anything in the backups is damaged.
pub fn restore(
    full: &mut dyn Read,
    increments: &mut [&mut dyn Read],
    target: impl AsRef<Path>,
) -> Result<CheckReport> {
    let target = target.as_ref();
    let place = new_place(target)?;
    let path = place.path().join("copy");
    let mut file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(Error::io("creating the database"))?;
    io::copy(full, &mut file).map_err(Error::io("copying the backup"))?;
    for increment in increments {
        apply(*increment, &path, &file)?;
    }
    file.sync_all()
        .map_err(Error::io("flushing the database"))?;
    let database = Options::new().read_only(true).open(&path)?;
    let report = database.check(&mut |_| {})?;
    if let Some(damage) = report.damages.first() {
        let page = damage.page.unwrap_or_default();
        return Err(Error::corrupted(
            page,
            "restoring a backup",
            damage.detail.clone(),
        ));
    }
    drop(database);
    name(&path, target)?;
    Ok(report)
}

/// Writes the pages of an increment into the copy.
fn apply(increment: &mut dyn Read, path: &Path, file: &File) -> Result<()> {
    let delta = Delta::open(increment)?;
    let head = delta.head;
    {
        let copy = Options::new().read_only(true).open(path)?;
        let state = copy.begin_read()?;
        let record = state.snapshot().record();
        let is_next = record.database_id == head.database_id
            && record.page_size == head.page_size
            && (head.since..=head.transaction).contains(&record.transaction)
            && head.continues(state.snapshot())?;
        if !is_next {
            let text = format!(
                "the increment leads from transaction {} to {}, and the copy so far is of transaction {}: it is of another \
                 database or history, or one before it is missing, or they are in another order",
                head.since, head.transaction, record.transaction
            );
            return Err(Error::InvalidArgument(text));
        }
    }
    let page_size = u64::from(head.page_size);
    delta.apply(|first, pages| {
        let written = file.write_all_at(pages, u64::from(first.0) * page_size);
        written.map_err(Error::io("writing the database"))
    })?;
    file.set_len(head.page_count * page_size)
        .map_err(Error::io("writing the database"))
}
