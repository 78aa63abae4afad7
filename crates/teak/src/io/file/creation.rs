//! Creating a file atomically: a crash leaves no file or a complete one. If two processes create
//! the same file at once, one of them gets an error that it exists.
//!
//! The file is created without a name (`O_TMPFILE`), or under a temporary name in the same
//! directory if the file system does not support that. When its content is on the disk, it is
//! linked to its name, which fails if the name exists, and the directory is flushed.
//!
//! Where links are refused, the file is renamed if the system can do that without replacing
//! anything. Otherwise an empty file claims the name first, and is replaced.

use crate::{Error, Result, error::shown, io::random_id};
use rustix::{
    fs::{
        AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with, unlinkat,
    },
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd},
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Whether linking an unnamed file was refused. From then on files are created under temporary
/// names.
static NEEDS_NAMES: AtomicBool = AtomicBool::new(false);

/// Whether files are created under temporary names because the system refused to link an unnamed
/// file. An operation that failed for this reason can be repeated.
pub(crate) fn needs_temporary_names() -> bool {
    NEEDS_NAMES.load(Relaxed)
}

/// The things that a new file still needs to get its name.
#[derive(Debug)]
pub(in crate::io) struct Unnamed {
    /// Kept open, so that the name stays valid if the working directory changes.
    directory: File,
    name: OsString,
    /// The temporary name of the file, if it has one.
    temporary: Option<OsString>,
    is_linked: bool,
}

impl Unnamed {
    /// Creates an empty file for `path`, with permissions `mode` before the umask is applied.
    pub(super) fn begin(path: &Path, mode: u32) -> Result<(File, Self)> {
        let name = path.file_name().ok_or_else(|| {
            Error::InvalidArgument(format!(
                "{} does not name a file; add a file name",
                shown(path)
            ))
        })?;
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let directory = File::open(parent)
            .map_err(Error::io("opening the directory of the new database file"))?;
        Self::make(directory, name, Mode::from_raw_mode(mode))
            .map_err(Error::io("creating the database file"))
    }

    /// Like [`Self::begin`], in an open directory.
    pub(in crate::io) fn make(
        directory: File,
        name: &OsStr,
        mode: Mode,
    ) -> io::Result<(File, Self)> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let unnamed = Self {
            directory,
            name: name.into(),
            temporary: None,
            is_linked: false,
        };
        if needs_temporary_names() {
            return unnamed.make_named(flags, mode);
        }
        match openat(&unnamed.directory, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => Ok((file.into(), unnamed)),
            // The errors of kernels and file systems without unnamed files.
            Err(Errno::ISDIR | Errno::INVAL | Errno::NOENT) => unnamed.make_named(flags, mode),
            Err(error) if is_refusal(error) => unnamed.make_named(flags, mode),
            Err(error) => Err(error.into()),
        }
    }

    fn make_named(mut self, flags: OFlags, mode: Mode) -> io::Result<(File, Self)> {
        let random = u128::from_le_bytes(random_id()?);
        let temporary = OsString::from(format!(".teak-new-{random:032x}"));
        let file = openat(
            &self.directory,
            &temporary,
            flags | OFlags::CREATE | OFlags::EXCL,
            mode,
        )?;
        self.temporary = Some(temporary);
        Ok((file.into(), self))
    }

    /// Gives `file`, whose content is on the disk, its name, and returns when the name is on the
    /// disk.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name exists.
    pub(super) fn publish(&mut self, file: &File) -> io::Result<()> {
        self.link(file)?;
        self.directory
            .sync_all()
            .or_else(|error| match Errno::from_io_error(&error) {
                // Some file systems cannot flush a directory.
                Some(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
                _ => Err(error),
            })
    }

    /// Gives `file` its name, unless it has it already.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name exists.
    pub(in crate::io) fn link(&mut self, file: &File) -> io::Result<()> {
        if !self.is_linked {
            match &self.temporary {
                None => self.link_nameless(file)?,
                Some(temporary) => self.link_temporary(temporary)?,
            }
            self.is_linked = true;
            self.remove_temporary();
        }
        Ok(())
    }

    fn link_nameless(&self, file: &File) -> io::Result<()> {
        let source = format!("/proc/self/fd/{}", file.as_raw_fd());
        match linkat(
            CWD,
            source,
            &self.directory,
            &self.name,
            AtFlags::SYMLINK_FOLLOW,
        ) {
            // Without /proc: newer kernels allow it by the descriptor alone.
            Err(Errno::NOENT) => {
                linkat(file, "", &self.directory, &self.name, AtFlags::EMPTY_PATH)?
            }
            result => result.inspect_err(|error| {
                if is_refusal(*error) {
                    NEEDS_NAMES.store(true, Relaxed);
                }
            })?,
        }
        Ok(())
    }

    fn link_temporary(&self, temporary: &OsStr) -> io::Result<()> {
        let directory = &self.directory;
        give_name((directory, temporary), (directory, &self.name))
    }

    fn remove_temporary(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            // A rename has removed it already. A leftover name costs a few bytes and no data.
            let _ = unlinkat(&self.directory, temporary, AtFlags::empty());
        }
    }
}

