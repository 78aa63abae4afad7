//! Restoring a database from its backups.

use super::{
    CheckProgress, CheckReport, Options, backup::name, permissions::restrict,
    unfinished_file::UnfinishedFile,
};
use crate::{
    Error, Result,
    admin::{
        backup::{READING_BACKUP, hole_len},
        copy_length::{CopyLength, HEAD_LEN},
        delta::Delta,
    },
    instance::policies::EncryptionSettings,
    io::{FileAt, file_reads, punch, refuse_file_len},
};
use std::{
    fs::{File, Metadata},
    io::{self, Read},
    ops::ControlFlow,
    path::Path,
};

/// Bytes of the copy that are read at a time.
const CHUNK_LEN: usize = 1 << 20;

/// Progress of [`restore`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RestoreProgress {
    /// Bytes of the copy and the increments written so far.
    pub bytes: u64,
    /// Progress of the check, once everything is written.
    pub check: Option<CheckProgress>,
}

/// Restores a database from an exact copy and its incremental backups, in the order in which they
/// were made, and checks every page from the root in the commit record on. Long ranges of zeros
/// become holes. The file is renamed to `target` when it is complete, undamaged, and on disk. See
/// [`ReadTxn::write_backup`](crate::ReadTxn::write_backup). If `progress` breaks, the restore ends
/// with an error and leaves nothing.
///
/// `permissions_of` describes the files that the backups are read from. The database has no more
/// permissions than any of them, and the owner of the first, if the process may set it. If it is
/// empty, the database has the permissions of a new file.
///
/// ```
/// # use teak::Database;
/// # use std::{fs::File, ops::ControlFlow};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let copy = directory.path().join("copy.teak");
/// # database.backup(&copy, None, &mut |_| ControlFlow::Continue(()))?;
/// let mut copy = File::open(copy)?;
/// let permissions_of = [copy.metadata()?];
/// let target = directory.path().join("restored.teak");
/// let go_on = &mut |_| ControlFlow::Continue(());
/// let report = teak::restore(&mut copy, &mut [], &permissions_of, &target, go_on)?;
/// assert!(report.is_clean() && target.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::AlreadyExists`] if `target` exists; [`Error::InvalidArgument`] if the copy is shorter
/// or longer than its records say, or if an increment is incomplete, belongs to another database,
/// or starts from a state after that of the copy; [`Error::NotADatabase`] if the copy does not
/// begin like a database, in which case no more of it is read; [`Error::Io`]; [`Error::Cancelled`]
/// if `progress` breaks; [`Error::Corrupted`] if anything in the backups is damaged.
pub fn restore(
    full: &mut dyn Read,
    increments: &mut [&mut dyn Read],
    permissions_of: &[Metadata],
    target: impl AsRef<Path>,
    progress: &mut dyn FnMut(RestoreProgress) -> ControlFlow<()>,
) -> Result<CheckReport> {
    Options::new().restore(full, increments, permissions_of, target, progress)
}

impl Options {
    /// Like [`restore`](crate::restore()), for backups of an encrypted database. Of the options
    /// only the key and custom orders matter.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`]; any error of [`restore`](crate::restore()).
    pub fn restore(
        &self,
        full: &mut dyn Read,
        increments: &mut [&mut dyn Read],
        permissions_of: &[Metadata],
        target: impl AsRef<Path>,
        progress: &mut dyn FnMut(RestoreProgress) -> ControlFlow<()>,
    ) -> Result<CheckReport> {
        let target = target.as_ref();
        let restored = self.restore_at(permissions_of, full, increments, target, progress);
        restored.map_err(|error| match error {
            // It is not known here which of them failed.
            Error::Io {
                operation: READING_BACKUP,
                ..
            } => error,
            other => other.at(target),
        })
    }

    fn restore_at(
        &self,
        permissions_of: &[Metadata],
        full: &mut dyn Read,
        increments: &mut [&mut dyn Read],
        target: &Path,
        progress: &mut dyn FnMut(RestoreProgress) -> ControlFlow<()>,
    ) -> Result<CheckReport> {
        let unfinished = UnfinishedFile::new(target)?;
        let path = unfinished.path();
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(Error::io("creating the database"))?;
        let reading = self.clone().read_only(true);
        let mut done = RestoreProgress {
            bytes: 0,
            check: None,
        };
        let mut report = |written: usize| {
            done.bytes += written as u64;
            match progress(done) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(ended()),
            }
        };
        copy(full, &file, self.encryption(), &mut report)?;
        for increment in increments {
            apply(*increment, &path, &file, &reading, &mut report)?;
        }
        file.sync_all()
            .map_err(Error::io("flushing the database"))?;
        let database = reading.open(&path)?;
        let checked = database.check(&mut |check| {
            done.check = Some(check);
            progress(done)
        });
        let report = checked.map_err(|error| match error {
            Error::Cancelled { .. } => ended(),
            other => other,
        })?;
        if let Some(damage) = report.damages.first() {
            let page = damage.page.unwrap_or_default();
            return Err(Error::corrupted(
                page,
                "restoring a backup",
                damage.detail.clone(),
            ));
        }
        drop(database);
        restrict(&path, permissions_of)?;
        name(&path, target)?;
        Ok(report)
    }
}

