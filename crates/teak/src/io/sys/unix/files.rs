//! Open files, by calls that each Unix has.

use crate::io::sys::types::{
    Access, FileAttributes, FileId, FileKind, FilePermissions, FlushExtent, Links,
};
use rustix::{
    fs::{SeekFrom, seek},
    io::Errno,
};
use std::{
    fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions, Permissions},
    io::{self, IoSlice},
    os::unix::fs::{
        DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown,
    },
    path::Path,
};

/// Reading and writing at an offset.
pub(crate) use std::os::unix::fs::FileExt as FileAt;

/// The identity of what a path leads to, or of the link itself.
pub(crate) fn id_of(path: &Path, links: Links) -> io::Result<FileId> {
    let found = match links {
        Links::Follow => fs::metadata(path),
        Links::Refuse => fs::symlink_metadata(path),
    };
    found.map(|found| (found.dev(), found.ino()))
}

/// `None` if the descriptor is not open any more.
pub(crate) fn attributes(file: &File) -> io::Result<Option<FileAttributes>> {
    match rustix::fs::fstat(file) {
        #[allow(clippy::unnecessary_cast)] // The types differ between systems.
        Ok(found) => Ok(Some(FileAttributes {
            id: (found.st_dev as u64, found.st_ino as u64),
            len: found.st_size as u64,
            links: found.st_nlink as u32,
        })),
        Err(Errno::BADF) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn kind(file_type: FileType) -> FileKind {
    match file_type {
        kind if kind.is_file() => FileKind::Regular,
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_symlink() => FileKind::Link,
        kind if kind.is_fifo() || kind.is_socket() => FileKind::Pipe,
        _ => FileKind::Device,
    }
}

/// Opens an existing file. If it is a pipe, nothing waits for its other end.
pub(crate) fn open(path: &Path, access: Access, links: Links) -> io::Result<File> {
    let flags = match links {
        Links::Follow => 0,
        Links::Refuse => libc::O_NOFOLLOW,
    };
    open_with(path, access, flags)
}

pub(in crate::io::sys) fn open_with(path: &Path, access: Access, flags: i32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(access == Access::ReadWrite);
    options.custom_flags(libc::O_NONBLOCK | flags).open(path)
}

/// Removes the name of a file, which may be open.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Creates a file for reading and writing, with these permissions before the umask is applied.
pub(crate) fn create_new(path: &Path, bits: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    options.mode(bits).open(path)
}

/// The bytes that a file system has left for this user.
pub(crate) fn free_bytes(existing: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(existing).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Creates a directory that only this user can use.
pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Writes parts one after the other, or the first bytes of them. Returns the number of bytes.
pub(crate) fn write_at(file: &File, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    let len = rustix::io::pwritev(file, parts, offset)?;
    debug_assert!(
        len <= parts.iter().map(|part| part.len()).sum(),
        "the system writes no more than it was given"
    );
    Ok(len)
}

/// Returns when everything that was written to the file is on the disk.
pub(crate) fn flush(file: &File, extent: FlushExtent) -> io::Result<()> {
    match extent {
        FlushExtent::Data => file.sync_data(),
        FlushExtent::All => file.sync_all(),
    }
}

/// Makes a file shorter. `false` if that is not possible while the file is mapped.
pub(crate) fn truncate(file: &File, len: u64) -> io::Result<bool> {
    debug_assert!(
        i64::try_from(len).is_ok(),
        "no file is as long as that: it does not become longer here"
    );
    file.set_len(len).map(|()| true)
}

/// The first byte from `offset` on that was written; `None` if there is none.
pub(crate) fn next_data(file: &File, offset: u64) -> io::Result<Option<u64>> {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => {
            debug_assert!(data >= offset, "the next data is not before");
            Ok(Some(data))
        }
        Err(Errno::NXIO) => Ok(None),
        Err(error) if is_unknown(error) => Ok(Some(offset)),
        Err(error) => Err(error.into()),
    }
}

/// The end of the bytes from `offset` on that were written; `None` if the file system does not tell
/// holes from data.
pub(crate) fn next_hole(file: &File, offset: u64) -> io::Result<Option<u64>> {
    match seek(file, SeekFrom::Hole(offset)) {
        Ok(hole) => Ok(Some(hole)),
        Err(error) if is_unknown(error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether the file system does not tell holes from data: everything counts as written.
fn is_unknown(error: Errno) -> bool {
    [Errno::INVAL, Errno::NOTTY, Errno::OPNOTSUPP, Errno::NOTSUP].contains(&error)
}

pub(crate) fn permissions_of(found: &Metadata) -> FilePermissions {
    FilePermissions {
        bits: found.mode() & 0o777,
        owner: Some((found.uid(), found.gid())),
    }
}

/// Sets the owner as far as this process may, and the permissions if others are wanted.
pub(crate) fn set_permissions(file: &File, permissions: FilePermissions) -> io::Result<()> {
    if let Some((user, group)) = permissions.owner {
        // Only root can give files away, but a member of a group may set the group.
        let _ = fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group)));
    }
    debug_assert!(
        permissions.bits <= 0o777,
        "a file gets permissions, and no other mode"
    );
    match permissions_of(&file.metadata()?).bits == permissions.bits {
        true => Ok(()),
        false => file.set_permissions(Permissions::from_mode(permissions.bits)),
    }
}
