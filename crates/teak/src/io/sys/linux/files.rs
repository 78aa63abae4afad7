//! Open files: what Linux can do with them beyond other systems.

use super::calls::{WriteFlag, write_with};
use crate::io::sys::{
    types::{Access, Allocate, FileAttributes, FileSystem, LockOwner, Overwrite},
    unix::{self, ByteLocks, Directory, LockCommands, is_refusal, mode, open_with},
};
use rustix::{
    fs::{
        AtFlags, CWD, FallocateFlags, MemfdFlags, OFlags, RenameFlags, StatxFlags, XattrFlags,
        fallocate, fgetxattr_query, fsetxattr, fstatfs, linkat, makedev, memfd_create, openat,
        renameat_with, statx,
    },
    io::{Errno, retry_on_intr},
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, IoSlice},
    ops::Range,
    os::fd::AsRawFd,
    path::PathBuf,
    sync::OnceLock,
};

/// `None` if the descriptor is not open any more. Nothing else is queried: after a query of a
/// file's times, the system gives the next write a finer timestamp, which each flush then also
/// writes to the inode.
pub(crate) fn attributes(file: &File) -> io::Result<Option<FileAttributes>> {
    let wanted = StatxFlags::INO | StatxFlags::SIZE | StatxFlags::NLINK;
    match statx(file, "", AtFlags::EMPTY_PATH, wanted) {
        Ok(found) => Ok(Some(FileAttributes {
            id: (
                makedev(found.stx_dev_major, found.stx_dev_minor),
                found.stx_ino,
            ),
            len: found.stx_size,
            links: found.stx_nlink,
        })),
        // Old systems do not have the call, and a sandbox may forbid it.
        Err(Errno::NOSYS | Errno::PERM) => unix::attributes(file),
        Err(Errno::BADF) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn link_of(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// The file through another open file description; `None` if the system provides none.
pub(crate) fn reopen(file: &File, access: Access) -> Option<File> {
    open_with(&link_of(file), access, 0).ok()
}

/// The file through another open file description, whose writes go past the cache of the system
/// and wait for the disk. Offsets, lengths and addresses are multiples of a block of the disk.
/// `None` if the file system does not support it.
pub(crate) fn open_direct(file: &File) -> Option<File> {
    let flags = libc::O_DIRECT | libc::O_DSYNC;
    open_with(&link_of(file), Access::ReadWrite, flags).ok()
}

/// The present path of a file, even if a directory above it was renamed.
pub(crate) fn path_of(file: &File) -> Option<PathBuf> {
    fs::read_link(link_of(file)).ok()
}

/// Writes parts one after the other, or the first bytes of them, and waits for the disk. `None` if
/// the system does not support it: nothing is written then.
pub(crate) fn write_durably(
    file: &File,
    _own: &OnceLock<Option<File>>,
    parts: &[IoSlice<'_>],
    offset: u64,
) -> io::Result<Option<usize>> {
    match write_with(WriteFlag::Durable, file, parts, offset) {
        Ok(len) => Ok(Some(len)),
        // Sandboxes forbid unknown calls.
        Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::PERM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Writes at the end of the file, wherever that is at that moment. Some file systems ignore that
/// (overlayfs before Linux 6.7) and write at `offset`.
pub(crate) fn append(file: &File, parts: &[IoSlice<'_>], offset: u64) -> io::Result<Option<usize>> {
    Ok(Some(write_with(WriteFlag::Append, file, parts, offset)?))
}

/// Allocates blocks for bytes; `false` if the file system cannot do that.
pub(crate) fn allocate(file: &File, range: Range<u64>, allocation: Allocate) -> io::Result<bool> {
    let flags = match allocation {
        Allocate::Grow => FallocateFlags::empty(),
        Allocate::Keep => FallocateFlags::KEEP_SIZE,
        Allocate::Unshare => FallocateFlags::UNSHARE_RANGE | FallocateFlags::KEEP_SIZE,
    };
    fallocated(file, flags, range)
}

/// Gives the blocks of bytes back; `false` if the file system cannot do that.
pub(crate) fn punch(file: &File, range: Range<u64>) -> io::Result<bool> {
    fallocated(
        file,
        FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        range,
    )
}

fn fallocated(file: &File, flags: FallocateFlags, range: Range<u64>) -> io::Result<bool> {
    assert!(range.start < range.end, "blocks are those of bytes");
    let len = range.end - range.start;
    match retry_on_intr(|| fallocate(file, flags, range.start, len)) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Properties of the file's file system, by its `statfs` type. File systems that are not known
/// here (Btrfs, ZFS, Bcachefs, F2FS, network file systems) may need space for an overwrite.
pub(crate) fn file_system(file: &File) -> io::Result<FileSystem> {
    /// Ext2, ext3 and ext4. Ext2 and ext3 turn out to allocate only what is written to.
    const EXT: u32 = 0xEF53;
    const TMPFS: u32 = 0x0102_1994;
    const XFS: u32 = 0x5846_5342;
    const OVERLAY: u32 = 0x794C_7630;
    // The type of this field differs between architectures; the numbers have 32 bits.
    let kind = fstatfs(file)?.f_type as u32;
    Ok(FileSystem {
        overwrite: match kind {
            EXT | TMPFS => Overwrite::Always,
            XFS => Overwrite::Unshared,
            _ => Overwrite::Never,
        },
        is_overlay: kind == OVERLAY,
        walks_folios: kind == EXT,
    })
}

/// A file in memory, without a name.
pub(crate) fn memory_file() -> io::Result<Option<File>> {
    Ok(Some(memfd_create("teak", MemfdFlags::CLOEXEC)?.into()))
}

/// The attribute of a lock file.
const MARK: &str = "user.teak.lock";

/// Marks a lock file, if the file system has attributes.
pub(crate) fn set_mark(file: &File) {
    let _ = fsetxattr(file, MARK, b"", XattrFlags::empty());
}

pub(crate) fn has_mark(file: &File) -> bool {
    fgetxattr_query(file, MARK).is_ok()
}

// The C library of Android does not name them.
const F_OFD_GETLK: i32 = 36;
const F_OFD_SETLK: i32 = 37;

/// Locks of the open file description, if the system has those for the file (gVisor has none).
pub(crate) fn byte_locks(file: &File) -> ByteLocks {
    let of_description = LockCommands {
        owner: LockOwner::Description,
        set: F_OFD_SETLK,
        get: F_OFD_GETLK,
    };
    ByteLocks::with(of_description, file)
}

/// Creates a file without a name, for reading and writing. `None` if the file system has none.
pub(crate) fn create_unnamed(directory: &Directory, bits: u32) -> io::Result<Option<File>> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE;
    match openat(directory, ".", flags, mode(bits)) {
        Ok(file) => Ok(Some(file.into())),
        // The errors of kernels and file systems without unnamed files.
        Err(Errno::ISDIR | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(error) if is_refusal(&error.into()) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Gives a file that was created without a name its name.
///
/// # Errors
///
/// - `AlreadyExists` if the name exists.
/// - A [refusal](is_refusal) if that is not supported.
pub(crate) fn link_unnamed(directory: &Directory, file: &File, name: &OsStr) -> io::Result<()> {
    let link = link_of(file);
    match linkat(CWD, &link, directory, name, AtFlags::SYMLINK_FOLLOW) {
        // Without /proc: newer kernels allow it by the descriptor alone.
        Err(Errno::NOENT) => Ok(linkat(file, "", directory, name, AtFlags::EMPTY_PATH)?),
        linked => Ok(linked?),
    }
}

/// Renames a file, and replaces nothing.
///
/// # Errors
///
/// - `AlreadyExists` if the name exists.
/// - A [refusal](is_refusal) if that is not supported.
pub(crate) fn rename_new(
    directory: &Directory,
    name: &OsStr,
    to: &Directory,
    new: &OsStr,
) -> io::Result<()> {
    match renameat_with(directory, name, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL) => Err(io::ErrorKind::Unsupported.into()),
        renamed => Ok(renamed?),
    }
}