fn ended() -> Error {
    Error::cancelled("restoring the backup")
}

/// Receives the number of bytes written since the last call, and can end the restore with an error.
type ReportProgress<'t> = dyn FnMut(usize) -> Result<()> + 't;

/// Writes the copy, up to the length in its records.
fn copy(
    full: &mut dyn Read,
    file: &File,
    encryption: Option<&EncryptionSettings>,
    report: &mut ReportProgress<'_>,
) -> Result<()> {
    let mut chunk = Vec::new();
    read(full, HEAD_LEN as u64, &mut chunk)?;
    let extent = CopyLength::of(&chunk, Path::new("the copy"), encryption)?;
    let mut len_bytes = 0;
    while !chunk.is_empty() {
        let room = extent.len_bytes_max - len_bytes;
        if chunk.len() as u64 > room {
            return Err(too_long());
        }
        write(&chunk, extent.hole_len, len_bytes, file)?;
        len_bytes += chunk.len() as u64;
        report(chunk.len())?;
        // One more byte shows whether the copy is longer.
        let wanted = (room - chunk.len() as u64 + 1).min(CHUNK_LEN as u64);
        chunk.clear();
        read(full, wanted, &mut chunk)?;
    }
    if len_bytes < extent.len_bytes {
        let text = format!(
            "the copy has {len_bytes} bytes, and its records say {}: it was cut short; copy it again",
            extent.len_bytes
        );
        return Err(Error::InvalidArgument(text));
    }
    refuse_file_len(extent.len_bytes)
        .and_then(|()| file.set_len(extent.len_bytes))
        .map_err(Error::io("writing the database"))
}

fn too_long() -> Error {
    let text = "the copy continues past the end that its records state; pass one copy, and its increments one by one";
    Error::InvalidArgument(text.into())
}

/// Reads the next bytes; fewer only at the end.
fn read(source: &mut dyn Read, len: u64, chunk: &mut Vec<u8>) -> Result<()> {
    let read = source.take(len).read_to_end(chunk);
    read.map(drop).map_err(Error::io(READING_BACKUP))
}

/// Writes the parts that are not zeros.
fn write(chunk: &[u8], hole_len: usize, offset: u64, file: &File) -> Result<()> {
    for part in file_reads::parts_with_data(chunk, hole_len) {
        refuse_file_len(offset + part.end as u64)
            .and_then(|()| file.write_all_at(&chunk[part.clone()], offset + part.start as u64))
            .map_err(Error::io("writing the database"))?;
    }
    Ok(())
}

/// Writes pages over others. Of a compressed database, zeros become holes.
fn overwrite(pages: &[u8], is_compressed: bool, offset: u64, file: &File) -> io::Result<()> {
    refuse_file_len(offset + pages.len() as u64)?;
    file.write_all_at(pages, offset)?;
    if !is_compressed {
        return Ok(());
    }
    let mut zeros_start = 0;
    let end = pages.len()..pages.len();
    for part in file_reads::parts_with_data(pages, hole_len(1))
        .into_iter()
        .chain([end])
    {
        let zeros = offset + zeros_start as u64..offset + part.start as u64;
        // Without holes the file is as right, and longer on the disk.
        if !zeros.is_empty() && !matches!(punch(file, zeros), Ok(true)) {
            break;
        }
        zeros_start = part.end;
    }
    Ok(())
}

/// Writes the pages of an increment into the copy.
fn apply(
    increment: &mut dyn Read,
    path: &Path,
    file: &File,
    reading: &Options,
    report: &mut ReportProgress<'_>,
) -> Result<()> {
    let delta = Delta::open(increment)?;
    let head = delta.head;
    let is_compressed = {
        let copy = reading.clone().open(path)?;
        let state = copy.begin_read()?;
        let snapshot = state.snapshot()?;
        let record = snapshot.record();
        let is_next = record.database_id == head.database_id
            && record.page_size == head.page_size
            && (head.since..=head.transaction).contains(&record.transaction)
            && head.continues(snapshot)?;
        if !is_next {
            let text = format!(
                "the increment leads from transaction {} to {}, and the copy so far is of transaction {}: it is of another \
                 database or history, or one before it is missing, or they are in another order",
                head.since, head.transaction, record.transaction
            );
            return Err(Error::InvalidArgument(text));
        }
        record.compression != 0
    };
    let page_size = u64::from(head.page_size);
    delta.apply(|first, pages| {
        let at = u64::from(first.0) * page_size;
        overwrite(pages, is_compressed, at, file).map_err(Error::io("writing the database"))?;
        report(pages.len())
    })?;
    let len = head.page_count * page_size;
    refuse_file_len(len)
        .and_then(|()| file.set_len(len))
        .map_err(Error::io("writing the database"))
}
