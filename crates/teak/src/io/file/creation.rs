//! Creating a file atomically: a crash leaves no file or a complete one. If two processes create
//! the same file at once, one of them gets an error that it exists.
//!
//! The file is created without a name (`O_TMPFILE`), or under a temporary name in the same
//! directory if the file system does not support that. When its content is on the disk, it is
//! linked to its name, which fails if the name exists, and the directory is flushed.
//!
//! Where links are refused, the file is renamed if the system can do that without replacing
//! anything. Otherwise an empty file claims the name first, and is replaced.

use crate::{
    Error, Result,
    error::shown,
    io::{
        random_id,
        sys::{
            Directory, DirectoryUse, FileSharing, create_unnamed, is_refusal, link_unnamed,
            rename_new as rename_in, try_lock_file,
        },
    },
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
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
    directory: Directory,
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
        let directory = Directory::open(parent, DirectoryUse::Flush)
            .map_err(Error::io("opening the directory of the new database file"))?;
        Self::make(directory, name, mode).map_err(Error::io("creating the database file"))
    }

    /// Like [`Self::begin`], in an open directory.
    pub(in crate::io) fn make(
        directory: Directory,
        name: &OsStr,
        mode: u32,
    ) -> io::Result<(File, Self)> {
        let unnamed = Self {
            directory,
            name: name.into(),
            temporary: None,
            is_linked: false,
        };
        if needs_temporary_names() {
            return unnamed.make_named(mode);
        }
        match create_unnamed(&unnamed.directory, mode)? {
            Some(file) => Ok((file, unnamed)),
            None => unnamed.make_named(mode),
        }
    }

    fn make_named(mut self, mode: u32) -> io::Result<(File, Self)> {
        let random = u128::from_le_bytes(random_id()?);
        let temporary = OsString::from(format!(".teak-new-{random:032x}"));
        let file = self.directory.create_new(&temporary, mode)?;
        self.temporary = Some(temporary);
        Ok((file, self))
    }

    /// Gives `file`, whose content is on the disk, its name, and returns when the name is on the
    /// disk.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name exists.
    pub(super) fn publish(&mut self, file: &File) -> io::Result<()> {
        self.link(file)?;
        self.directory.flush()
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
        link_unnamed(&self.directory, file, &self.name).inspect_err(|error| {
            if is_refusal(error) {
                NEEDS_NAMES.store(true, Relaxed);
            }
        })
    }

    fn link_temporary(&self, temporary: &OsStr) -> io::Result<()> {
        let directory = &self.directory;
        give_name((directory, temporary), (directory, &self.name))
    }

    fn remove_temporary(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            // A rename has removed it already. A leftover name costs a few bytes and no data.
            let _ = self.directory.remove(&temporary);
        }
    }
}

/// Creates a file in `directory` that disappears when it is closed. Only this user can read it.
pub(crate) fn temporary_file(directory: &Path) -> io::Result<File> {
    let directory = Directory::open(directory, DirectoryUse::Names)?;
    let (file, _removes_its_name) = Unnamed::make(directory, OsStr::new(""), 0o600)?;
    Ok(file)
}

/// The directory that has the name of a file.
pub(crate) fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    parent.unwrap_or(Path::new("."))
}

/// Returns when the names in a directory are on the disk.
pub(crate) fn flush_directory(directory: &Path) -> io::Result<()> {
    Directory::open(directory, DirectoryUse::Flush)?.flush()
}

/// Gives another name to a complete file. The file may keep the old name as well.
///
/// # Errors
///
/// `AlreadyExists` if the name exists.
pub(crate) fn rename_new(file: &Path, name: &Path) -> io::Result<()> {
    let [file, name] = [file, name].map(in_directory);
    let ((from, file), (to, name)) = (file?, name?);
    give_name((&from, file), (&to, name))
}

/// The open directory of a path, and the name in it.
fn in_directory(path: &Path) -> io::Result<(Directory, &OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = path.parent().unwrap_or(Path::new(""));
    Ok((Directory::open(parent, DirectoryUse::Names)?, name))
}

/// A directory, and a name in it.
type InDirectory<'n> = (&'n Directory, &'n OsStr);

fn give_name(file: InDirectory<'_>, name: InDirectory<'_>) -> io::Result<()> {
    match file.0.link(file.1, name.0, name.1) {
        // Some file systems have no links.
        Err(error) if is_refusal(&error) => rename(file, name),
        linked => linked,
    }
}

fn rename(file: InDirectory<'_>, name: InDirectory<'_>) -> io::Result<()> {
    match rename_in(file.0, file.1, name.0, name.1) {
        Err(error) if is_refusal(&error) => claim(file, name),
        renamed => renamed,
    }
}

/// Renames the file to a name that is claimed by an empty file first. The empty file is locked, so
/// that no process makes a database of it.
fn claim(file: InDirectory<'_>, name: InDirectory<'_>) -> io::Result<()> {
    let claim = name.0.create_new(name.1, 0o400)?;
    // Another process may have found it empty and made a database of it.
    if try_lock_file(&claim, FileSharing::Exclusive).is_err() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let renamed = file.0.rename(file.1, name.0, name.1);
    if renamed.is_err() {
        let _ = name.0.remove(name.1);
    }
    renamed
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        self.remove_temporary();
    }
}

#[cfg(test)]
#[path = "creation_tests.rs"]
mod tests;
