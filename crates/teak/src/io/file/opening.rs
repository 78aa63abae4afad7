//! Opening a database file: which files may be opened, and which processes may have one open at the
//! same time.

use super::{
    access::{Create, Created, Lifetime},
    creation::{Unnamed, directory_of},
    file_storage::FileStorage,
    name::Name,
};
use crate::{
    Error, Result,
    io::{
        locked::LockedFile,
        sys::{self, Access, FileKind, FileSharing, Links, id_of},
    },
};
use std::{
    fs::{self, File, Metadata, TryLockError},
    io::{self, ErrorKind, Read},
    path::Path,
};

impl FileStorage {
    /// Opens the file at `path` and locks it. A created file has permissions `mode`, before the
    /// umask is applied.
    ///
    /// A created file has no name until the caller has filled and flushed it, so that a crash
    /// leaves no incomplete database. If another process creates the file meanwhile, that flush
    /// fails with `AlreadyExists`.
    ///
    /// # Errors
    ///
    /// - `NotFound` and `AlreadyExists`, depending on `create`.
    /// - `InUse` if another process has it open.
    /// - `NotADatabase` if it is not a regular file.
    /// - `Io` for other errors.
    pub(crate) fn open(
        path: &Path,
        access: Access,
        create: Create,
        file_sharing: FileSharing,
        mode: u32,
    ) -> Result<(Self, Created)> {
        match (create, access) {
            (Create::Never, _) | (Create::IfMissing, Access::ReadOnly) => Ok((
                Self::open_existing(path, access, file_sharing)?,
                Created::No,
            )),
            (Create::New, Access::ReadOnly) => Err(Error::InvalidArgument(
                "a database cannot be created read-only; create it for writing".into(),
            )),
            (Create::New, Access::ReadWrite) => match fs::symlink_metadata(path) {
                Ok(_) => Err(Error::AlreadyExists(path.into())),
                Err(_) => Ok((Self::begin(path, mode)?, Created::Yes)),
            },
            (Create::IfMissing, Access::ReadWrite) => {
                match Self::open_existing(path, access, file_sharing) {
                    Err(Error::NotFound(_)) => Ok((Self::begin(path, mode)?, Created::Yes)),
                    other => Ok((other?, Created::No)),
                }
            }
        }
    }

    fn open_existing(path: &Path, access: Access, file_sharing: FileSharing) -> Result<Self> {
        let file = open_locked(path, access, file_sharing)?;
        Self::new(file, Name::new(path), access, None, Lifetime::Kept)
            .map_err(Error::io("reading the length of the database file"))
    }

    fn begin(path: &Path, mode: u32) -> Result<Self> {
        let (file, unnamed) = Unnamed::begin(path, mode)?;
        // Locked before it has a name, so that no process opens it in between.
        let file = lock_file(path, file, Access::ReadWrite, FileSharing::Exclusive)?;
        let (name, access) = (Name::new(path), Access::ReadWrite);
        Self::new(file, name, access, Some(unnamed), Lifetime::Kept)
            .map_err(Error::io("reading the length of the new database file"))
    }
}

/// The first `len` bytes of a file, or fewer if it is shorter, and the length of the file.
/// Processes that have it open are not disturbed.
///
/// # Errors
///
/// - `NotFound` if there is no file.
/// - `NotADatabase` if it is not a regular file.
/// - `Io` for other errors.
pub(crate) fn read_head(path: &Path, len: usize) -> Result<(Vec<u8>, u64)> {
    let reading = "reading the beginning of the database file";
    let file = open_regular(path, Access::ReadOnly)?;
    let file_bytes = file.metadata().map_err(Error::io(reading))?.len();
    let mut head = Vec::new();
    let mut beginning = file.take(len as u64);
    beginning
        .read_to_end(&mut head)
        .map_err(Error::io(reading))?;
    Ok((head, file_bytes))
}

/// Opens an existing file and locks it. The file that is returned had the name when it was locked.
fn open_locked(path: &Path, access: Access, file_sharing: FileSharing) -> Result<LockedFile> {
    loop {
        let file = lock_file(path, open_regular(path, access)?, access, file_sharing)?;
        // It may have been deleted before it was locked.
        let named = id_of(path, Links::Follow).map_err(|error| opening(path, error))?;
        if named == file.held().id() {
            return Ok(file);
        }
    }
}

/// Opens and locks an existing file, so that no other process has it open while the lock is held.
///
/// # Errors
///
/// - `NotFound` if there is no file.
/// - `InUse` if another process has it open.
/// - `NotADatabase` if it is not a regular file.
/// - `Io` for other errors.
pub(crate) fn lock_exclusively(path: &Path) -> Result<ExclusiveLock> {
    open_locked(path, Access::ReadOnly, FileSharing::Exclusive).map(ExclusiveLock)
}

/// The lock on a file that no other process may have open.
#[derive(Debug)]
pub(crate) struct ExclusiveLock(#[expect(dead_code, reason = "it is held")] LockedFile);

fn open_regular(path: &Path, access: Access) -> Result<File> {
    // Checked before opening: opening a device may have effects, and opening a pipe may block.
    refuse_irregular(
        path,
        &fs::metadata(path).map_err(|error| opening(path, error))?,
    )?;
    let opened = sys::open(path, access, Links::Follow);
    let file = opened.map_err(|error| opening(path, error))?;
    refuse_irregular(
        path,
        &file
            .metadata()
            .map_err(Error::io("reading the attributes of the database file"))?,
    )?;
    Ok(file)
}

fn opening(path: &Path, source: io::Error) -> Error {
    match source.kind() {
        ErrorKind::NotFound => Error::NotFound(path.into()),
        _ => Error::io("opening the database file")(source).at(path),
    }
}

fn lock_file(
    path: &Path,
    file: File,
    access: Access,
    file_sharing: FileSharing,
) -> Result<LockedFile> {
    LockedFile::new(file, access, file_sharing).map_err(|error| match error {
        TryLockError::WouldBlock => Error::InUse(path.into()),
        TryLockError::Error(source) => Error::io("locking the database file")(source).at(path),
    })
}

/// Whether a file is, or would be created, on a network file system. Unknown cases count as local.
pub(crate) fn is_on_network(path: &Path) -> bool {
    sys::is_on_network(match path.exists() {
        true => path,
        false => directory_of(path),
    })
}

fn refuse_irregular(path: &Path, metadata: &Metadata) -> Result<()> {
    let reason = match sys::kind(metadata.file_type()) {
        FileKind::Regular => return Ok(()),
        FileKind::Directory => "it is a directory; name a file in it",
        FileKind::Device => "it is a device",
        FileKind::Link | FileKind::Pipe => "it is a pipe or a socket",
    };
    Err(Error::NotADatabase {
        path: path.into(),
        reason: reason.into(),
    })
}
