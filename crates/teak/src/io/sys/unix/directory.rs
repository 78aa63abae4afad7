//! Directories, as places for names.

use crate::io::sys::types::DirectoryUse;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, linkat, openat, renameat, unlinkat},
    io::{Errno, retry_on_intr},
};
use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
};

/// Whether an error means that the file system does not support an operation, or that it is
/// forbidden.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    let refusals = [
        Errno::PERM,
        Errno::ACCESS,
        Errno::OPNOTSUPP,
        Errno::NOTSUP,
        Errno::NOSYS,
        Errno::XDEV,
    ];
    let code = error.raw_os_error();
    error.kind() == io::ErrorKind::Unsupported
        || refusals
            .iter()
            .any(|known| code == Some(known.raw_os_error()))
}

/// An open directory, so that names in it stay valid if the working directory changes.
#[derive(Debug)]
pub(crate) struct Directory(File);

impl Directory {
    pub(crate) fn open(path: &Path, purpose: DirectoryUse) -> io::Result<Self> {
        let path = if path == Path::new("") {
            Path::new(".")
        } else {
            path
        };
        let access = match purpose {
            DirectoryUse::Names => NAMES_ONLY,
            DirectoryUse::Flush => OFlags::RDONLY,
        };
        let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = retry_on_intr(|| openat(CWD, path, flags, Mode::empty()));
        Ok(Self(opened?.into()))
    }

    /// Creates a file for reading and writing, with these permissions before the umask is applied.
    pub(crate) fn create_new(&self, name: &OsStr, bits: u32) -> io::Result<File> {
        debug_assert!(!name.is_empty(), "a new file has a name");
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL;
        Ok(retry_on_intr(|| openat(&self.0, name, flags, mode(bits)))?.into())
    }

    /// Gives a file a second name.
    ///
    /// # Errors
    ///
    /// - `AlreadyExists` if the name exists.
    /// - A [refusal](is_refusal) if that is not supported.
    pub(crate) fn link(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        debug_assert!(!name.is_empty() && !new.is_empty(), "both names are names");
        Ok(linkat(&self.0, name, &to.0, new, AtFlags::empty())?)
    }

    /// Renames a file, and replaces what has the new name.
    pub(crate) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, name, &to.0, new)?)
    }

    /// Removes the name of a file, which may be open.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Returns when the names are on the disk. Some file systems cannot flush a directory.
    pub(crate) fn flush(&self) -> io::Result<()> {
        let lacks = [Errno::INVAL, Errno::OPNOTSUPP, Errno::NOTSUP];
        self.0
            .sync_all()
            .or_else(|error| match Errno::from_io_error(&error) {
                Some(lack) if lacks.contains(&lack) => Ok(()),
                _ => Err(error),
            })
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// How a directory is opened of which only names are used.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(teak_plain)))]
pub(super) const NAMES_ONLY: OFlags = OFlags::PATH;
// `O_SEARCH`, which rustix does not have.
#[cfg(all(target_os = "freebsd", not(teak_plain)))]
pub(super) const NAMES_ONLY: OFlags = OFlags::from_bits_retain(libc::O_EXEC as u32);
#[cfg(all(target_vendor = "apple", not(teak_plain)))]
pub(super) const NAMES_ONLY: OFlags = OFlags::from_bits_retain(O_SEARCH);
/// `O_EXEC | O_DIRECTORY`. Systems that do not know it open for reading.
#[cfg(all(target_vendor = "apple", not(teak_plain)))]
const O_SEARCH: u32 = 0x4000_0000 | 0x0010_0000;
#[cfg(teak_plain)]
pub(super) const NAMES_ONLY: OFlags = OFlags::RDONLY;

#[allow(clippy::unnecessary_cast)] // The type differs between systems.
pub(in crate::io::sys) fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode((bits & 0o777) as rustix::fs::RawMode)
}
