//! Open files: attributes, writes and lengths.

use super::{check, section::Section, sections::are_shown};
use crate::io::sys::types::{
    Access, Allocate, FileAttributes, FileId, FileKind, FilePermissions, FlushExtent, Links,
};
use std::{
    ffi::{OsString, c_void},
    fs::{self, File, FileType, Metadata, OpenOptions},
    io::{self, IoSlice},
    ops::Range,
    os::windows::{
        ffi::{OsStrExt, OsStringExt},
        fs::{FileExt, OpenOptionsExt},
        io::AsRawHandle,
    },
    path::{Path, PathBuf},
};
use windows_sys::Win32::{
    Foundation::{
        ERROR_CANT_RESOLVE_FILENAME, ERROR_INVALID_HANDLE, ERROR_INVALID_USER_BUFFER,
        ERROR_NOACCESS, ERROR_USER_MAPPED_FILE,
    },
    Storage::FileSystem::{
        BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
        FILE_ID_INFO, FILE_READ_ATTRIBUTES, FILE_STANDARD_INFO, FileIdInfo, FileStandardInfo,
        GetDriveTypeW, GetFileInformationByHandle, GetFileInformationByHandleEx,
        GetFinalPathNameByHandleW, GetVolumePathNameW,
    },
    System::WindowsProgramming::DRIVE_REMOTE,
};

/// Reads and writes at an offset. The position of the file, which nobody uses, changes.
pub(crate) trait FileAt {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    fn read_exact_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.read_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => {
                    bytes = &mut bytes[len..];
                    offset += len as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

impl FileAt for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(test)]
        super::mandatory::refuse(self, offset, bytes.len(), Access::ReadOnly)?;
        self.seek_read(bytes, offset)
    }

    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match write_part(self, bytes, offset)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                len => {
                    bytes = &bytes[len..];
                    offset += len as u64;
                }
            }
        }
        Ok(())
    }
}

/// Identity of the file with this name.
pub(crate) fn id_of(path: &Path, links: Links) -> io::Result<FileId> {
    let reparse = match links {
        Links::Follow => 0,
        Links::Refuse => FILE_FLAG_OPEN_REPARSE_POINT,
    };
    // Directories need the first flag.
    let flags = FILE_FLAG_BACKUP_SEMANTICS | reparse;
    let mut options = OpenOptions::new();
    let options = options
        .access_mode(FILE_READ_ATTRIBUTES)
        .custom_flags(flags);
    id(&options.open(path)?)
}

/// Volume, and number in the volume. Of a number with more than 64 bits (ReFS) both halves count.
pub(super) fn id(file: &File) -> io::Result<FileId> {
    let mut found = FILE_ID_INFO::default();
    let (out, len) = (
        (&raw mut found).cast::<c_void>(),
        size_of_val(&found) as u32,
    );
    // SAFETY: the structure is valid for writing, and has this length.
    let known = unsafe { GetFileInformationByHandleEx(file.as_raw_handle(), FileIdInfo, out, len) };
    if known != 0 {
        let number = u128::from_le_bytes(found.FileId.Identifier);
        return Ok((
            found.VolumeSerialNumber,
            number as u64 ^ (number >> 64) as u64,
        ));
    }
    // File systems of FAT have no such numbers.
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the structure is valid for writing.
    check(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut found) })?;
    let number = u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow);
    Ok((found.dwVolumeSerialNumber.into(), number))
}

/// `None` if the handle is not open any more.
pub(crate) fn attributes(file: &File) -> io::Result<Option<FileAttributes>> {
    let mut found = FILE_STANDARD_INFO::default();
    let (out, len) = (
        (&raw mut found).cast::<c_void>(),
        size_of_val(&found) as u32,
    );
    let handle = file.as_raw_handle();
    // SAFETY: the structure is valid for writing, and has this length.
    let known = unsafe { GetFileInformationByHandleEx(handle, FileStandardInfo, out, len) };
    let known = check(known).and_then(|()| id(file));
    match known {
        Ok(id) => Ok(Some(FileAttributes {
            id,
            len: found.EndOfFile as u64,
            links: found.NumberOfLinks,
        })),
        Err(error) if is_code(&error, ERROR_INVALID_HANDLE) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_code(error: &io::Error, code: u32) -> bool {
    error.raw_os_error() == Some(code as i32)
}

pub(crate) fn kind(file_type: FileType) -> FileKind {
    match file_type {
        kind if kind.is_file() => FileKind::Regular,
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Device,
    }
}

/// Opens an existing file.
pub(crate) fn open(path: &Path, access: Access, links: Links) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(access == Access::ReadWrite);
    if links == Links::Follow {
        return options.open(path);
    }
    let file = options
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)?;
    match file.metadata()?.file_type().is_symlink() {
        true => Err(io::Error::from_raw_os_error(
            ERROR_CANT_RESOLVE_FILENAME as i32,
        )),
        false => Ok(file),
    }
}

