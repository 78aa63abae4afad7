//! Remedies for errors of the operating system.

use std::io::{self, ErrorKind};

/// Returns what to do about an error of the operating system, as in the messages of this crate.
/// Returns `None` for rare codes, and for errors that are not the system's.
///
/// ```
/// // ENOSPC
/// let error = std::io::Error::from_raw_os_error(28);
/// assert_eq!(teak::remedy(&error), Some("the disk is full; free some space and try again"));
/// ```
#[must_use]
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    code_of(error).and_then(remedy_for)
}

/// The system's error code. If a library has wrapped the error, only its kind is left.
fn code_of(error: &io::Error) -> Option<i32> {
    let by_kind = || {
        Some(match error.kind() {
            ErrorKind::NotFound => libc::ENOENT,
            ErrorKind::PermissionDenied => libc::EACCES,
            ErrorKind::ReadOnlyFilesystem => libc::EROFS,
            ErrorKind::StorageFull => libc::ENOSPC,
            ErrorKind::QuotaExceeded => libc::EDQUOT,
            ErrorKind::FileTooLarge => libc::EFBIG,
            ErrorKind::OutOfMemory => libc::ENOMEM,
            ErrorKind::InvalidFilename => libc::ENAMETOOLONG,
            ErrorKind::AlreadyExists => libc::EEXIST,
            ErrorKind::IsADirectory => libc::EISDIR,
            ErrorKind::NotADirectory => libc::ENOTDIR,
            _ => return None,
        })
    };
    error.raw_os_error().or_else(by_kind)
}

fn remedy_for(code: i32) -> Option<&'static str> {
    Some(match code {
        libc::ENOENT => "correct the path, or create the directory",
        libc::EACCES => {
            "check the permissions of the file and of its directory, and which user this is"
        }
        libc::EPERM => {
            "the system does not allow this user to do it; check the owner and the attributes (`lsattr`) of the file"
        }
        libc::EROFS => {
            "the file system is mounted read-only; remount it for writing, or open the database read-only"
        }
        libc::ENOSPC => "the disk is full; free some space and try again",
        libc::EDQUOT => {
            "the disk quota of this user is used up; free some space, or have the quota raised"
        }
        libc::EFBIG => {
            "the file would be longer than the process or the file system allows; raise the limit (`ulimit -f`), or use another file system"
        }
        libc::ENOMEM => {
            "there is not enough memory or address space; end other programs, or raise the limits (`ulimit -v`, `ulimit -l`, `vm.max_map_count`)"
        }
        libc::EMFILE => {
            "this process has too many files open; close some, or raise the limit (`ulimit -n`)"
        }
        libc::ENFILE => {
            "too many files are open in the system; close some, or raise the limit (`fs.file-max`)"
        }
        libc::ENAMETOOLONG => "the name is too long for the file system; choose a shorter one",
        libc::ELOOP => {
            "the path has a loop of symbolic links, or links are not allowed here; name the file itself"
        }
        libc::EEXIST => "something else has that name; remove it, or choose another name",
        libc::ENOTDIR => "a part of the path is not a directory; correct the path",
        libc::EISDIR => "name a file instead of a directory",
        libc::EIO => "the disk has failed; check the system log (`dmesg`), then run `teak check`",
        libc::ENOLCK => {
            "the system or the file system has no locks left; close other files, or use a local file system"
        }
        _ => return None,
    })
}

#[cfg(test)]
#[path = "remedy_tests.rs"]
mod tests;