/// Creates a file in `directory` that disappears when it is closed. Only this user can read it.
pub(crate) fn temporary_file(directory: &Path) -> io::Result<File> {
    // This needs no permission to read the directory.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags, Mode::empty())?;
    let mode = Mode::RUSR | Mode::WUSR;
    let (file, _removes_its_name) = Unnamed::make(directory.into(), OsStr::new(""), mode)?;
    Ok(file)
}

/// Gives another name to a complete file. The file may keep the old name as well.
///
/// # Errors
///
/// `AlreadyExists` if the name exists.
pub(crate) fn rename_new(file: &Path, name: &Path) -> io::Result<()> {
    give_name((CWD, file.as_os_str()), (CWD, name.as_os_str()))
}

/// A directory, and a name in it.
type InDirectory<'n, D> = (D, &'n OsStr);

fn give_name<D: AsFd + Copy>(file: InDirectory<'_, D>, name: InDirectory<'_, D>) -> io::Result<()> {
    match linkat(file.0, file.1, name.0, name.1, AtFlags::empty()) {
        // Some file systems have no links.
        Err(error) if is_refusal(error) => rename(file, name),
        linked => Ok(linked?),
    }
}

fn rename<D: AsFd + Copy>(file: InDirectory<'_, D>, name: InDirectory<'_, D>) -> io::Result<()> {
    match renameat_with(file.0, file.1, name.0, name.1, RenameFlags::NOREPLACE) {
        Err(error) if error == Errno::INVAL || is_refusal(error) => claim(file, name),
        renamed => Ok(renamed?),
    }
}

/// Renames the file to a name that is claimed by an empty file first. The empty file is locked, so
/// that no process makes a database of it.
fn claim<D: AsFd + Copy>(file: InDirectory<'_, D>, name: InDirectory<'_, D>) -> io::Result<()> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let claim = File::from(openat(name.0, name.1, flags, Mode::RUSR)?);
    // Another process may have found it empty and made a database of it.
    if claim.try_lock().is_err() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let renamed = renameat(file.0, file.1, name.0, name.1);
    if renamed.is_err() {
        let _ = unlinkat(name.0, name.1, AtFlags::empty());
    }
    Ok(renamed?)
}

/// Whether the file system does not support an operation, or it is forbidden.
fn is_refusal(error: Errno) -> bool {
    let refusals = [
        Errno::PERM,
        Errno::ACCESS,
        Errno::OPNOTSUPP,
        Errno::NOSYS,
        Errno::XDEV,
    ];
    refusals.contains(&error)
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        self.remove_temporary();
    }
}

#[cfg(test)]
#[path = "creation_tests.rs"]
mod tests;
