//! Reading without a lock file, for a database whose lock file cannot be created or written: on a
//! read-only medium, in another user's directory, or on a full disk.
//!
//! The reader holds a shared lock on the database file. The first process that opens the database
//! for writing briefly needs an exclusive lock. It is refused while the reader stays, so nothing
//! changes under the reader. Only processes that had the database open before can write. The lock
//! file shows whether there are any, if it can be read:
//!
//! - By default the reader is refused in that case, with the error of the lock file.
//! - With [`Sharing::Unlocked`](crate::Sharing::Unlocked) it reads concurrently. Writers do
//!   not know what it reads, and may reuse its pages after two more commits. Each page is therefore
//!   compared with its checksum at each read. If it differs and there is a newer commit, the state
//!   is lost. Each read transaction begins with the newest record in the file.

use crate::{
    Error, Result,
    error::is_full,
    io::{Access, Create, FileSharing, FileStorage, LockFile, Storage, boot_id},
    read::{snapshot::Snapshot, verified_bitmap::Verification},
    record::{Record, SLOT_COUNT},
};
use crate::{
    instance::{
        engine::Engine,
        policies::{OpenRequest, Settings, Sharing},
    },
    io::file_reads,
    open::open_file::retry_while_in_use,
    read::published::foreign_snapshot,
    share::names::lock_path,
};
use std::{io::ErrorKind, path::Path, sync::Arc};

/// Whether a database may be read without a lock file if opening or creating one failed with this
/// error.
pub(crate) fn is_reason(error: &Error) -> bool {
    let kinds = [ErrorKind::ReadOnlyFilesystem, ErrorKind::PermissionDenied];
    matches!(error, Error::Io { cause, .. } if kinds.contains(&cause.kind()) || is_full(cause))
}

impl Engine {
    /// Opens a database for reading without a lock file. `failed` is the reason why none can be
    /// used; `None` if the caller asked for it.
    pub(crate) fn open_unlocked(
        path: &Path,
        mut settings: Settings,
        failed: Option<Error>,
    ) -> Result<Self> {
        let access = Access::ReadOnly;
        let opened = || FileStorage::open(path, access, Create::Never, FileSharing::Shared, 0);
        let storage = retry_while_in_use(opened)?.0;
        // Checked after the file was locked: a process that comes later finds the lock.
        let lock_path = lock_path(path, settings.lock_file.as_deref());
        let has_other_users = lock_path.is_ok_and(|lock_path| LockFile::is_used(&lock_path));
        match failed {
            Some(Error::Io { cause, .. })
                if has_other_users && cause.kind() == ErrorKind::ReadOnlyFilesystem =>
            {
                return Err(Error::InUse(path.to_path_buf()));
            }
            Some(failed) if has_other_users => return Err(failed),
            _ => {}
        }
        if has_other_users {
            settings.verification = Verification::Always;
        }
        storage.set_read_ahead(settings.read_ahead);
        let storage: Arc<dyn Storage> = Arc::new(storage);
        let request = OpenRequest {
            path: path.to_path_buf(),
            is_new: false,
            formatted: None,
            is_read_only: true,
            settings,
            boot: boot_id(),
            log_location: None,
        };
        let mut engine = Self::recover_alone(request, storage)?;
        engine.readers.has_unknown_writers = has_other_users;
        Ok(engine)
    }

    /// Makes the newest commit in the file visible to readers. Another process has made it that
    /// does not know of this one.
    #[cold]
    pub(crate) fn refresh_from_file(&self) -> Result<()> {
        let known = self.committer.published.newest_here();
        let mut refused = None;
        while let Some(record) = self.newest_record(&known)?
            && record.sequence > known.record.sequence
        {
            let sequence = record.sequence;
            match foreign_snapshot(&*self.file.storage, record, &known) {
                Ok(newest) => {
                    self.committer.published.publish(Arc::new(newest));
                    break;
                }
                Err(error) if refused == Some(sequence) => return Err(error),
                // A newer commit may have made the file shorter meanwhile.
                Err(_) => refused = Some(sequence),
            }
        }
        Ok(())
    }

    /// Translates an error for a reader of `snapshot`: a reused page is a lost snapshot and not
    /// damage.
    #[cold]
    pub(crate) fn lost_or(&self, error: Error, snapshot: &Snapshot) -> Error {
        if self.readers.has_unknown_writers
            && matches!(error, Error::Corrupted { .. })
            && let Ok(Some(newest)) = self.newest_record(snapshot)
            && newest.sequence > snapshot.record.sequence
        {
            return Error::SnapshotLost;
        }
        error
    }

    fn newest_record(&self, known: &Snapshot) -> Result<Option<Record>> {
        let mapping = (self.file.storage.mapping()).map_err(Error::io("mapping the file"))?;
        let mut bytes = vec![0; self.file.page_size];
        let mut newest: Option<Record> = None;
        for slot in 0..SLOT_COUNT {
            let offset = u64::from(slot) * self.file.page_size as u64;
            if file_reads::copy(&mapping, offset, &mut bytes)?
                && let Ok(record) = Record::decode(&mapping.opened_record(bytes.clone()), slot)
                && record.database_id == known.record.database_id
                && newest
                    .as_ref()
                    .is_none_or(|newest| newest.sequence < record.sequence)
            {
                newest = Some(record);
            }
        }
        Ok(newest)
    }
}

/// Refuses to write without a lock file.
pub(crate) fn refuse_writing(access: Access, sharing: Sharing) -> Result<()> {
    if access == Access::ReadWrite && sharing == Sharing::Unlocked {
        let text = "a database is only read without a lock file; open it for reading, or, if nobody else uses it, by \
                    `Sharing::Alone`";
        return Err(Error::InvalidArgument(text.into()));
    }
    Ok(())
}
