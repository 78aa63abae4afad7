//! Remedies for errors of the operating system.

use crate::io::Failure;
use std::io;

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
    Failure::of_error(error).and_then(remedy_for)
}

fn remedy_for(failure: Failure) -> Option<&'static str> {
    if let Some(remedy) = failure.system_remedy() {
        return Some(remedy);
    }
    Some(match failure {
        Failure::NotFound => "correct the path, or create the directory",
        Failure::Denied => {
            "check the permissions of the file and of its directory, and which user this is"
        }
        Failure::NotAllowed => {
            "the system does not allow this user to do it; check the owner and the attributes of the file"
        }
        Failure::ReadOnly => {
            "the file system is mounted read-only; remount it for writing, or open the database read-only"
        }
        Failure::DiskFull => "the disk is full; free some space and try again",
        Failure::Quota => {
            "the disk quota of this user is used up; free some space, or have the quota raised"
        }
        Failure::FileTooLong => {
            "the file would be longer than the process or the file system allows; raise the limit, or use another file system"
        }
        Failure::NoMemory => {
            "there is not enough memory or address space; end other programs, or raise the limits"
        }
        Failure::ProcessFiles => {
            "this process has too many files open; close some, or raise the limit"
        }
        Failure::SystemFiles => {
            "too many files are open in the system; close some, or raise the limit"
        }
        Failure::NameTooLong => "the name is too long for the file system; choose a shorter one",
        Failure::LinkLoop => {
            "the path has a loop of symbolic links, or links are not allowed here; name the file itself"
        }
        Failure::Exists => "something else has that name; remove it, or choose another name",
        Failure::NotDirectory => "a part of the path is not a directory; correct the path",
        Failure::IsDirectory => "name a file instead of a directory",
        Failure::DiskFailed => "the disk has failed; check the system log, then run `teak check`",
        Failure::NoLocks => {
            "the system or the file system has no locks left; close other files, or use a local file system"
        }
        Failure::TryAgain => return None,
    })
}

#[cfg(test)]
#[path = "remedy_tests.rs"]
mod tests;
