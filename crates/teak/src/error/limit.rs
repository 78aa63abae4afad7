//! Which limit of the process an answer of the system is about, and what to do.

use rustix::process::{Resource, getrlimit};
use std::io;

/// The end of a sentence about an error; empty if no limit has to do with it.
pub(super) fn limit(operation: &str, error: &io::Error) -> String {
    let (resource, name, what, remedy) = match error.raw_os_error() {
        Some(libc::EFBIG) => (
            Resource::Fsize,
            "RLIMIT_FSIZE",
            "bytes in a file",
            "as with `ulimit -f`",
        ),
        Some(libc::EMFILE) => (
            Resource::Nofile,
            "RLIMIT_NOFILE",
            "descriptors",
            "as with `ulimit -n`, or close some files",
        ),
        Some(libc::ENOMEM) => (
            Resource::As,
            "RLIMIT_AS",
            "bytes of addresses",
            "as with `ulimit -v`",
        ),
        Some(libc::EAGAIN) if operation.contains("thread") => (
            Resource::Nproc,
            "RLIMIT_NPROC",
            "processes and threads of its user",
            "as with `ulimit -u`, or end some",
        ),
        _ => return String::new(),
    };
    match getrlimit(resource).current {
        Some(most) => {
            format!("; this process may have {most} {what} ({name}); raise that limit, {remedy}")
        }
        None => String::new(),
    }
}
