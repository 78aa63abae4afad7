//! Names of files.

use super::{check, random_bytes};
use crate::io::sys::types::DirectoryUse;
use std::{
    ffi::{OsStr, c_void},
    fs::{self, File, OpenOptions},
    io,
    mem::offset_of,
    os::windows::{ffi::OsStrExt, fs::OpenOptionsExt, io::AsRawHandle},
    path::{Path, PathBuf},
    ptr,
};
use windows_sys::Win32::{
    Foundation::{
        ERROR_ACCESS_DENIED, ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED, ERROR_SHARING_VIOLATION,
    },
    Storage::FileSystem::{
        DELETE, FILE_DISPOSITION_FLAG_DELETE, FILE_DISPOSITION_FLAG_POSIX_SEMANTICS,
        FILE_DISPOSITION_INFO, FILE_DISPOSITION_INFO_EX, FILE_FLAG_OPEN_REPARSE_POINT,
        FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_RENAME_INFO, FileDispositionInfo,
        FileDispositionInfoEx, FileRenameInfo, MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH,
        MoveFileExW, SetFileInformationByHandle,
    },
};

/// Whether an error means that the file system does not support an operation.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    let refusals = [ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED];
    error.kind() == io::ErrorKind::Unsupported
        || refusals
            .iter()
            .any(|code| error.raw_os_error() == Some(*code as i32))
}

/// The absolute path of a directory, which stays valid if the working directory changes.
#[derive(Debug)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn open(path: &Path, _purpose: DirectoryUse) -> io::Result<Self> {
        let path = if path == Path::new("") {
            Path::new(".")
        } else {
            path
        };
        let directory = fs::canonicalize(path)?;
        match directory.is_dir() {
            true => Ok(Self(directory)),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Creates a file for reading and writing. It gets the permissions of the directory.
    pub(crate) fn create_new(&self, name: &OsStr, bits: u32) -> io::Result<File> {
        super::create_new(&self.0.join(name), bits)
    }

    /// A second name is refused: the first name of a file that is open may stay until that is
    /// closed.
    pub(crate) fn link(&self, _name: &OsStr, _to: &Self, _new: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Renames a file, and replaces what has the new name.
    pub(crate) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        let (from, to) = (self.0.join(name), to.0.join(new));
        let is_replaced_open = |error: &io::Error| {
            let refusals = [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION];
            (refusals.iter()).any(|code| error.raw_os_error() == Some(*code as i32))
        };
        match move_file(&from, &to, MOVEFILE_REPLACE_EXISTING) {
            // That call replaces no file that is open. The other one does, and may return before
            // the new name is on the disk.
            Err(error) if is_replaced_open(&error) => {
                fs::rename(from, &to)?;
                OpenOptions::new().write(true).open(to)?.sync_all()
            }
            done => done,
        }
    }

    /// Removes the name of a file, which may be open.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        remove_file(&self.0.join(name))
    }

    /// The system keeps names in order by itself.
    pub(crate) fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates a file, for reading and writing, that nobody can open and that is deleted when it is
/// closed, unless it gets a name.
pub(crate) fn create_unnamed(directory: &Directory, _bits: u32) -> io::Result<Option<File>> {
    let mut random = [0; 16];
    random_bytes(&mut random)?;
    let name = format!(".teak-new-{:032x}", u128::from_le_bytes(random));
    let mut options = OpenOptions::new();
    let access = FILE_GENERIC_READ | FILE_GENERIC_WRITE | DELETE;
    options.write(true).create_new(true).access_mode(access);
    let file = options.open(directory.0.join(name))?;
    match set_deleted(&file, true) {
        Ok(()) => Ok(Some(file)),
        Err(_) => Ok(None),
    }
}

fn set_deleted(file: &File, is_deleted: bool) -> io::Result<()> {
    let disposition = FILE_DISPOSITION_INFO {
        DeleteFile: is_deleted,
    };
    let (read, len) = (
        (&raw const disposition).cast::<c_void>(),
        size_of_val(&disposition) as u32,
    );
    let handle = file.as_raw_handle();
    // SAFETY: the structure is valid for reading, and has this length.
    check(unsafe { SetFileInformationByHandle(handle, FileDispositionInfo, read, len) })
}

/// Gives a file that was created without a name its name.
///
/// # Errors
///
/// `AlreadyExists` if the name exists.
pub(crate) fn link_unnamed(directory: &Directory, file: &File, name: &OsStr) -> io::Result<()> {
    let path = directory.0.join(name);
    if fs::symlink_metadata(&path).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    set_deleted(file, false)?;
    // With its new name. If that fails, the file has none again.
    let named = rename_open(file, &path).and_then(|()| file.sync_all());
    named.inspect_err(|_| {
        let _ = set_deleted(file, true);
    })
}

/// Renames an open file, and replaces nothing.
fn rename_open(file: &File, path: &Path) -> io::Result<()> {
    let path: Vec<u16> = path.as_os_str().encode_wide().collect();
    let len = offset_of!(FILE_RENAME_INFO, FileName) + 2 * (path.len() + 1);
    // Zeros: nothing is replaced, and the path is absolute and ends with a zero.
    let mut disposition = vec![0u64; len.div_ceil(size_of::<u64>())];
    let start = disposition.as_mut_ptr().cast::<FILE_RENAME_INFO>();
    // SAFETY: the memory is aligned and has space for the structure with this path.
    unsafe {
        (*start).FileNameLength = 2 * path.len() as u32;
        let name = (&raw mut (*start).FileName).cast::<u16>();
        ptr::copy_nonoverlapping(path.as_ptr(), name, path.len());
    }
    let (handle, read) = (file.as_raw_handle(), start.cast::<c_void>());
    // SAFETY: the structure is valid for reading, and has this length.
    check(unsafe { SetFileInformationByHandle(handle, FileRenameInfo, read, len as u32) })
}

/// Renames a file, and replaces nothing.
///
/// # Errors
///
/// `AlreadyExists` if the name exists.
pub(crate) fn rename_new(
    directory: &Directory,
    name: &OsStr,
    to: &Directory,
    new: &OsStr,
) -> io::Result<()> {
    move_file(&directory.0.join(name), &to.0.join(new), 0)
}

/// Renames a file. Returns when its new name is on the disk.
fn move_file(from: &Path, to: &Path, flags: u32) -> io::Result<()> {
    let [from, to] =
        [from, to].map(|path| -> Vec<u16> { path.as_os_str().encode_wide().chain([0]).collect() });
    let flags = flags | MOVEFILE_WRITE_THROUGH;
    // SAFETY: both paths end with a zero.
    check(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), flags) })
}

/// Removes the name of a file, which may be open. Other names and the open file stay.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options
        .access_mode(DELETE)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    let file = options.open(path)?;
    let disposition = FILE_DISPOSITION_INFO_EX {
        Flags: FILE_DISPOSITION_FLAG_DELETE | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS,
    };
    let (read, len) = (
        (&raw const disposition).cast::<c_void>(),
        size_of_val(&disposition) as u32,
    );
    let handle = file.as_raw_handle();
    // SAFETY: the structure is valid for reading, and has this length.
    let removed = unsafe { SetFileInformationByHandle(handle, FileDispositionInfoEx, read, len) };
    // File systems of FAT keep the name until the file is closed.
    check(removed).or_else(|_| fs::remove_file(path))
}