/// Creates a file for reading and writing. It gets the permissions of its directory.
pub(crate) fn create_new(path: &Path, _bits: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).open(path)
}

/// Creates a directory, with the permissions of the one that it is in.
pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Locks belong to handles and end with the process: no second handle is needed.
pub(crate) fn reopen(_file: &File, _access: Access) -> Option<File> {
    None
}

/// The present path of a file.
pub(crate) fn path_of(file: &File) -> Option<PathBuf> {
    let mut path = vec![0u16; 512];
    loop {
        let len = path.len() as u32;
        // SAFETY: `len` units are valid for writing.
        let needed =
            unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), len, 0) };
        match needed as usize {
            0 => return None,
            needed if needed < path.len() => {
                path.truncate(needed);
                return Some(OsString::from_wide(&path).into());
            }
            needed => path.resize(needed + 1, 0),
        }
    }
}

/// Shorter parts are written together.
const ALONE_LEN: usize = 32 << 10;
/// Bytes that are written together.
const TOGETHER_LEN: usize = 256 << 10;

/// Writes parts one after the other, or the first bytes of them. Returns the number of bytes.
pub(crate) fn write_at(file: &File, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    let Some(first) = parts.first() else {
        return Ok(0);
    };
    if parts.len() == 1 || first.len() >= ALONE_LEN {
        return write_part(file, first, offset);
    }
    // A call writes one part. Copying the bytes takes less time than a call for each.
    let mut together = Vec::new();
    for part in parts {
        if !together.is_empty() && together.len() + part.len() > TOGETHER_LEN {
            break;
        }
        together.extend_from_slice(part);
    }
    write_part(file, &together, offset)
}

/// How often mapped bytes that are being written may be replaced meanwhile.
const REPLACED_MAX: u32 = 1000;

fn write_part(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    #[cfg(test)]
    super::mandatory::refuse(file, offset, bytes.len(), Access::ReadWrite)?;
    for _ in 0..REPLACED_MAX {
        match file.seek_write(bytes, offset) {
            // Another thread was replacing mapped bytes, and the system does not wait for that.
            Err(error)
                if [ERROR_NOACCESS, ERROR_INVALID_USER_BUFFER]
                    .iter()
                    .any(|code| is_code(&error, *code))
                    && are_shown(bytes.as_ptr().addr(), bytes.len()) => {}
            written => return written,
        }
    }
    file.seek_write(bytes, offset)
}

/// A file that is mapped somewhere keeps its length.
pub(crate) const TRUNCATES_MAPPED: bool = false;

/// Makes the file shorter, unless it is mapped somewhere. Returns whether it did.
pub(crate) fn truncate(file: &File, len: u64) -> io::Result<bool> {
    match file.set_len(len) {
        Ok(()) => Ok(true),
        Err(error) if is_code(&error, ERROR_USER_MAPPED_FILE) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Allocates blocks for bytes. A longer file gets its blocks at once. Returns `false` for bytes in
/// the file, which may be a sparse one.
///
/// A section makes the file longer, and never shorter: another process may just have made it even
/// longer than this.
pub(crate) fn allocate(file: &File, range: Range<u64>, allocation: Allocate) -> io::Result<bool> {
    if allocation != Allocate::Grow {
        return Ok(false);
    }
    if file.metadata()?.len() < range.end {
        Section::of_len(file, range.end)?;
    }
    Ok(true)
}

/// Returns when everything that was written to the file is on the disk.
pub(crate) fn flush(file: &File, _extent: FlushExtent) -> io::Result<()> {
    file.sync_all()
}

/// Whether an existing file is on another machine.
pub(crate) fn is_on_network(existing: &Path) -> bool {
    let path: Vec<u16> = existing.as_os_str().encode_wide().chain([0]).collect();
    let mut volume = [0u16; 512];
    let len = volume.len() as u32;
    // SAFETY: the path ends with a zero, and `len` units are valid for writing. The result ends
    // with a zero.
    unsafe {
        GetVolumePathNameW(path.as_ptr(), volume.as_mut_ptr(), len) != 0
            && GetDriveTypeW(volume.as_ptr()) == DRIVE_REMOTE
    }
}

/// Files in memory are temporary ones, which the system keeps in memory while it can.
pub(crate) fn memory_file() -> io::Result<Option<File>> {
    Ok(None)
}

/// A file has the permissions of its directory.
pub(crate) fn permissions_of(_found: &Metadata) -> FilePermissions {
    FilePermissions {
        bits: 0o666,
        owner: None,
    }
}

pub(crate) fn set_permissions(_file: &File, _permissions: FilePermissions) -> io::Result<()> {
    Ok(())
}
