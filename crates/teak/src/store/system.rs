//! What the system sets: the size of its pages, and how long a file this process may make.

use rustix::process::{Resource, getrlimit};
use std::{io, ops::Range};

/// Bytes of a page of the system's: what is mapped, and gets blocks when something is stored there, as one.
#[cfg(not(any(test, feature = "testing")))]
pub(super) fn page_len() -> u64 {
    rustix::param::page_size() as u64
}

/// Likewise; or more than that, so that what a system with larger pages needs can be seen.
#[cfg(any(test, feature = "testing"))]
pub(super) fn page_len() -> u64 {
    use std::sync::OnceLock;
    static PRETENDED: OnceLock<Option<u64>> = OnceLock::new();
    let pretended = PRETENDED.get_or_init(|| std::env::var(PRETENDED_PAGE_LEN).ok()?.parse().ok());
    (rustix::param::page_size() as u64).max(pretended.unwrap_or(0))
}

/// The environment variable with the size of the pages that a test pretends.
#[cfg(any(test, feature = "testing"))]
pub(super) const PRETENDED_PAGE_LEN: &str = "TEAK_TEST_PAGE_LEN";

/// The pages of the system's that have any of these bytes.
pub(super) fn pages_with(bytes: &Range<u64>) -> Range<u64> {
    let page_len = page_len();
    let end = bytes.end.checked_next_multiple_of(page_len);
    bytes.start - bytes.start % page_len..end.unwrap_or(bytes.end)
}

/// The pages of the system's that have none but these bytes.
pub(super) fn pages_within(bytes: &Range<u64>) -> Range<u64> {
    let page_len = page_len();
    let start = bytes.start.checked_next_multiple_of(page_len);
    let start = start.unwrap_or(bytes.end);
    start..(bytes.end - bytes.end % page_len).max(start)
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
