//! What the system sets: the size of its pages, and how long a file this process may make.

use rustix::process::{Resource, getrlimit};
use std::{io, ops::Range, sync::OnceLock};

/// Bytes of a page of the system's: what is mapped, and gets blocks when something is stored there, as one. A power of two.
pub(super) fn page_len() -> u64 {
    static PAGE_LEN: OnceLock<u64> = OnceLock::new();
    *PAGE_LEN.get_or_init(|| (rustix::param::page_size() as u64).max(pretended()))
}

#[cfg(not(any(test, feature = "testing")))]
fn pretended() -> u64 {
    0
}

/// Larger pages that a test pretends, so that what a system with such needs can be seen.
#[cfg(any(test, feature = "testing"))]
fn pretended() -> u64 {
    let set = std::env::var(PRETENDED_PAGE_LEN).ok();
    set.and_then(|len| len.parse().ok()).unwrap_or(0)
}

/// The environment variable with the size of the pages that a test pretends.
#[cfg(any(test, feature = "testing"))]
pub(super) const PRETENDED_PAGE_LEN: &str = "TEAK_TEST_PAGE_LEN";

/// The pages of the system's that have any of these bytes.
pub(super) fn pages_with(bytes: &Range<u64>) -> Range<u64> {
    let rest = page_len() - 1;
    let end = bytes.end.checked_add(rest);
    bytes.start & !rest..end.map_or(bytes.end, |end| end & !rest)
}

/// The pages of the system's that have none but these bytes.
pub(super) fn pages_within(bytes: &Range<u64>) -> Range<u64> {
    let rest = page_len() - 1;
    let start = bytes.start.checked_add(rest);
    let start = start.map_or(bytes.end, |start| start & !rest);
    start..(bytes.end & !rest).max(start)
}

/// How long a file this process may write to: the system ends one that goes beyond.
pub(super) fn file_len_max() -> u64 {
    getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
}

/// Fails where this process may not make so long a file.
///
/// # Errors
/// `EFBIG`.
pub(crate) fn refuse_file_len(len: u64) -> io::Result<()> {
    match len > file_len_max() {
        true => Err(io::Error::from_raw_os_error(libc::EFBIG)),
        false => Ok(()),
    }
}
