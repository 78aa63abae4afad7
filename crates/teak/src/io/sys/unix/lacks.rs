//! The answers of a Unix that cannot do something.

use super::{directory::Directory, locks::ByteLocks, mapped::Mapped};
use crate::io::sys::types::FileSystem;
use std::{
    ffi::OsStr,
    fs::File,
    io::{self, ErrorKind, IoSlice},
    ops::Range,
    ptr::NonNull,
    sync::OnceLock,
};

pub(crate) fn process_namespace() -> u64 {
    0
}

/// No page keeps the locks of a file.
pub(crate) fn anchor_is_impossible(_file: &File) -> Option<NonNull<u8>> {
    None
}

pub(crate) fn memory_file() -> io::Result<Option<File>> {
    Ok(None)
}

pub(crate) fn process_locks(_file: &File) -> ByteLocks {
    ByteLocks::of_process()
}

pub(crate) fn create_unnamed(_directory: &Directory, _bits: u32) -> io::Result<Option<File>> {
    Ok(None)
}

pub(crate) fn link_unnamed(_directory: &Directory, _file: &File, _name: &OsStr) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

pub(crate) fn rename_unsupported(
    _directory: &Directory,
    _name: &OsStr,
    _to: &Directory,
    _new: &OsStr,
) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

pub(crate) fn populate(_mapped: &Mapped, _range: Range<usize>) -> io::Result<bool> {
    Ok(false)
}

/// The system does not tell which pages are in memory.
pub(crate) fn no_residency(_mapped: &Mapped, _offset: usize) -> bool {
    false
}
