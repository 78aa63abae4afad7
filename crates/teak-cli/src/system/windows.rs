//! Windows. A file has the permissions of its directory, and a path is text.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::windows::io::AsHandle;
use std::path::Path;

/// There is no such limit.
pub(crate) fn survive_file_limit() {}

/// The path that follows a prefix.
pub(crate) fn path_after<'t>(text: &'t OsStr, prefix: &str) -> Option<&'t Path> {
    text.to_str()?.strip_prefix(prefix).map(Path::new)
}

/// The path that precedes a suffix.
pub(crate) fn path_before<'t>(text: &'t OsStr, suffix: &str) -> Option<&'t Path> {
    text.to_str()?.strip_suffix(suffix).map(Path::new)
}

pub(crate) fn mode_bits(_found: &Metadata) -> u32 {
    0o666
}

pub(crate) fn group_of(_found: &Metadata) -> u32 {
    0
}

pub(crate) fn create_with(_builder: &mut tempfile::Builder<'_, '_>, _mode: u32) {}

pub(crate) fn set_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

pub(crate) fn set_directory_mode(_directory: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// The system keeps names in order by itself.
pub(crate) fn flush_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether two paths lead to one file. Two names of one file (hard links) are not noticed.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// The attributes of standard input.
pub(crate) fn standard_input() -> io::Result<Metadata> {
    let input = io::stdin().as_handle().try_clone_to_owned().map(File::from);
    input.and_then(|input| input.metadata())
}

/// It is not known which file standard output is.
pub(crate) fn is_standard_output(_path: &Path) -> bool {
    false
}

pub(crate) fn is_output_closed() -> bool {
    false
}
