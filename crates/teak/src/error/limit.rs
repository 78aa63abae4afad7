//! Which limit of the process an answer of the system is about.

use rustix::process::{Resource, getrlimit};
use std::io;

/// The end of a sentence about an error; empty if no limit has to do with it.
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
