//! Unix.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

/// With this, a file over the process's size limit is an error. If it fails, the signal ends the
/// program.
pub(crate) fn survive_file_limit() {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// The path that follows a prefix.
pub(crate) fn path_after<'t>(text: &'t OsStr, prefix: &str) -> Option<&'t Path> {
    let path = text.as_bytes().strip_prefix(prefix.as_bytes())?;
    Some(Path::new(OsStr::from_bytes(path)))
}

/// The path that precedes a suffix.
pub(crate) fn path_before<'t>(text: &'t OsStr, suffix: &str) -> Option<&'t Path> {
    let path = text.as_bytes().strip_suffix(suffix.as_bytes())?;
    Some(Path::new(OsStr::from_bytes(path)))
}

/// Permissions in the form of Unix.
pub(crate) fn mode_bits(found: &Metadata) -> u32 {
    found.mode()
}

/// The group of a file.
pub(crate) fn group_of(found: &Metadata) -> u32 {
    found.gid()
}

/// Has a temporary file created with these permissions.
pub(crate) fn create_with(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    builder.permissions(Permissions::from_mode(mode));
}

pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

pub(crate) fn set_directory_mode(directory: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(mode))
}

/// Returns when the names in a directory are on the disk.
pub(crate) fn flush_directory(directory: &Path) -> io::Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all())
}

/// Whether two paths lead to one file.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => id(&a) == id(&b),
        _ => false,
    }
}

fn id(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The attributes of standard input.
pub(crate) fn standard_input() -> io::Result<Metadata> {
    let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    input.and_then(|input| input.metadata())
}

fn standard_output() -> io::Result<Metadata> {
    let output = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    output.and_then(|output| output.metadata())
}

/// Whether standard output is the file with this name.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    match (standard_output(), fs::metadata(path)) {
        (Ok(output), Ok(found)) => found.is_file() && id(&found) == id(&output),
        _ => false,
    }
}

/// Whether standard output was closed when the program began. Rust's library opens `/dev/null` in
/// its place, for reading and writing. A shell that redirects output opens it for writing only.
pub(crate) fn is_output_closed() -> bool {
    let (Ok(output), Ok(null)) = (standard_output(), fs::metadata("/dev/null")) else {
        return false;
    };
    let is_null = output.file_type().is_char_device() && output.rdev() == null.rdev();
    is_null && access_of(1) == Some(READ_WRITE)
}

/// The access mode in a descriptor's flags, and its value for reading and writing.
const ACCESS: u32 = 0o3;
const READ_WRITE: u32 = 0o2;

/// The access mode of a descriptor of this process, if the system reports it.
fn access_of(descriptor: u32) -> Option<u32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    Some(u32::from_str_radix(flags.trim(), 8).ok()? & ACCESS)
}
