//! Creating a file so that a crash leaves no file or a whole one, and so that of two who create
//! the same file at once one is told that it exists.
//!
//! The file is made without a name (`O_TMPFILE`), or, where the file system cannot do that, under
//! a temporary name in the same directory. When its content is on the disk it is linked to its
//! name, which fails if there is something of that name, and the directory is flushed.
//!
//! Where links are refused the file is renamed, if the system can do that without replacing
//! anything. Where it cannot, an empty file claims the name first, and is replaced.

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

/// Whether a file without a name was refused one: from then on files have temporary names.
static NEEDS_NAMES: AtomicBool = AtomicBool::new(false);

/// Whether files are made under temporary names, since the system refused to give a name to one that had none. What failed for that can be
/// tried again.
pub(crate) fn needs_temporary_names() -> bool {
    NEEDS_NAMES.load(Relaxed)
}

/// What a new file still needs to get its name.
#[derive(Debug)]
pub(in crate::io) struct Unnamed {
    /// Open, so that the name means the same when the working directory changes meanwhile.
    directory: File,
    name: OsString,
    /// The name the file has until then, where it could not do without.
    temporary: Option<OsString>,
    is_linked: bool,
}

impl Unnamed {
    /// Makes an empty file for `path`, with permissions `mode` less the mask of the process.
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

    /// The same in a directory that is open.
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
            // What kernels and file systems without such files answer.
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

    /// Gives `file`, whose content is on the disk, its name, and returns when that is on the disk.
    ///
    /// # Errors
    /// `AlreadyExists` when there is something of that name.
    pub(super) fn publish(&mut self, file: &File) -> io::Result<()> {
        self.link(file)?;
        self.directory
            .sync_all()
            .or_else(|error| match Errno::from_io_error(&error) {
                // File systems that have no such thing as flushing a directory.
                Some(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
                _ => Err(error),
            })
    }

    /// Gives `file` its name, unless it has it.
    ///
    /// # Errors
    /// `AlreadyExists` when there is something of that name.
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
            // Without /proc: younger kernels allow it by the descriptor alone.
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
            // A rename has removed it already. A name left over costs a few bytes and no data.
            let _ = unlinkat(&self.directory, temporary, AtFlags::empty());
        }
    }
}

/// Gives a file that has a name, and its content on the disk, another one. It may keep the old one as well.
///
/// # Errors
/// `AlreadyExists` when there is something of that name.
pub(crate) fn rename_new(file: &Path, name: &Path) -> io::Result<()> {
    give_name((CWD, file.as_os_str()), (CWD, name.as_os_str()))
}

/// A directory, and a name in it.
type InDirectory<'n, D> = (D, &'n OsStr);

fn give_name<D: AsFd + Copy>(file: InDirectory<'_, D>, name: InDirectory<'_, D>) -> io::Result<()> {
    match linkat(file.0, file.1, name.0, name.1, AtFlags::empty()) {
        // There are file systems without links.
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

/// Renames the file to its name, which an empty one takes first. That one is locked, so that nobody takes it for a new database.
fn claim<D: AsFd + Copy>(file: InDirectory<'_, D>, name: InDirectory<'_, D>) -> io::Result<()> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let claim = File::from(openat(name.0, name.1, flags, Mode::RUSR)?);
    // Another process may have found it empty, and made a database of it.
    if claim.try_lock().is_err() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let renamed = renameat(file.0, file.1, name.0, name.1);
    if renamed.is_err() {
        let _ = unlinkat(name.0, name.1, AtFlags::empty());
    }
    Ok(renamed?)
}

/// Whether the file system cannot do something, or somebody forbids it.
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
