//! The process limit that an error of the system refers to.

use rustix::process::{Resource, getrlimit};
use std::io;

/// The limit in brackets, for the end of a message; empty if no limit explains the error.
pub(super) fn limit(operation: &str, error: &io::Error) -> String {
    let (resource, name) = match error.raw_os_error() {
        Some(libc::EFBIG) => (Resource::Fsize, "RLIMIT_FSIZE"),
        Some(libc::EMFILE) => (Resource::Nofile, "RLIMIT_NOFILE"),
        Some(libc::ENOMEM) => (Resource::As, "RLIMIT_AS"),
        Some(libc::EAGAIN) if operation.contains("thread") => (Resource::Nproc, "RLIMIT_NPROC"),
        _ => return String::new(),
    };
    match getrlimit(resource).current {
        Some(most) => format!(" ({name} is {most})"),
        None => String::new(),
    }
}
